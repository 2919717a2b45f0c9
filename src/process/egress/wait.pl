# Outside of a sandbox: listens where its proxy will, and becomes the proxy when something inside wants the network.
#   perl wait.pl SOCKET PARENT COMMAND...
# COMMAND finds the listening socket under the number that is added to its arguments. It is Node, which takes a processor to itself for as
# long as a whole sandbox takes to start; many programs never ask for it. Ends with PARENT, and no signal for the agent ends it before.
use strict;
use warnings;
use Fcntl qw(F_SETFD);
use Socket qw(AF_UNIX SOCK_STREAM SOMAXCONN pack_sockaddr_un);

my ($path, $parent, @command) = @ARGV;
$SIG{$_} = 'IGNORE' for qw(HUP INT TERM);
unlink $path; # of an earlier launch
socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or die "reef: socket: $!\n";
bind($socket, pack_sockaddr_un($path)) && listen($socket, SOMAXCONN) or die "reef: cannot listen at $path: $!\n";
my $found = '';
until ($found) {
  vec(my $asked = '', fileno $socket, 1) = 1;
  $found = select($asked, undef, undef, 0.25) > 0;
  exit if getppid != $parent;
}
fcntl($socket, F_SETFD, 0);
exec @command, fileno $socket or die "reef: $command[0]: $!\n";
