import { ReefError } from '../protocol/errors.ts';
import { type Capabilities, UNSHARE_OPTIONS } from './capabilities.ts';
import { egressCommand } from './egress/command.ts';
import { type SandboxLimits, type SandboxSpec, sandboxOptions } from './sandbox.ts';

export interface Program {
  file: string;
  args: readonly string[];
  cwd: string;
  sandbox?: SandboxSpec | undefined;
  /** An empty network of its own, where the machine can give one. A sandbox decides for itself. */
  isOffline?: boolean;
}

/** From the ceiling's SIGTERM to its SIGKILL. */
const KILL_AFTER_S = 5;

/** Becomes the agent. A line to descriptor 4, which a durable launch has open, says that SIGTERM is heard from here on. */
const BEGIN = '{ echo >&4; } 2>/dev/null; exec "$@" 4>&-';

/** A namespace's first process is a shell that stays: as number 1 the agent would be deaf to SIGTERM and reap nobody. */
const FIRST_PROCESS = 'exec 3>&2 2>/dev/null; (echo >&4; exec "$@" 2>&3 3>&- 4>&-); exit $?';

/** Opens the filter of system calls as descriptor 9. Bubblewrap does not block SIGTERM as `unshare` does: it would die and take the agent along without grace. */
const DEAF = 'trap "" TERM; exec 9<"$1"; shift; exec "$@"';

/** The same, with the proxy of the sandbox beside it. The proxy keeps the errors: what it refuses is said there. Its rules may hold a password. */
const DEAF_WITH_PROXY =
  'trap "" TERM; "$1" "$2" "$3" $$ "$4" "$5" "$6" "$7" "$8" $$ </dev/null >/dev/null 4>&- & proxy=$! rules=$8; exec 9<"$9"; shift 9; "$@"; code=$?; kill -KILL $proxy; /bin/rm -f "$rules"; exit $code';

/** The same as `timeout -k 5`: a group of its own, SIGTERM, SIGKILL 5 s later, and 124 as exit code. */
const CEILING = `
  setpgrp(0, 0);
  my ($limit, @command) = @ARGV;
  my $pid = fork // die "fork: $!";
  if (!$pid) { exec { $command[0] } @command; print STDERR "$command[0]: $!\\n"; exit 127 }
  my ($told, $over);
  $SIG{TERM} = sub { return if $told++; alarm ${KILL_AFTER_S}; kill TERM => 0 };
  $SIG{ALRM} = sub { if ($told) { kill KILL => 0 } else { $over = 1; $SIG{TERM}->() } };
  alarm $limit;
  waitpid $pid, 0;
  exit($over ? 124 : $? & 127 ? 128 + ($? & 127) : $? >> 8);
`;

/** The command that holds a program together with its tree, by what the machine offers. */
export function contained(program: Program, capabilities: Capabilities): string[] {
  const command = [program.file, ...program.args];
  const { namespaces, unshare, bubblewrap, perl, prlimit } = capabilities;
  if (program.sandbox) {
    if (!bubblewrap) throw new ReefError('sandbox_unavailable', 'Bubblewrap is missing here or not allowed to work');
    const { filter, options } = sandboxOptions(program.sandbox, program.cwd);
    const { network, scratch, limits } = program.sandbox;
    const limited = limits && prlimit ? limitOptions(prlimit, limits) : [];
    const undeaf = ['/usr/bin/env', '--default-signal=TERM', ...limited, '/bin/sh', '-c', BEGIN, 'sh'];
    if (typeof network === 'string')
      return ['/bin/sh', '-c', DEAF, 'sh', filter, bubblewrap, ...options, '--', ...undeaf, ...command];
    const way = egressCommand(network, scratch, perl ?? 'perl');
    const boxed = [bubblewrap, ...options, ...way.options, '--', ...undeaf, ...way.inside, ...command];
    return ['/bin/sh', '-c', DEAF_WITH_PROXY, 'sh', ...way.outside, filter, ...boxed];
  }
  if (namespaces === 'none' || unshare === undefined) return ['/bin/sh', '-c', BEGIN, 'sh', ...command];
  const network = program.isOffline && capabilities.isolatesNetwork ? ['--net'] : [];
  return [unshare, ...UNSHARE_OPTIONS[namespaces], ...network, '/bin/sh', '-c', FIRST_PROCESS, 'sh', ...command];
}

/** Set inside: there only the processes of this sandbox count. A dump of memory would lie where its program was at work. */
function limitOptions(prlimit: string, { processes, memoryMb }: SandboxLimits): string[] {
  const memory = memoryMb === undefined ? [] : [`--data=${memoryMb * 1024 * 1024}`];
  return [prlimit, `--nproc=${processes}`, '--core=0', ...memory];
}

/** A command under a ceiling that works without the daemon, in a process group of its own. */
export function underCeiling(ceilingMs: number, command: readonly string[], capabilities: Capabilities): string[] {
  if (!(ceilingMs > 0)) throw new ReefError('bad_request', `A ceiling has to be longer than 0 ms, not ${ceilingMs}`);
  const { timeout, perl } = capabilities;
  const seconds = String(ceilingMs / 1000);
  if (timeout) return [timeout, '-k', String(KILL_AFTER_S), seconds, ...command];
  if (perl) return [perl, '-MTime::HiRes=alarm', '-e', CEILING, '--', seconds, ...command];
  throw new ReefError('spawn_failed', 'A job needs `timeout` of the GNU coreutils, or perl, for its ceiling');
}
