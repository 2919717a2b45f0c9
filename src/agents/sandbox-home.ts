import { type Dirent, existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SandboxSpec } from '../process/sandbox.ts';

/** Folders of other users, of mounted disks and of services. Their sockets would work even without write access. */
const ROOTS = ['/home', '/root', '/run', '/mnt', '/media', '/var/tmp', '/var/spool', '/var/mail'];
const SECRETS = ['/etc/shadow', '/etc/gshadow', '/etc/ssl/private', '/var/lib/docker', '/var/lib/containerd'];

/** Kept from an agent even where its folder is the home itself: keys, histories and sockets of other programs. */
const PRIVATE = ['.ssh', '.gnupg', '.aws', '.netrc', '.npmrc', '.pypirc', '.docker', '.kube', '.git-credentials'];
const HISTORIES = ['.bash_history', '.zsh_history', '.python_history', '.node_repl_history', '.psql_history'];
const PRIVATE_CONFIG = ['gh', 'gcloud', 'reef'];

/** What of a home programs need to work as they do outside, and what holds no secrets. */
const IDENTITY = ['.gitconfig', '.config/git'];
const TOOLS = [
  ...['.nvm', '.fnm', '.volta', '.asdf', '.pyenv', '.rbenv', '.rustup', '.sdkman', '.dotnet', '.cargo/config.toml'],
  ...['.local/share/fnm', '.local/share/mise', '.local/share/pipx', '.local/share/uv', '.local/share/claude'],
];
/** Beside a folder `bin` lies what its programs are made of. */
const BESIDE_BIN = ['bin', 'lib', 'lib64', 'libexec', 'include'];

/** As many links as the kernel follows, about. */
const MOST_STEPS = 40;

/** Files that make certificates of a company known, and where names are resolved. */
const CERTIFICATES = [
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'PIP_CERT'],
  'GIT_SSL_CAINFO',
];

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Reef with the packages it needs. In a checkout they lie inside, in an installation beside it. */
const REEF = basename(dirname(ROOT)) === 'node_modules' ? dirname(ROOT) : ROOT;

/** What a person added in the configuration. */
export interface OwnPaths {
  read: readonly string[];
  write: readonly string[];
  git?: 'commit' | 'read';
  processes?: number | undefined;
  memory_mb?: number | undefined;
}

const NO_PATHS: OwnPaths = { read: [], write: [] };

/** A home without the user's own things: only what the programs on PATH are made of, who commits, and what was named. */
export function ownHome(
  env: Readonly<NodeJS.ProcessEnv>,
  program: string,
  own: OwnPaths = NO_PATHS,
): Required<Pick<SandboxSpec, 'hidden' | 'readOnly' | 'writable'>> & Pick<SandboxSpec, 'home'> {
  const home = env.HOME && env.HOME !== '/' && isAbsolute(env.HOME) ? env.HOME : undefined;
  const inHome = (names: readonly string[]) => (home === undefined ? [] : names.map((name) => join(home, name)));
  const hidden = [...ROOTS, ...SECRETS, ...inHome([...PRIVATE, ...HISTORIES]), ...reefFolders(env)];
  const bare = [...ROOTS, '/tmp', ...inHome(['.'])];
  const isHidden = (path: string) => bare.some((folder) => path.startsWith(`${folder}/`));
  const expand = (path: string) => (path.startsWith('~/') && home !== undefined ? join(home, path.slice(2)) : path);
  const searched = (env.PATH ?? '').split(':').filter(isAbsolute);
  const shown = [
    ...[...programFolders(program, bare), dirname(process.execPath), REEF],
    ...searched.flatMap((folder) => toolFolders(folder, bare)),
    ...searched.filter((folder) => isHidden(`${folder}/`)).flatMap(linkedPrograms),
    ...CERTIFICATES.flatMap((name) => env[name] ?? []),
    ...['/etc/resolv.conf'].filter(existsSync).map((path) => realpathSync(path)),
  ];
  return {
    home,
    hidden,
    readOnly: [
      ...[...inHome([...IDENTITY, ...TOOLS]), ...compiledReef(env)].filter(existsSync),
      ...shown.filter((path) => isHidden(path) && existsSync(path)),
      ...own.read.map(expand).filter(existsSync),
    ],
    writable: own.write.map(expand).filter(existsSync),
  };
}

/** Reef's configuration with its keys, all its homes and sockets, and the sockets of the user's other programs. */
function reefFolders(env: Readonly<NodeJS.ProcessEnv>): string[] {
  const home = env.HOME || '/';
  const configDir = env.XDG_CONFIG_HOME || join(home, '.config');
  const named = ['REEF_CONFIG_DIR', 'REEF_CONFIG_FILE', 'REEF_ENV_FILE', 'XDG_RUNTIME_DIR'].flatMap(
    (name) => env[name] || [],
  );
  return [
    ...PRIVATE_CONFIG.map((name) => join(configDir, name)),
    join(env.XDG_STATE_HOME || join(home, '.local', 'state'), 'reef'),
    // The sockets of homes whose own path is too long for one.
    join(env.XDG_CACHE_HOME || join(home, '.cache'), 'reef', 'run'),
    '/tmp/.X11-unix',
    ...named.filter(isAbsolute),
  ];
}

/** Without what was compiled before, `reef mcp` of each job would start anew from the sources: half a second. */
function compiledReef(env: Readonly<NodeJS.ProcessEnv>): string[] {
  const cache = join(env.XDG_CACHE_HOME || join(env.HOME || '/', '.cache'), 'reef');
  return ['compile-cache', 'built'].map((name) => join(cache, name));
}

/** The folder of an agent's program, or the packages it is one of. Never a whole home. */
function programFolders(program: string, bare: readonly string[]): string[] {
  const paths = existsSync(program) ? [program, realpathSync(program)] : [program];
  return paths.map((path) => {
    const packages = packagesAround(path);
    return packages ?? (bare.includes(dirname(path)) ? path : dirname(path));
  });
}

function packagesAround(path: string): string | undefined {
  const at = path.indexOf('/node_modules/');
  return at < 0 ? undefined : path.slice(0, at + '/node_modules'.length);
}

/** The whole of a known tool, another folder of PATH, and with a `bin` what lies beside it for its programs. */
function toolFolders(folder: string, bare: readonly string[]): string[] {
  const tool = TOOLS.find((name) => folder.includes(`/${name}/`));
  if (tool !== undefined) return [folder.slice(0, folder.indexOf(`/${tool}/`) + tool.length + 1)];
  const around = dirname(folder);
  if (basename(folder) !== 'bin' || bare.includes(around)) return [folder];
  return BESIDE_BIN.map((name) => join(around, name)).filter(isFilled);
}

/** A program may be a link into another folder: the packages it is one of, or else just the file, at each step of the way. */
function linkedPrograms(folder: string): string[] {
  return entriesOf(folder).flatMap((entry) => {
    const steps: string[] = [];
    let link = entry.isSymbolicLink() ? join(folder, entry.name) : undefined;
    while (link !== undefined && steps.length < MOST_STEPS) {
      const target = resolve(dirname(link), readlinkSync(link));
      steps.push(packagesAround(target) ?? target);
      link = lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() ? target : undefined;
    }
    return steps;
  });
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isFilled(folder: string): boolean {
  return entriesOf(folder).length > 0;
}
