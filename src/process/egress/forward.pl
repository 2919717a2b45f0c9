# Inside a sandbox with a network of its own: what connects to its loopback reaches the proxy outside, through a Unix socket.
#   perl forward.pl SOCKET PROXY_PORT PORT... -- COMMAND...
# Listens, leaves a process behind that forwards, and becomes COMMAND. Behind PROXY_PORT is the proxy itself, behind each other
# PORT the same port of the machine. Perl, because it starts in a third of the time of Node, and every program waits for it.
use strict;
use warnings;
use Errno qw(EAGAIN EINTR);
use Fcntl qw(F_SETFL O_NONBLOCK);
use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6);

my $MOST_WAITING = 256 * 1024; # bytes held for a side that is slow to take them
my ($path, $proxy_port, @rest) = @ARGV;
my @ports;
push @ports, shift @rest while $rest[0] ne '--';
shift @rest;

my %listeners; # by descriptor: the socket, and what the proxy is told first
my (%sides, $has_proxy);
for my $port ($proxy_port, @ports) {
  my $hello = $port == $proxy_port ? '' : "CONNECT localhost:$port HTTP/1.1\r\n\r\n";
  if (!listen_at(AF_INET, pack_sockaddr_in($port, inet_aton('127.0.0.1')), $hello)) {
    die "reef: cannot listen at port $port in the sandbox: $!\n" if $port == $proxy_port;
    print STDERR "reef: port $port of this machine is not reachable in the sandbox: $!\n"; # below 1024 it is root's
    next;
  }
  listen_at(AF_INET6, pack_sockaddr_in6($port, inet_pton(AF_INET6, '::1')), $hello); # not every machine has it
}

# Twice, so that COMMAND has no child that it knows nothing of.
my $between = fork // die "reef: fork: $!\n";
if (!$between) {
  exit 0 if fork // 1;
  forward();
}
waitpid $between, 0;
{ no warnings 'exec'; exec { $rest[0] } @rest }
print STDERR "$rest[0]: $!\n";
exit 127;

sub listen_at {
  my ($family, $address, $hello) = @_;
  socket(my $socket, $family, SOCK_STREAM, 0) or return 0;
  setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1);
  bind($socket, $address) && listen($socket, SOMAXCONN) or return 0;
  $listeners{ fileno $socket } = { socket => $socket, hello => $hello };
}

# One side of a connection by descriptor: `out` waits to be written to it, `peer` is the other side.
sub forward {
  setpgrp(0, 0); # signals to the group are for COMMAND
  $SIG{$_} = 'IGNORE' for qw(HUP INT TERM PIPE);
  chdir '/';
  open STDIN, '<', '/dev/null';
  open STDOUT, '>', '/dev/null';
  open STDERR, '>', '/dev/null';
  while (1) {
    my ($readable, $writable) = ('', '');
    vec($readable, $_, 1) = 1 for keys %listeners;
    for my $fd (keys %sides) {
      my $side = $sides{$fd};
      vec($readable, $fd, 1) = 1 if !$side->{ended} && length $sides{ $side->{peer} }{out} < $MOST_WAITING;
      vec($writable, $fd, 1) = 1 if length $side->{out};
    }
    next if select($readable, $writable, undef, undef) < 1;
    for my $fd (keys %sides) { take($fd) if $sides{$fd} && vec($readable, $fd, 1) }
    for my $fd (keys %sides) { give($fd) if $sides{$fd} && vec($writable, $fd, 1) }
    for my $fd (keys %listeners) { admit($listeners{$fd}) if vec($readable, $fd, 1) }
  }
}

sub admit {
  my ($listener) = @_;
  accept(my $inside, $listener->{socket}) or return;
  my $outside = reach_proxy() or return;
  fcntl($_, F_SETFL, O_NONBLOCK) for $inside, $outside;
  my ($in, $out) = (fileno $inside, fileno $outside);
  my $hello = $listener->{hello};
  $sides{$in} = { socket => $inside, peer => $out, out => '' };
  $sides{$out} = { socket => $outside, peer => $in, out => $hello, greeted => $hello eq '', reply => '' };
}

# The proxy starts at the same time as the sandbox.
sub reach_proxy {
  for my $try (1 .. ($has_proxy ? 1 : 200)) {
    socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or return;
    if (connect($socket, pack_sockaddr_un($path))) { $has_proxy = 1; return $socket }
    select(undef, undef, undef, 0.05) unless $has_proxy;
  }
  return;
}

sub take {
  my ($fd) = @_;
  my ($side, $peer) = ($sides{$fd}, $sides{ $sides{$fd}{peer} });
  my $count = sysread($side->{socket}, my $bytes, 65536);
  if (!defined $count) { drop($fd) unless $! == EAGAIN || $! == EINTR; return }
  if ($count == 0) { $side->{ended} = 1; finish($fd); return }
  if (defined $side->{reply} && !$side->{greeted}) { # what the proxy answers to `hello` is not for the program
    $side->{reply} .= $bytes;
    my $end = index($side->{reply}, "\r\n\r\n");
    return if $end < 0;
    return drop($fd) unless $side->{reply} =~ m{^HTTP/1\.1 200 };
    $bytes = substr($side->{reply}, $end + 4);
    $side->{greeted} = 1;
  }
  $peer->{out} .= $bytes;
}

sub give {
  my ($fd) = @_;
  my $count = syswrite($sides{$fd}{socket}, $sides{$fd}{out});
  if (!defined $count) { drop($fd) unless $! == EAGAIN || $! == EINTR; return }
  substr($sides{$fd}{out}, 0, $count) = '';
  finish($sides{$fd}{peer});
}

# A side has ended and all of it is written: the other one hears of the end, and after both nothing is left.
sub finish {
  my ($fd) = @_;
  my ($side, $peer) = ($sides{$fd}, $sides{ $sides{$fd}{peer} });
  return if !$side->{ended} || length $peer->{out};
  shutdown($peer->{socket}, 1);
  drop($fd) if $peer->{ended} && !length $side->{out};
}

sub drop {
  my ($fd) = @_;
  delete $sides{ $sides{$fd}{peer} };
  delete $sides{$fd};
}
