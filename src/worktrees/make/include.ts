import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSafeDir, type SafeDir } from '../../base/safe-dir.ts';
import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import { nulFields } from '../../git/nul-fields.ts';
import { listIgnored } from '../../git/tree.ts';
import { ReefError } from '../../protocol/errors.ts';

interface Included {
  copied: string[];
  skipped: { path: string; why: string }[];
}

const LARGEST_FILE = 64 * 1024 * 1024;
const LISTING = { maxBytes: 64 * 1024 * 1024 };

/** Copies what `.worktreeinclude` names and git ignores. No link is followed, and existing files stay. */
export async function copyIncluded(
  git: Git,
  from: Checkout,
  to: { path: string; patterns: string },
): Promise<Included> {
  const [source, target] = [createSafeDir(from.toplevel), createSafeDir(to.path)];
  const result: Included = { copied: [], skipped: [] };
  for (const path of await ignoredAndNamed(git, from, to.patterns)) {
    const why = await copyOne(source, target, path);
    if (why === undefined) result.copied.push(path);
    else result.skipped.push({ path, why });
  }
  return result;
}

async function ignoredAndNamed(git: Git, checkout: Checkout, patterns: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'reef-include-'));
  try {
    const file = join(folder, 'patterns');
    await writeFile(file, patterns, { mode: 0o600 });
    const { stdout } = await git.call(checkout, ['ls-files', '--others', '--ignored', '-z', '-X', file], LISTING);
    const named = [...nulFields(stdout)].map((path) => path.toString('utf8'));
    const ignored = new Set<string>();
    if (named.length > 0) for await (const path of listIgnored(git, checkout)) ignored.add(path);
    return named.filter((path) => isIgnored(ignored, path));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Git lists an ignored folder once, with a slash at its end. */
function isIgnored(ignored: ReadonlySet<string>, path: string): boolean {
  if (ignored.has(path)) return true;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    if (ignored.has(path.slice(0, at + 1))) return true;
  }
  return false;
}

async function copyOne(source: SafeDir, target: SafeDir, path: string): Promise<string | undefined> {
  try {
    const { mode, kind } = await source.stat(path);
    if (kind !== 'file') return kind === 'link' ? 'is a link' : 'is not a file';
    if (await exists(target, path)) return 'is there already';
    await target.write(path, await source.read(path, LARGEST_FILE), mode);
    return undefined;
  } catch (error) {
    if (error instanceof ReefError) return error.message;
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined) return code;
    throw error;
  }
}

async function exists(dir: SafeDir, path: string): Promise<boolean> {
  return dir.stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
