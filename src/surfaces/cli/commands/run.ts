import { systemClock } from '../../../base/clock.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { OperationInput, OperationOutput } from '../../../protocol/operations.ts';
import type { RunSummary } from '../../../protocol/run-operations.ts';
import type { Client } from '../../client/client.ts';
import type { Cli, Command } from '../cli.ts';
import { parseDuration } from '../render/quantities.ts';
import { eventText, runDetails, runTable } from '../render/run.ts';
import { absoluteScript } from './spawn.ts';
import { textArgument } from './text-argument.ts';

export interface RunOptions {
  agent?: string;
  model?: string;
  plan?: string[];
  base?: string;
  priority?: number;
  anyway?: true;
  step?: true;
  autoResume?: true;
  accept?: true;
  sandbox?: true;
  yes?: true;
  unsafe?: true;
  budgetTokens?: number;
  budgetTime?: string;
  key?: string;
  wait?: true;
  follow?: true;
}

/** `reef run [WORKFLOW] "<task>"`: with one argument it is the task. */
export const run: Command<RunOptions> = async (cli, args, options) => {
  const [workflow, task] = args.length > 1 ? [args[0], args[1]] : [undefined, args[0]];
  const client = cli.client();
  const input = runInput(cli, (await textArgument(cli, task)) ?? '', options);
  const started = await client.call('run', { ...input, ...(workflow !== undefined && { workflow }) });
  if (options.follow) return follow(cli, client, started.runId);
  if (options.wait) return waitToEnd(cli, client, started.runId);
  cli.print(started, () => `${started.runId}  ${started.status}`);
  if (!cli.json) cli.talk(`  reef run show ${started.runId} --follow    watch it\n  reef inbox    what is asked`);
  return 0;
};

function runInput(cli: Cli, task: string, options: RunOptions): OperationInput<'run'> {
  const { budgetTokens, budgetTime, wait, follow: _follow, agent, ...same } = options;
  const budget = {
    ...(budgetTokens !== undefined && { tokens: budgetTokens }),
    ...(budgetTime !== undefined && { seconds: parseDuration(budgetTime, '--budget-time') / 1_000 }),
  };
  return {
    task,
    ...same,
    ...(agent !== undefined && { agent: absoluteScript(agent, cli.cwd) }),
    ...(Object.keys(budget).length > 0 && { budget }),
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
  if (isFollowed) return follow(cli, client, id);
  if (wait) return waitToEnd(cli, client, id);
  const result = await client.call('run_status', { id });
  return show(cli, result);
};

type Verb = OperationInput<'run_control'>['verb'];

export function controlRun(verb: Verb): Command<{ signal?: string; block?: string; visit?: number; branch?: string }> {
  return async (cli, [id = '', guidance], options) => {
    const said = await textArgument(cli, guidance);
    const input = { id, verb, ...(said !== undefined && { guidance: said }), ...options };
    const summary = await cli.client().call('run_control', input);
    cli.print(summary, () => `${summary.runId}  ${summary.status}${summary.because ? `: ${summary.because}` : ''}`);
    return 0;
  };
}

export const replayRun: Command<object> = async (cli, [id = '']) => {
  const result = await cli.client().call('run_replay', { id });
  cli.print(result, () =>
    result.isSame
      ? `same end: ${result.recorded}`
      : `another end: recorded ${result.recorded}, walked ${result.walked}`,
  );
  return result.isSame ? 0 : 1;
};

const LONGEST_CALL_MS = 45_000;
const FOLLOW_MS = 200;

async function waitToEnd(cli: Cli, client: Client, id: string): Promise<number> {
  for (;;) {
    const result = await client.call('run_status', { id, waitMs: LONGEST_CALL_MS });
    if (!goesOn(result.runs[0])) return show(cli, result);
  }
}

/** A line for each visit that ends; the whole picture at the end. */
async function follow(cli: Cli, client: Client, id: string): Promise<number> {
  let seen = 0;
  let told = 0;
  for (let after = 0; ; ) {
    const result = await client.call('run_status', { id, waitMs: LONGEST_CALL_MS, after });
    const ended = Object.values(result.view?.executionLog ?? {}).filter(({ endedAt }) => endedAt !== undefined);
    for (const { block, visit, signal, status } of ended.slice(seen)) {
      if (cli.json) cli.out(JSON.stringify({ block, visit, signal, status }));
      else cli.out(`${block}#${visit}  ${signal ?? status}`);
    }
    seen = ended.length;
    const events = result.view?.events ?? [];
    for (const event of events.slice(told)) {
      cli.out(cli.json ? JSON.stringify(event) : `${event.type}  ${eventText(event)}`);
    }
    told = events.length;
    after = result.view?.seq ?? 0;
    if (!goesOn(result.runs[0])) return show(cli, result);
    await systemClock.sleep(FOLLOW_MS);
  }
}

function show(cli: Cli, result: OperationOutput<'run_status'>): number {
  const [summary] = result.runs;
  if (!summary) throw new ReefError('run_not_found', 'There is no such run.');
  cli.print(result, () => runDetails(summary, result.view, cli.style));
  return exitCode(summary);
}

function goesOn(run: RunSummary | undefined): boolean {
  return run?.status === 'queued' || run?.status === 'running';
}

function exitCode({ status }: RunSummary): number {
  if (status === 'halted' || status === 'awaiting_input') return 3;
  return status === 'success' || status === 'queued' || status === 'running' ? 0 : 1;
}
