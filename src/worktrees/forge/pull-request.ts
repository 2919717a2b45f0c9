import { capText } from '../../base/cap.ts';
import { printable } from '../../base/printable.ts';
import { diffTrees } from '../../git/diff.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { GateStanding, OpenedPullRequest, PullRequest, PullRequestOptions } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { openBench, standings } from '../merge/gates.ts';
import type { StoredWorktree } from '../records.ts';
import { Forge } from './programs.ts';
import { type Pushed, pushWorktree } from './push.ts';
import type { ForgeRepository } from './remote.ts';

const MOST_BODY = 60_000;
const MOST_FILES = 200;
/** How long what a forge said about a pull request counts as new. */
const FRESH_MS = 30_000;

/** Pushes, and opens a pull request unless the branch has one. */
export async function openPullRequest(
  deps: Deps,
  id: string,
  { into, draft, ...options }: PullRequestOptions,
): Promise<OpenedPullRequest> {
  const target = into ?? deps.records.get(id).base.branch;
  if (target === '')
    throw new ReefError('target_unknown', `The worktree ${id} was made from a commit, not from a branch.`);
  const made = await pushWorktree(deps, id, options);
  const { base, tree, forge: repository, ...pushed } = made;
  const forge = repository && (await Forge.at(deps.asUser, repository));
  const wanted = { branch: pushed.branch, target };
  if (!repository || !forge?.isInstalled) {
    const address = pushed.address ?? forge?.page(wanted);
    return { ...pushed, ...(address !== undefined && { address }), ...(forge && { missing: forge.program }) };
  }
  const row = deps.records.get(id);
  if ((await forge.find(wanted.branch))?.state !== 'open') {
    const body = await bodyOf(deps, row, made);
    await forge.create({ ...wanted, title: row.title, body, isDraft: draft });
  }
  const pr = await look(deps, forge, wanted.branch);
  if (!pr) throw new ReefError('forge_refused', `${forge.program} shows no pull request of ${wanted.branch}.`);
  deps.records.change(id, (now) => ({ ...now, pr: { ...pr, ...repository } }));
  return { ...pushed, pr };
}

async function look({ clock }: Deps, forge: Forge, branch: string): Promise<PullRequest | undefined> {
  const found = await forge.find(branch);
  return found && { program: forge.program, ...found, at: clock.now().toISOString() };
}

/** What a reviewer wants to know first: the task in the words it was given, what judged the change, and which files it touches. */
async function bodyOf(deps: Deps, row: StoredWorktree, { base, tree }: Pushed): Promise<string> {
  const [run] = deps.store.runs.byWorktree<{ task: string }>(row.id);
  const changes = await diffTrees(deps.git, deps.checkout, { from: base, to: tree });
  const files = changes.map(
    ({ status, path, from }) => `- ${status} ${code(from === undefined ? path : `${from} → ${path}`)}`,
  );
  const more = files.length > MOST_FILES ? [`- and ${files.length - MOST_FILES} more`] : [];
  const gates = (await gatesOn(deps, row, tree)).map((gate) => `- ${code(gate.gate)}: ${wordsOf(gate, tree)}`);
  const parts = [
    [run?.doc.task ?? row.title],
    gates.length === 0 ? [] : ['### Gates', '', ...gates],
    ['### Files', '', ...files.slice(0, MOST_FILES), ...more],
    [`Reef-Task: ${row.taskId}`],
  ];
  return `${capText(
    parts
      .filter((part) => part.length > 0)
      .map((part) => part.join('\n'))
      .join('\n\n'),
    MOST_BODY,
  )}\n`;
}

/** A name as it is: nothing in it mentions anybody, is a link or ends the quotation. */
const code = (name: string) => `\`${printable(name).replaceAll('`', "'").replaceAll('\n', ' ')}\``;

async function gatesOn(deps: Deps, row: StoredWorktree, tree: string): Promise<GateStanding[]> {
  try {
    return standings(deps, await openBench(deps, row), tree).filter(({ result }) => result !== 'not_configured');
  } catch (error) {
    if (error instanceof ReefError && error.code === 'repo_untrusted') return [];
    throw error;
  }
}

function wordsOf({ result, tree, blocks }: GateStanding, now: string): string {
  const aside = blocks === false ? ' (does not block)' : '';
  if (tree !== undefined && tree !== now) return `${result} on earlier files, not run on these${aside}`;
  return `${result.replace('_', ' ')}${aside}`;
}

/** Asks about each open pull request at most once in a while. A forge that does not answer changes nothing. */
export async function refreshPullRequests(deps: Deps): Promise<void> {
  const due = deps.clock.now().getTime() - FRESH_MS;
  const stale = deps.records.open().filter(({ pr }) => pr?.state === 'open' && Date.parse(pr.at) <= due);
  await Promise.all(
    stale.map((row) =>
      refresh(deps, row).catch((error: unknown) =>
        deps.log.warn('a forge did not answer', { worktree: row.id, error }),
      ),
    ),
  );
}

async function refresh(deps: Deps, { id, pr: before, pushed }: StoredWorktree): Promise<void> {
  if (!before || !pushed) return;
  const repository: ForgeRepository = { host: before.host, path: before.path };
  const forge = await Forge.at(deps.asUser, repository);
  const pr = forge && (await look(deps, forge, pushed.branch));
  if (!pr) return;
  deps.records.change(id, (now) => ({ ...now, pr: { ...pr, ...repository } }));
  const message = newsOf(before, pr);
  if (message !== undefined) deps.announce({ kind: 'pull_request', worktreeId: id, message });
}

const failing = ({ checks }: Pick<PullRequest, 'checks'>) =>
  checks.filter(({ result }) => result === 'failed').map(({ name }) => name);

/** Undefined: nothing that anybody would want to be told. */
function newsOf(before: PullRequest, now: PullRequest): string | undefined {
  const at = `${now.url} `;
  if (before.state !== now.state) return `${at}is ${now.state}.`;
  if (now.review === 'changes_requested' && before.review !== now.review) return `${at}changes are asked for.`;
  const fresh = failing(now).filter((name) => !failing(before).includes(name));
  return fresh.length > 0 ? `${at}fails: ${fresh.join(', ')}.` : undefined;
}
