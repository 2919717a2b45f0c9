import { findOnPath } from '../base/programs.ts';
import { SYSTEM_PATH } from './environment.ts';
import { run } from './run.ts';
import { SANDBOX_BASE } from './sandbox.ts';

/** What this machine lets us do. Tools are absolute paths, tried and not merely found. */
export interface Capabilities {
  /** How a tree is held together: its own user and PID namespace, a PID namespace made by root, or only its tag. */
  namespaces: 'user+pid' | 'pid' | 'none';
  unshare: string | undefined;
  /** Whether such a tree can be given an empty network of its own. */
  isolatesNetwork: boolean;
  bubblewrap: string | undefined;
  /** Whether a sandbox can have a network of its own, and perl a way out of it. */
  sandboxesNetwork: boolean;
  setpriv: string | undefined;
  /** Sets limits of what a sandbox may use. */
  prlimit: string | undefined;
  /** GNU's: others open no process group. */
  timeout: string | undefined;
  /** Stands in for `timeout`, which macOS does not have. */
  perl: string | undefined;
  tmux: string | undefined;
}

export const UNSHARE_OPTIONS = {
  'user+pid': ['--user', '--map-current-user', '--pid', '--fork', '--kill-child', '--mount-proc'],
  pid: ['--pid', '--fork', '--kill-child', '--mount-proc'],
} as const;

/** Some machines make a network whose loopback stays down. */
const LISTEN = [
  ...['-MFcntl', '-MSocket', '-e'],
  'socket(S, AF_INET, SOCK_STREAM, 0) && bind(S, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die',
];

/** Each program calls it once and hands the result down. */
export async function probeCapabilities(searchPath: string = SYSTEM_PATH): Promise<Capabilities> {
  const find = (program: string) => findOnPath(program, searchPath);
  const [namespaces, bubblewrap, setpriv, prlimit, timeout, perl] = await Promise.all([
    probeNamespaces(find('unshare')),
    works(find('bwrap'), [...SANDBOX_BASE, '--', 'env', '--default-signal=TERM', 'true']),
    works(find('setpriv'), ['--pdeathsig', 'KILL', 'true']),
    works(find('prlimit'), ['--nproc=4096', '--core=0', 'true']),
    opensGroup(find('timeout') ?? find('gtimeout'), ['-k', '1', '5']),
    works(find('perl'), ['-MTime::HiRes', '-e', '1']),
  ]);
  const unshare = namespaces === 'none' ? undefined : find('unshare');
  const isolatesNetwork =
    namespaces !== 'none' && (await works(unshare, [...UNSHARE_OPTIONS[namespaces], '--net', 'true'])) !== undefined;
  const sandboxesNetwork =
    perl !== undefined &&
    (await works(bubblewrap, [...SANDBOX_BASE, '--unshare-net', '--', perl, ...LISTEN])) !== undefined;
  const tools = { unshare, bubblewrap, setpriv, prlimit, timeout, perl, tmux: find('tmux') };
  return { namespaces, isolatesNetwork, sandboxesNetwork, ...tools };
}

async function probeNamespaces(unshare: string | undefined): Promise<Capabilities['namespaces']> {
  for (const kind of ['user+pid', 'pid'] as const) {
    if (await works(unshare, [...UNSHARE_OPTIONS[kind], 'true'])) return kind;
  }
  return 'none';
}

async function works(file: string | undefined, args: readonly string[]): Promise<string | undefined> {
  return (await probe(file, args))?.code === 0 ? file : undefined;
}

/** Asks a command under `timeout` for its group, which must be that of its parent. */
async function opensGroup(file: string | undefined, args: readonly string[]): Promise<string | undefined> {
  const askGroup = 'echo $PPID; read -r _ _ _ _ group _ 2>/dev/null </proc/$$/stat && echo $group || ps -o pgid= -p $$';
  const asked = await probe(file, [...args, 'sh', '-c', askGroup]);
  const [parent, group] = asked?.stdout.toString().split('\n') ?? [];
  return parent && group?.trim() === parent ? file : undefined;
}

async function probe(file: string | undefined, args: readonly string[]) {
  if (file === undefined) return undefined;
  return run({ file, args, cwd: '/', env: { PATH: SYSTEM_PATH, LC_ALL: 'C' }, timeoutMs: 10_000 });
}
