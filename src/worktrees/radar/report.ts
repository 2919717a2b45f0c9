import { diffTrees } from '../../git/diff.ts';
import { readHead } from '../../git/repository.ts';
import { readStatus } from '../../git/status.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { Clash, ConflictReport } from '../../protocol/worktrees.ts';
import type { Deps, ReferenceSource } from '../deps.ts';
import { mergeBase } from '../merge/merge-commit.ts';
import { changedFiles, meetings, type Touched } from '../plan.ts';
import { listRegistered } from '../registry.ts';
import { namesOf } from './compare.ts';
import type { Picture, Subject } from './radar.ts';

interface Sources {
  references: ReferenceSource | undefined;
  slicerHops: number;
  overlapThreshold: number;
}

interface Question {
  picture: Picture;
  foreign: Foreign;
  /** A plan alone has no worktree yet. */
  about: { id?: string; path?: string | null; touched: Touched };
}

/** Every clash of one worktree or plan with all others, and what could not be found out. */
export async function reportOf(
  deps: Deps,
  sources: Sources,
  { picture, foreign, about }: Question,
): Promise<ConflictReport> {
  const others = picture.subjects.filter(({ row }) => row.id !== about.id);
  const clashes = [...firmClashes(sources, { picture, foreign, about }, others)];
  const problems = [...picture.problems].map(([id, why]) => `${id}: ${why}`);
  for (const id of picture.problems.keys()) {
    if (id !== about.id) clashes.push({ worktreeId: id, tier: 'unknown', files: [] });
  }
  problems.push(...foreign.problems);
  for (const { path, files } of foreign.found) {
    const shared = meetings(about.touched, changedFiles(files, deps.fold));
    if (shared.length > 0)
      clashes.push({ worktreeId: path, tier: 'soft', files: shared.map((file) => ({ path: file })) });
  }
  const named = new Set(clashes.map(({ worktreeId }) => worktreeId));
  const rest = others.filter(({ row }) => !named.has(row.id));
  const hops = await hopClashes(deps, sources, { about, rest });
  const all = [...clashes, ...hops.clashes];
  return {
    status: all.some(({ tier }) => tier !== 'unknown') ? 'CLASH' : 'CLEAR',
    complete: problems.length === 0 && hops.problems.length === 0,
    clashes: all,
    ...(problems.length + hops.problems.length > 0 && { problems: [...problems, ...hops.problems] }),
  };
}

function firmClashes(
  { overlapThreshold }: Sources,
  { picture, about }: Question,
  others: readonly Subject[],
): readonly Clash[] {
  if (about.id !== undefined) return picture.clashes.get(about.id) ?? [];
  return others.flatMap(({ row, touched }): Clash[] => {
    const shared = meetings(about.touched, touched);
    if (shared.length === 0 || shared.length < overlapThreshold) return [];
    return [{ worktreeId: row.id, tier: 'soft', files: shared.map((path) => ({ path })) }];
  });
}

/** Clashes by reference, between files that do not meet. Without a complete index the answer is unknown. */
async function hopClashes(
  { fold }: Deps,
  { references, slicerHops }: Sources,
  { about, rest }: { about: Question['about']; rest: readonly Subject[] },
): Promise<{ clashes: Clash[]; problems: string[] }> {
  const [clashes, problems]: [Clash[], string[]] = [[], []];
  const answers = new Map<string, ReturnType<ReferenceSource['related']>>();
  const ask = async ({ path, from, against }: Side) => {
    if (!references || path === null) return { isSure: false, shared: [] };
    const answer = answers.get(path) ?? references.related(path, plainFiles(from), slicerHops);
    answers.set(path, answer);
    const { complete, files } = await answer;
    const near = files.filter(({ hops }) => hops <= slicerHops).map(({ path }) => path);
    return { isSure: complete, shared: meetings(changedFiles(near, fold), against) };
  };
  for (const { row, touched } of rest) {
    const unknown = (why: string) => {
      clashes.push({ worktreeId: row.id, tier: 'unknown', files: [] });
      if (!problems.includes(why)) problems.push(why);
    };
    // A reference is one from either end, and a plan or a task that waits has no folder to look into.
    const other = { path: row.path, from: touched, against: about.touched };
    const own = about.path === undefined ? other : { path: about.path, from: about.touched, against: touched };
    try {
      const seen = await ask(own);
      const { isSure, shared } = seen.isSure || seen.shared.length > 0 ? seen : await ask(other);
      if (shared.length > 0) clashes.push({ worktreeId: row.id, tier: 'hop', files: shared.map((path) => ({ path })) });
      else if (!isSure)
        unknown(references ? 'the index of references is not complete' : 'there is no index of references');
    } catch (error) {
      unknown(`the index of references failed: ${toReefError(error).message}`);
    }
  }
  return { clashes, problems };
}

interface Side {
  path: string | null;
  from: Touched;
  against: Touched;
}

function plainFiles({ patterns }: Touched): string[] {
  return patterns.filter(({ isGlob }) => !isGlob).map(({ text }) => text);
}

export interface Foreign {
  found: { path: string; files: string[] }[];
  problems: string[];
}

/** With more, every look is slow; the report then says that it is incomplete. */
const MOST = 20;

/** Changes in checkouts that are not Reef's, the user's own first. They are only read. */
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
