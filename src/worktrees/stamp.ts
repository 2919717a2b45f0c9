import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import type { Checkout } from '../git/checkout.ts';
import type { Git } from '../git/git-command.ts';
import { nulFields } from '../git/nul-fields.ts';

const ARGS = ['status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all', '--ignore-submodules=all'];

/**
 * Changes whenever HEAD, the index or a file that git does not ignore changes. It takes one process; a capture takes ten.
 * Files that differ from HEAD add inode, size and times, because git reports them alike however they differ.
 */
export async function stampOf(git: Git, checkout: Checkout): Promise<string> {
  const args = [...ARGS, '--no-renames', '--no-ahead-behind'];
  const { stdout } = await git.call(checkout, args, { maxBytes: 128 * 1024 * 1024 });
  const hash = createHash('sha256').update(stdout);
  const folder = Buffer.from(`${checkout.toplevel}/`);
  for (const field of nulFields(stdout)) {
    const path = pathOf(field);
    if (path === undefined) continue;
    const stat = await lstat(Buffer.concat([folder, path]), { bigint: true }).catch(() => undefined);
    hash.update(stat ? `${stat.ino} ${stat.mode} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}\n` : 'gone\n');
  }
  return hash.digest('hex');
}

/** `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`, `? path`; lines that begin with `#` have none. */
function pathOf(field: Buffer): Buffer | undefined {
  const blanks = { '1': 8, u: 10, '?': 1 }[field.toString('latin1', 0, 1)];
  if (blanks === undefined) return undefined;
  let at = 0;
  for (let left = blanks; left > 0; left--) at = field.indexOf(' ', at) + 1;
  return field.subarray(at);
}
