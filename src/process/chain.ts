import { ReefError } from '../protocol/errors.ts';
import { type Capabilities, UNSHARE_OPTIONS } from './capabilities.ts';
import { type SandboxSpec, sandboxOptions } from './sandbox.ts';

export interface Program {
  file: string;
  args: readonly string[];
  cwd: string;
  sandbox?: SandboxSpec | undefined;
  /** A network of its own with nothing in it, where the machine can give one. A sandbox has its own say. */
  isOffline?: boolean;
}

/** From the ceiling's SIGTERM to its SIGKILL. */
const KILL_AFTER_S = 5;

/**
 * Becomes the agent, and says so before: a line to descriptor 4, which a durable launch has open, tells that from here on a
 * SIGTERM is heard.
 */
const BEGIN = '{ echo >&4; } 2>/dev/null; exec "$@" 4>&-';

/** A namespace's first process: a shell that stays, so that the agent is not number 1 itself, deaf to SIGTERM and reaping nobody. */
const FIRST_PROCESS = 'exec 3>&2 2>/dev/null; (echo >&4; exec "$@" 2>&3 3>&- 4>&-); exit $?';

/** Unlike `unshare`, bubblewrap does not block SIGTERM: it would die of it and take the agent along without grace. */
const DEAF = 'trap "" TERM; exec "$@"';

/** Does for the ceiling what `timeout -k 5` does: a group of its own, SIGTERM to it, SIGKILL 5 s later, 124 as code. */
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

/** The program held together by what the machine offers, so that its tree ends with it. */
export function contained(program: Program, capabilities: Capabilities): string[] {
  const command = [program.file, ...program.args];
  if (program.sandbox) return sandboxed(command, program.sandbox, { cwd: program.cwd, capabilities });
  const { namespaces, unshare } = capabilities;
  if (namespaces === 'none' || unshare === undefined) return ['/bin/sh', '-c', BEGIN, 'sh', ...command];
  const network = program.isOffline && capabilities.isolatesNetwork ? ['--net'] : [];
  return [unshare, ...UNSHARE_OPTIONS[namespaces], ...network, '/bin/sh', '-c', FIRST_PROCESS, 'sh', ...command];
}

/** The same under a ceiling that holds without the daemon. What it starts leads a process group of its own. */
export function underCeiling(ceilingMs: number, command: readonly string[], capabilities: Capabilities): string[] {
  if (!(ceilingMs > 0)) throw new ReefError('bad_request', `A ceiling of ${ceilingMs} ms is none`);
  const { timeout, perl } = capabilities;
  const seconds = String(ceilingMs / 1000);
  if (timeout) return [timeout, '-k', String(KILL_AFTER_S), seconds, ...command];
  if (perl) return [perl, '-MTime::HiRes=alarm', '-e', CEILING, '--', seconds, ...command];
  throw new ReefError('spawn_failed', 'A job needs `timeout` of the GNU coreutils, or perl, for its ceiling');
}

function sandboxed(
  command: readonly string[],
  sandbox: SandboxSpec,
  place: { cwd: string; capabilities: Capabilities },
): string[] {
  const { bubblewrap } = place.capabilities;
  if (!bubblewrap) throw new ReefError('sandbox_unavailable', 'Bubblewrap is missing here or not allowed to work');
  const undeaf = ['/usr/bin/env', '--default-signal=TERM', '/bin/sh', '-c', BEGIN, 'sh'];
  const options = sandboxOptions(sandbox, place.cwd);
  return ['/bin/sh', '-c', DEAF, 'sh', bubblewrap, ...options, '--', ...undeaf, ...command];
}
