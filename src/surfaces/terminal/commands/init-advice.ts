import { type CheckoutLook, hasCommands, type ProjectLook } from '../../../app/init-project.ts';
import type { TrustItem } from '../../../protocol/trust.ts';
import { PROJECT_CONFIG } from '../../../workflow/project/project.ts';
import { isAble, type ReadyAgent } from '../../doctor/ready-agents.ts';
import { shellQuote } from '../../render/short-names.ts';

interface Seen {
  look: ProjectLook;
  checkout: CheckoutLook;
  agents: readonly ReadyAgent[];
  items: readonly Pick<TrustItem, 'trusted'>[];
  /** A file that says something else was left in its place. */
  isKept: boolean;
}

/** What stands in the way of a first run, or will surprise in it; each says what to do. */
export function notesOf({ look, checkout, agents, isKept }: Seen): string[] {
  return [...projectNotes(look, isKept), ...checkoutNotes(checkout), ...agentNotes(agents)];
}

function projectNotes({ proposal, missing, elsewhere, folder }: ProjectLook, isKept: boolean): string[] {
  const isKnown = hasCommands(proposal);
  const notes: (string | false)[] = [
    isKept && isKnown && `${PROJECT_CONFIG} says something else and was left as it is; --force replaces it.`,
    isKept &&
      !isKnown &&
      `${PROJECT_CONFIG} was left as it is: nothing was recognised to put in its place. Say it yourself: reef init --force --test "…"`,
    folder !== '' && `Gates run at the root of a worktree, so these go to ${folder} first.`,
    !isKept && !isKnown && 'No toolchain was recognised. Say what judges the work: reef init --test "./run-tests"',
    elsewhere.length > 0 && `Recognised below: ${elsewhere.slice(0, 5).join(', ')}. Run \`reef init\` in one of them.`,
    isKnown && !proposal.gates.test && 'No test command was found, and a run needs one: reef init --force --test "…"',
    missing.length > 0 && `Not on PATH: ${missing.join(', ')}. A gate that cannot start halts a run.`,
  ];
  return notes.filter((note) => note !== false);
}

function checkoutNotes({ hasCommit, hasIdentity, changed, notIgnored }: CheckoutLook): string[] {
  const files = changed === 1 ? '1 file has changes that are' : `${changed} files have changes that are`;
  const notes: (string | false)[] = [
    notIgnored.length > 0 &&
      `git does not ignore ${notIgnored.join(', ')}: what a gate leaves there becomes part of the work. Add it to .gitignore.`,
    !hasCommit && 'There is no commit yet, and every run begins at one.',
    hasCommit && changed > 0 && `${files} not committed: a run does not see them, and nothing touches them.`,
    !hasIdentity && 'git knows no name for you, and a merge carries it: git config --global user.name, user.email',
  ];
  return notes.filter((note) => note !== false);
}

function agentNotes(agents: readonly ReadyAgent[]): string[] {
  const [first] = agents;
  return agents.some(isAble)
    ? []
    : [`No agent is ready yet. The nearest: ${first?.title ?? 'Claude Code'}: ${first?.toDo ?? ''}`];
}

export interface NextCommand {
  type: string;
  to: string;
}

/** Each can be typed as it stands, in this order. */
export function nextCommands(
  { look, checkout, agents, items, isKept }: Seen,
  person: { wanted: string; isInteractive: boolean; isDry: boolean },
): NextCommand[] {
  const agent = agents[0]?.name ?? person.wanted;
  const isJudged = look.proposal.gates.test !== undefined || isKept;
  const isTrusted = items.every(({ trusted }) => trusted);
  const trust = person.isInteractive ? 'reef trust' : 'reef trust --yes';
  return [
    ...(person.isDry ? [{ type: 'reef init', to: 'write it down' }] : []),
    ...(checkout.hasCommit ? [] : [{ type: 'git add -A && git commit -m "start"', to: 'make the first commit' }]),
    ...(isTrusted ? [] : [{ type: trust, to: 'see what Reef would run here, and let it' }]),
    isJudged ? firstRun(agent, person.wanted) : firstJob(agent),
    { type: 'reef inbox', to: 'what it asks; `reef send @last --allow` says yes' },
    { type: 'reef worktree diff @last', to: 'what it did' },
    ...(isJudged ? [{ type: 'reef worktree accept @last', to: 'merge it' }] : []),
  ];
}

function firstRun(agent: string, wanted: string): NextCommand {
  const flag = agent === wanted ? '' : ` --agent ${shellQuote(agent)}`;
  const type = `reef run "Add a test for something that has none"${flag} --follow`;
  return { type, to: 'a first run, in a worktree of its own' };
}

function firstJob(agent: string): NextCommand {
  const type = `reef spawn ${shellQuote(agent)} "Write down how this project is tested" --worktree`;
  return { type, to: 'one agent, without gates, in a worktree of its own' };
}
