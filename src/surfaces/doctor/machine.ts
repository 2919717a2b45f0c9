import { existsSync } from 'node:fs';
import { readdir, readFile, statfs } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Capabilities, probeCapabilities } from '../../process/capabilities.ts';
import { run } from '../../process/run.ts';
import type { SandboxMode } from '../../protocol/jobs.ts';
import { bad, byHand, type Check, check, type Found, ok, type Result, warn } from './finding.ts';

const MIB = 1_048_576;
const OLDEST_GIT = [2, 38] as const;
const FEW_DESCRIPTORS = 1_024;
const FEW_WATCHES = 65_536;

/** What the machine must offer, whatever the repository looks like. */
export function machineChecks(about: { path: string; folder: string; sandboxMode(): SandboxMode }): Check[] {
  const { path, folder, sandboxMode } = about;
  return [
    check('node', async () => ok(process.version, process.execPath)),
    check('git', () => git(path)),
    check('sandbox', async () => capabilities(await probeCapabilities(), sandboxMode())),
    check('disk', () => disk(folder)),
    check('files', descriptors),
    check('inotify', inotify),
    check('log-out', () => logOut()),
  ];
}

async function git(path: string): Promise<Result> {
  const install = byHand('install git 2.38 or newer');
  let said: string;
  try {
    const { stdout } = await run({
      file: 'git',
      args: ['--version'],
      cwd: '/',
      env: { PATH: path, LC_ALL: 'C' },
      timeoutMs: 10_000,
    });
    said = stdout.toString().trim();
  } catch {
    return bad('not found on PATH', `PATH=${path}`, install);
  }
  const version = /(\d{1,9})\.(\d{1,9})(?:\.\d{1,9})*/.exec(said);
  const [major, minor] = [Number(version?.[1] ?? 0), Number(version?.[2] ?? 0)];
  const isOld = major < OLDEST_GIT[0] || (major === OLDEST_GIT[0] && minor < OLDEST_GIT[1]);
  return isOld
    ? bad(`version ${version?.[0] ?? 'unknown'} is too old; Reef needs 2.38`, said, install)
    : ok(version?.[0] ?? said, said);
}

function capabilities(found: Capabilities, mode: SandboxMode): Found[] {
  const { bubblewrap, sandboxesNetwork, namespaces, tmux } = found;
  const held =
    namespaces === 'none'
      ? warn(
          'no namespaces: processes that a job leaves behind are found only by their tag',
          'unshare is missing or not allowed',
          byHand('install util-linux and allow user namespaces'),
        )
      : ok(`all processes of a job end with it (${namespaces})`, 'unshare');
  const terminal = tmux ? ok('found', tmux) : ok('not installed; only --mode headful needs it', 'tmux');
  return [
    { check: 'sandbox', ...sandbox(bubblewrap, sandboxesNetwork, mode) },
    { check: 'limits', ...limits(found, mode) },
    { check: 'processes', ...held },
    { check: 'tmux', ...terminal },
  ];
}

function sandbox(bubblewrap: string | undefined, sandboxesNetwork: boolean, mode: SandboxMode): Result {
  const open = 'agents can reach everything that you can, but for what a sandbox of their own keeps from them (Codex)';
  if (mode === 'off') return ok(`off, as you chose: ${open}`, 'sandbox: off in your configuration');
  if (bubblewrap && sandboxesNetwork) return ok('agents, gates and scripts work in one', bubblewrap);
  if (bubblewrap)
    return warn(
      'agents, gates and scripts work in one, but have the network of the machine',
      'bwrap --unshare-net does not work, or perl is missing',
      byHand('install perl and allow network namespaces'),
    );
  const evidence = 'bwrap is missing, or may not create namespaces';
  const fix = byHand('install bubblewrap and allow user namespaces');
  return mode === 'require'
    ? bad('none, and your configuration requires one', evidence, fix)
    : warn(`none: ${open}`, evidence, fix);
}

function limits({ bubblewrap, prlimit }: Capabilities, mode: SandboxMode): Result {
  if (!bubblewrap || mode === 'off') return ok('none, because they belong to a sandbox', 'no sandbox');
  if (!prlimit) {
    const fix = byHand('install util-linux');
    return warn('the processes of a sandbox and their memory are not limited', 'prlimit is missing', fix);
  }
  const isRoot = process.getuid?.() === 0;
  const counted = isRoot
    ? 'not of processes, which the kernel does not count for root;'
    : 'of processes in a sandbox, and';
  return ok(`${counted} of the memory of each if you set one`, prlimit);
}

async function disk(folder: string): Promise<Result> {
  const { bavail, bsize } = await statfs(folder);
  const free = Math.floor((bavail * bsize) / MIB);
  const what = `${free} MiB free`;
  if (free >= 1_024) return ok(what, folder);
  const fix = byHand('free some disk space');
  return free < 100 ? bad(what, folder, fix) : warn(what, folder, fix);
}

async function descriptors(): Promise<Result> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (soft === undefined) return ok('the limit is not known on this system', 'ulimit -n');
  const evidence = `ulimit -n is ${soft}`;
  if (soft === 'unlimited' || Number(soft) >= FEW_DESCRIPTORS) return ok(`${soft} open files allowed`, evidence);
  return warn(`only ${soft} open files allowed`, evidence, byHand(`ulimit -n ${FEW_DESCRIPTORS * 4}`));
}

async function inotify(): Promise<Result> {
  const file = '/proc/sys/fs/inotify/max_user_watches';
  const watches = Number(await readFile(file, 'utf8').catch(() => 'NaN'));
  if (Number.isNaN(watches)) return ok('not used on this system', file);
  if (watches >= FEW_WATCHES) return ok(`${watches} watches allowed`, file);
  return warn(`only ${watches} watches allowed`, file, byHand('sudo sysctl fs.inotify.max_user_watches=524288'));
}

/** Some systems end all processes of a user at log-out, jobs too. `root` is the folder of the system's files. */
export async function logOut({ root = '/', user = userInfo().username } = {}): Promise<Result> {
  const at = (path: string) => join(root, path);
  if (!existsSync(at('run/systemd/seats')))
    return ok('does not end jobs: there is no logind here', at('run/systemd/seats'));
  const folder = at('etc/systemd/logind.conf.d');
  const more = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.conf')).sort();
  const files = [at('etc/systemd/logind.conf'), ...more.map((name) => join(folder, name))];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  const last =
    texts.flatMap((text) => [...text.matchAll(/^[ \t]*KillUserProcesses[ \t]*=[ \t]*(\S+)/gm)]).at(-1)?.[1] ?? 'no';
  if (!/^(?:yes|true|on|1)$/i.test(last)) return ok('does not end jobs', 'KillUserProcesses of logind.conf is off');
  if (existsSync(at(`var/lib/systemd/linger/${user}`)))
    return ok('does not end jobs: lingering is enabled for you', 'loginctl');
  const fix = byHand('loginctl enable-linger');
  return warn('logging out ends your jobs', `KillUserProcesses=${last} in ${at('etc/systemd')}`, fix);
}
