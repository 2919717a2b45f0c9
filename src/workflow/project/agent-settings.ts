import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { ProjectFiles, ProjectNames } from '../../agents/project-files.ts';
import { createSafeDir, type SafeDir } from '../../base/safe-dir.ts';
import { type TrustFile, trustHash } from '../../runtime/config/trust-file.ts';

const LARGEST_FILE = 1024 * 1024;
const MOST_FILES = 400;
/** Claude Code keeps whole checkouts there, and reads no settings from them. */
const LEFT_OUT = new Set(['.claude/worktrees']);

/** A file of a checkout that steers an agent. Without bytes it cannot be trusted: a link, or too large to be read. */
export interface SettingsFile {
  name: string;
  bytes?: Buffer;
}

/** In the order of their names. Links are not followed. */
export async function settingsIn(folder: string, names: readonly string[]): Promise<SettingsFile[]> {
  const dir = createSafeDir(folder);
  const found: SettingsFile[] = [];
  for (const name of names) await collect(dir, name, found);
  return found;
}

async function collect(dir: SafeDir, name: string, found: SettingsFile[]): Promise<void> {
  const entry = await dir.stat(name).catch(ifAbsent);
  if (entry === undefined || LEFT_OUT.has(name) || found.length > MOST_FILES) return;
  if (entry.kind === 'dir') {
    const inner = await dir.list(name).catch(() => []);
    for (const each of inner) await collect(dir, `${name}/${each.name}`, found);
    // Too many entries, or a name that no path may have: nobody can look at all of it.
    if (readdirSync(join(dir.root, name)).length !== inner.length) found.push({ name: `${name}/…` });
    return;
  }
  const isReadable = entry.kind === 'file' && entry.size <= LARGEST_FILE && found.length < MOST_FILES;
  found.push(isReadable ? { name, bytes: await dir.read(name, LARGEST_FILE) } : { name });
}

interface Deps {
  /** The main checkout. Absent outside of a repository: there nothing is trusted. */
  root: string | undefined;
  trust: TrustFile;
}

/** What the folder of a job brings for its agent, judged by what the person trusted in the main checkout. */
export function projectFilesOf(deps: Deps): (cwd: string, names: ProjectNames) => Promise<ProjectFiles> {
  return (cwd, names) => lookIn(cwd, names, deps);
}

async function lookIn(cwd: string, names: ProjectNames, { root, trust }: Deps): Promise<ProjectFiles> {
  const top = topOf(cwd);
  // An agent also looks into every folder between the top and where it works.
  const between = relative(top, cwd).split('/').filter(Boolean);
  const folders = [top, ...between.map((_, index) => join(top, ...between.slice(0, index + 1)))];
  const withheld: string[] = [];
  const instructions: ProjectFiles['instructions'][number][] = [];
  for (const folder of folders) {
    for (const { name, bytes } of await settingsIn(folder, names.settings)) {
      const path = join(relative(top, folder), name);
      const isTrusted = root !== undefined && bytes !== undefined && trust.isTrusted(root, path, trustHash(bytes));
      if (!isTrusted) withheld.push(path);
    }
    for (const { name, bytes } of await settingsIn(folder, names.instructions)) {
      const at = { path: join(folder, name), name: join(relative(top, folder), name) };
      if (bytes !== undefined) instructions.push({ ...at, text: bytes.toString('utf8') });
    }
  }
  return { roots: [...new Set([cwd, top, ...(root === undefined ? [] : [root])])], withheld, instructions };
}

/** The checkout that the folder belongs to, or the folder itself. */
function topOf(cwd: string): string {
  for (let folder = cwd; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
  }
  return cwd;
}

function ifAbsent(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) throw error;
}
