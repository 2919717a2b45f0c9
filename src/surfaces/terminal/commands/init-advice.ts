import { type CheckoutLook, hasCommands, type ProjectLook } from '../../../app/init-project.ts';
import { lackWords, type MissingProgram } from '../../../app/what-runs.ts';
import type { TrustItem } from '../../../protocol/trust.ts';
import { PROJECT_CONFIG } from '../../../workflow/project/project-config.ts';
import { isAble, type ReadyAgent } from '../../doctor/ready-agents.ts';
import { shellQuote } from '../../render/short-names.ts';

interface Seen {
  look: ProjectLook;
  missing: readonly MissingProgram[];
  checkout: CheckoutLook;
  agents: readonly ReadyAgent[];
  items: readonly Pick<TrustItem, 'trusted'>[];
  /** A configuration that says something else was not replaced. */
  isKept: boolean;
}

/** What prevents a first run or may surprise in it, each with what to do. */
export function notesOf({ look, missing, checkout, agents, isKept }: Seen): string[] {
  const lacks = missing.map(lackWords).map(({ what, does }) => `A run would halt: ${what}. To mend it, ${does}.`);
  return [...projectNotes(look, isKept), ...lacks, ...checkoutNotes(checkout), ...agentNotes(agents)];
}

function projectNotes({ proposal, elsewhere, folder }: ProjectLook, isKept: boolean): string[] {
  const isKnown = hasCommands(proposal);
  const notes: (string | false)[] = [
    isKept && isKnown && `${PROJECT_CONFIG} exists and says something else. To replace it: reef init --force`,
    isKept &&
      !isKnown &&
      `${PROJECT_CONFIG} was not changed: Reef found no test command here. Name it: reef init --force --test "…"`,
    ...proposal.notes,
    folder !== '' && `Gates run at the root of a worktree, so each of these commands changes to ${folder} first.`,
    !isKept && !isKnown && 'Reef found no test command here. Name it: reef init --test "./run-tests"',
    elsewhere.length > 0 &&
      `Projects were found in ${elsewhere.slice(0, 5).join(', ')}. Run \`reef init\` in one of them.`,
    isKnown && !proposal.gates.test && 'No test command was found, and a run needs one: reef init --force --test "…"',
  ];
  return notes.filter((note) => note !== false);
}

function checkoutNotes({ hasCommit, hasIdentity, changed, notIgnored }: CheckoutLook): string[] {
  const files = changed === 1 ? '1 file has changes that are' : `${changed} files have changes that are`;
  const notes: (string | false)[] = [
    notIgnored.length > 0 &&
      `git does not ignore ${notIgnored.join(', ')}: files that a gate leaves there would be merged. Add it to .gitignore.`,
    !hasCommit && 'There is no commit yet, and every run starts from one.',
    hasCommit && changed > 0 && `${files} not committed. A run does not see them, and does not touch them.`,
    !hasIdentity && 'git has no name for you, and a merge needs one: git config --global user.name "…", and user.email',
  ];
  return notes.filter((note) => note !== false);
}

function agentNotes(agents: readonly ReadyAgent[]): string[] {
  const [first] = agents;
  return agents.some(isAble)
    ? []
    : [`No agent is ready yet. The quickest to set up is ${first?.title ?? 'Claude Code'}: ${first?.toDo ?? ''}`];
}

export interface NextCommand {
  type: string;
  to: string;
}

/** Commands to type as they stand, in this order. */
export function nextCommands(
  { look, checkout, agents, items, isKept }: Seen,
  person: { wanted: string; isInteractive: boolean; isDry: boolean },
): NextCommand[] {
  const agent = agents[0]?.name ?? person.wanted;
  const isJudged = look.proposal.gates.test !== undefined || isKept;
  const isTrusted = items.every(({ trusted }) => trusted);
  const trust = person.isInteractive ? 'reef trust' : 'reef trust --yes';
  return [
    ...(person.isDry ? [{ type: 'reef init', to: 'write the configuration' }] : []),
    ...(checkout.hasCommit ? [] : [{ type: 'git add -A && git commit -m "start"', to: 'make the first commit' }]),
    ...(isTrusted ? [] : [{ type: trust, to: 'see what Reef would run here, and allow it' }]),
    isJudged ? firstRun(agent, person.wanted) : firstJob(agent),
    { type: 'reef inbox', to: 'see what it asks, and what to type to answer' },
    { type: 'reef diff @last', to: 'see what it did' },
    ...(isJudged ? [{ type: 'reef accept @last', to: 'merge it' }] : []),
  ];
}

function firstRun(agent: string, wanted: string): NextCommand {
  const flag = agent === wanted ? '' : ` --agent ${shellQuote(agent)}`;
  const type = `reef run "Add a test for something that has none"${flag} --follow`;
  return { type, to: 'a first run, in a worktree of its own' };
}

function firstJob(agent: string): NextCommand {
  const type = `reef spawn ${shellQuote(agent)} "Write down how this project is tested" --worktree`;
  return { type, to: 'one agent in a worktree of its own, without gates' };
}
