import { diffTrees } from '../../git/diff.ts';
import { readHead } from '../../git/repository.ts';
import { readStatus } from '../../git/status.ts';
import type { Deps } from '../deps.ts';
import { mergeBase } from '../merge/merge-base.ts';
import { listRegistered } from '../registry.ts';
import { namesOf } from './compare.ts';

export interface Foreign {
  found: { path: string; files: string[] }[];
  problems: string[];
}

/** More of them would make every look slow; the report then says that it is not complete. */
const MOST = 20;

/** What is being changed in checkouts that are not ours, the user's own first. They are read and never touched. */
export async function foreignWork(deps: Deps): Promise<Foreign> {
  const { layout } = deps;
  const all = (await listRegistered(deps)).filter(
    ({ path, isBare, prunable }) => !isBare && prunable === undefined && !path.startsWith(`${layout.folder}/`),
  );
  const problems = all.length > MOST ? [`only ${MOST} of ${all.length} other checkouts were looked at`] : [];
  const found: Foreign['found'] = [];
  for (const { path } of all.slice(0, MOST)) {
    try {
      found.push({ path, files: await filesOf(deps, path) });
    } catch (error) {
      problems.push(`${path}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return { found: found.filter(({ files }) => files.length > 0), problems };
}

async function filesOf({ git, checkout }: Deps, path: string): Promise<string[]> {
  const other = path === checkout.toplevel ? checkout : await git.locate(path);
  const open = (await readStatus(git, other)).flatMap((entry) => namesOf(entry));
  if (other === checkout) return open;
  const [own, main] = [await readHead(git, other), await readHead(git, checkout)];
  const from = await mergeBase(git, checkout, [own.commit, main.commit]);
  const changes = from === undefined ? [] : await diffTrees(git, checkout, { from, to: own.commit });
  return [...new Set([...open, ...changes.flatMap(namesOf)])];
}
