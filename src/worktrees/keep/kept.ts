import { z } from 'zod';
import { capture } from '../../git/capture.ts';
import type { Checkout } from '../../git/checkout.ts';
import { commitTree } from '../../git/commit.ts';
import type { Git } from '../../git/git-command.ts';
import { checkOid, type Oid } from '../../git/ref-name.ts';
import { setRef } from '../../git/refs.ts';
import { readRef, readTree } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { planEntrySchema } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import type { StoredWorktree } from '../records.ts';

/**
 * Kept work needs no record to come back. It is a commit of all files; its parents are HEAD, the index if git could write
 * it, and the run's session if there was one. Its message names the parents and the worktree.
 */
const aboutSchema = z.object({
  id: z.string(),
  taskId: z.string(),
  title: z.string(),
  branch: z.string(),
  base: z.object({ branch: z.string(), commit: z.string() }),
  changePlan: z.array(planEntrySchema),
  parents: z.array(z.enum(['head', 'index', 'session'])),
});
type About = z.infer<typeof aboutSchema>;

export interface Kept {
  commit: Oid;
  head: Oid;
  tree: Oid;
  staged?: Oid;
  /** The commits of index and session. */
  more: { index?: Oid; session?: Oid };
  /** Absent: a capture, or a branch without more. */
  about?: About;
}

const MARK = 'Reef-Kept: ';
const AUTHOR = { name: 'Reef', email: 'reef@localhost.invalid' };
const SESSION_FILE = 'session.json';

/** Captures a worktree on a ref; its index, branch and files stay as they are. */
export async function keep(
  deps: Deps,
  row: StoredWorktree,
  worktree: Checkout,
  { ref, session }: { ref: string; session: Json | undefined },
): Promise<Kept> {
  const { git, clock } = deps;
  const signature = { ...AUTHOR, at: clock.now() };
  const message = `Reef keeps ${row.title}`;
  const taken = await capture(git, worktree, { ref: refs.work(row.id), message, at: signature.at });
  await deps.at('keep.captured');
  const commit = (tree: Oid, parents: readonly Oid[]) =>
    commitTree(git, worktree, { tree, parents, message, signature });
  const staged = taken.staged === undefined ? undefined : await commit(taken.staged, [taken.parent]);
  const saved = session === undefined ? undefined : await commit(await sessionTree(git, worktree, session), []);
  const parents = { head: taken.parent, ...(staged && { index: staged }), ...(saved && { session: saved }) };
  return putOnRef(deps, row, { ref, tree: taken.tree, parents });
}

interface Bundle {
  ref: string;
  tree: Oid;
  parents: { head: Oid; index?: Oid; session?: Oid };
}

/** Writes the commit that names the worktree, and its ref. */
export async function putOnRef(deps: Deps, row: StoredWorktree, { ref, tree, parents }: Bundle): Promise<Kept> {
  const { git, checkout, clock } = deps;
  const { id, taskId, title, branch, base, changePlan } = row;
  const names = Object.keys(parents) as About['parents'];
  const about: About = { id, taskId, title, branch, base, changePlan, parents: names };
  const commit = await commitTree(git, checkout, {
    ...{ tree, parents: Object.values(parents), signature: { ...AUTHOR, at: clock.now() } },
    message: `Reef keeps ${title}\n\n${MARK}${JSON.stringify(about)}\n`,
  });
  const before = (await readRef(git, checkout, ref)) ?? null;
  if (!(await setRef(git, checkout, { ref, to: commit, from: before }))) {
    throw new ReefError('git_locked', `${ref} was moved by somebody else.`);
  }
  return readKept(git, checkout, commit);
}

async function sessionTree(git: Git, checkout: Checkout, session: Json): Promise<Oid> {
  const input = `${JSON.stringify(session, null, 2)}\n`;
  const blob = oidOf((await git.call(checkout, ['hash-object', '-w', '--stdin'], { input })).stdout);
  const entry = `100644 blob ${blob}\t${SESSION_FILE}\0`;
  return oidOf((await git.call(checkout, ['mktree', '-z'], { input: entry })).stdout);
}

/** Reads a ref: work that was put aside, a capture of the radar, or a branch. */
export async function findKept({ git, checkout }: Deps, ref: string): Promise<Kept> {
  const commit = await readRef(git, checkout, ref);
  if (commit === undefined) throw new ReefError('kept_not_found', `There is nothing on ${ref}.`);
  if (ref.startsWith('refs/heads/'))
    return { commit, head: commit, tree: await readTree(git, checkout, commit), more: {} };
  return readKept(git, checkout, commit);
}

async function readKept(git: Git, checkout: Checkout, commit: Oid): Promise<Kept> {
  const text = (await git.call(checkout, ['cat-file', 'commit', checkOid(commit)])).stdout.toString('utf8');
  const header = text.slice(0, text.indexOf('\n\n'));
  const [, tree = ''] = /^tree (\S+)$/m.exec(header) ?? [];
  const [head, ...others] = [...header.matchAll(/^parent (\S+)$/gm)].map(([, parent = '']) => checkOid(parent));
  if (head === undefined) throw new ReefError('kept_not_found', `${commit} is not work that Reef kept.`);
  const plain = { commit, head, tree: checkOid(tree), more: {} };
  const [, json] = new RegExp(`^${MARK}(.+)$`, 'm').exec(text) ?? [];
  if (json === undefined) return plain;
  const about = aboutSchema.parse(JSON.parse(json));
  const parent = (name: 'index' | 'session') => others[about.parents.indexOf(name) - 1];
  const [index, session] = [parent('index'), parent('session')];
  return {
    ...plain,
    about,
    more: { ...(index !== undefined && { index }), ...(session !== undefined && { session }) },
    ...(index !== undefined && { staged: await readTree(git, checkout, index) }),
  };
}

function oidOf(output: Buffer): Oid {
  return checkOid(output.toString('latin1').trim());
}
