import { printable } from '../../../base/printable.ts';
import type { OperationInput } from '../../../protocol/operations.ts';
import type { RunSummary } from '../../../protocol/run-operations.ts';
import type { Client } from '../../client/client.ts';
import { openedPullRequest } from '../../render/pull-request.ts';
import { parseSeconds } from '../../render/quantities.ts';
import { runDetails, runOutcome, runTable } from '../../render/run.ts';
import { type RunLog, visitText } from '../../render/run-log.ts';
import { type Cli, type Command, textArgument } from '../cli.ts';
import { agrees } from '../prompt/line-person.ts';
import { exitCodeOfRun } from './exit-codes.ts';
import { follow, openLog, theRun, toldUntilNow, waitToEnd } from './follow.ts';
import { absoluteScript, folder } from './spawn.ts';
import { acceptWorktree } from './worktree.ts';

interface RunOptions extends Omit<OperationInput<'run'>, 'task' | 'workflow' | 'budget' | 'agents' | 'fallbacks'> {
  agents?: string;
  fallback?: string;
  budgetTokens?: number;
  budgetTime?: string;
  wait?: true;
  follow?: true;
}

/** `reef run [WORKFLOW] "<task>"`: with one argument it is the task. */
export const run: Command<RunOptions> = async (cli, args, options) => {
  const [workflow, task] = args.length > 1 ? [args[0], args[1]] : [undefined, args[0]];
  const client = cli.client();
  const input = runInput(cli, (await textArgument(cli, task)) ?? '', options);
  if (cli.isInteractive && !cli.json) await (await import('./init.ts')).prepareFirstRun(cli);
  const started = await client.call('run', { ...input, workflow });
  if (started.attempts) return toldOfAttempts(cli, client, { started, isWaited: options.follow ?? options.wait });
  if (options.follow) return followToMerge(cli, client, started.runId);
  if (options.wait) return waitToEnd(cli, client, started.runId);
  cli.print(started, () => `${started.runId}  ${started.status}`);
  if (!cli.json) for (const note of started.notes ?? []) cli.talk(note);
  if (!cli.json) cli.talk(`  reef run show ${started.runId} --follow  watch it\n  reef inbox  see what it asks`);
  return 0;
};

interface Started {
  started: RunSummary;
  isWaited: true | undefined;
}

/** Several agents try the task. */
async function toldOfAttempts(cli: Cli, client: Client, { started, isWaited }: Started): Promise<number> {
  const ids = [started.runId, ...(started.attempts ?? [])];
  if (isWaited) return (await import('./attempts.ts')).followAttempts(cli, client, ids);
  cli.print(started, () => ids.join('\n'));
  if (!cli.json) cli.talk(`  reef compare ${started.runId}  see them side by side\n  reef inbox  see what they ask`);
  return 0;
}

function runInput(cli: Cli, task: string, options: RunOptions): OperationInput<'run'> {
  const { budgetTokens, budgetTime, wait, follow: _follow, agent, agents, fallback, ...same } = options;
  const budget = { tokens: budgetTokens, seconds: parseSeconds(budgetTime, '--budget-time') };
  const list = (names?: string) => names?.split(',').map((each) => absoluteScript(each.trim(), cli.cwd));
  return {
    task,
    ...folder(cli),
    ...same,
    agent: agent && absoluteScript(agent, cli.cwd),
    ...{ agents: list(agents), fallbacks: list(fallback) },
    budget,
  };
}

export const runs: Command<{ all?: true }> = async (cli, _args, { all }) => {
  const result = await cli.client().call('runs', { all: all ?? false });
  if (!cli.json && result.runs.length === 0) cli.talk('No runs yet. Start one: reef run "fix the failing test"');
  else cli.print(result, () => runTable(result.runs, cli.style));
  return 0;
};

export const showRun: Command<{ follow?: true; wait?: true }> = async (
  cli,
  [id = ''],
  { follow: isFollowed, wait },
) => {
  const client = cli.client();
  if (isFollowed) return followToMerge(cli, client, id);
  if (wait) return waitToEnd(cli, client, id);
  const result = await client.call('run_status', { id });
  const summary = theRun(result);
  cli.print(result, () => runDetails(summary, result.view, cli.style));
  return exitCodeOfRun(summary);
};

export const logRun: Command<object> = async (cli, [id = '', block]) => {
  const client = cli.client();
  if (block !== undefined || cli.json) {
    const result = await client.call('run_log', { id, block });
    cli.print(result, () => result.visits.map((visit) => visitText(visit, cli.style)).join('\n\n'));
    return 0;
  }
  const result = await client.call('run_status', { id });
  for await (const line of openLog(cli, client).news(result)) cli.out(line);
  cli.out(runOutcome(theRun(result), result.view, cli.style));
  return 0;
};

type Verb = OperationInput<'run_control'>['verb'];

interface ControlOptions {
  signal?: string;
  block?: string;
  visit?: number;
  branch?: string;
  follow?: true;
  fromPr?: true;
}

export function controlRun(verb: Verb): Command<ControlOptions> {
  return async (cli, [id = '', guidance], { follow: isFollowed, fromPr, ...options }) => {
    if (fromPr) return continueFromPr(cli, [id, guidance], isFollowed);
    const input = { id, verb, guidance: await textArgument(cli, guidance), ...options };
    const client = cli.client();
    const before = isFollowed && !cli.json ? await toldUntilNow(cli, client, id) : undefined;
    const summary = await client.call('run_control', input);
    if (isFollowed)
      return followToMerge(cli, client, summary.runId, before?.runId === summary.runId ? before.log : undefined);
    cli.print(summary, () => `${summary.runId}  ${summary.status}${summary.because ? `: ${summary.because}` : ''}`);
    return 0;
  };
}

/** What the pull request says goes to the agent, and what became of it goes to the pull request. */
async function continueFromPr(
  cli: Cli,
  [id = '', text]: readonly (string | undefined)[],
  isFollowed?: true,
): Promise<number> {
  const client = cli.client();
  const before = isFollowed && !cli.json ? await toldUntilNow(cli, client, id) : undefined;
  const back = await client.call('run_from_pr', { id, guidance: await textArgument(cli, text) });
  const { runId, status } = back.run;
  const push = `reef worktree pr ${runId}`;
  const lines = [back.signals.join(' '), ...back.told.map((line) => `  ${printable(line)}`)];
  if (!isFollowed) {
    cli.print(back, () => [...lines, `${runId}  ${status}`].join('\n'));
    if (!cli.json) cli.talk(`  ${push}  push the new work when it has ended`);
    return 0;
  }
  if (!cli.json) cli.out(lines.join('\n'));
  const code = await follow(cli, client, runId, before?.runId === runId ? before.log : undefined);
  if (code !== 0) return code;
  const pushed = await client.call('worktree_pr', { id: runId });
  if (!cli.json) cli.out(openedPullRequest(pushed, cli.style));
  return 0;
}

/** At a terminal, whoever has watched a run succeed is asked whether to merge it. */
async function followToMerge(cli: Cli, client: Client, id: string, before?: RunLog): Promise<number> {
  const code = await follow(cli, client, id, before);
  if (code !== 0 || cli.json || !cli.isInteractive) return code;
  const { runId, merge, target } = theRun(await client.call('run_status', { id }));
  if (merge !== undefined || target === undefined) return code;
  return (await agrees(cli, `\nMerge it into ${target}?`)) ? acceptWorktree(cli, [runId], {}) : code;
}

export const replayRun: Command<object> = async (cli, [id = '']) => {
  const result = await cli.client().call('run_replay', { id });
  cli.print(result, () =>
    result.isSame
      ? `The replay ends as recorded: ${result.recorded}`
      : `The replay ends differently: recorded ${result.recorded}, replayed ${result.walked}`,
  );
  return result.isSame ? 0 : 1;
};
