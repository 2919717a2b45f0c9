import { systemClock } from '../../../base/clock.ts';
import { afterNews } from '../../../protocol/differences.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { InboxEntry } from '../../../protocol/job-operations.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import { isUnderWay, type RunSummary } from '../../../protocol/run-operations.ts';
import type { Client } from '../../client/client.ts';
import { duration } from '../../render/quantities.ts';
import { renderQuestion } from '../../render/question.ts';
import { runOutcome, shortBlock } from '../../render/run.ts';
import { RunLog } from '../../render/run-log.ts';
import type { Cli } from '../cli.ts';
import { answerHere } from '../prompt/job-questions.ts';
import { exitCodeOfRun } from './exit-codes.ts';
import { LONGEST_CALL_MS } from './output.ts';

const FOLLOW_MS = 200;
const AGENT_MS = 1_000;
const QUIET_MS = 10_000;

type Status = OperationOutput<'run_status'>;

export async function waitToEnd(cli: Cli, client: Client, id: string): Promise<number> {
  for (;;) {
    const result = await client.call('run_status', { id, waitMs: LONGEST_CALL_MS });
    const next = goneBack(result);
    if (!goesOn(result.runs[0]))
      return next === undefined ? outcome(cli, client, result) : waitToEnd(cli, client, next);
  }
}

/** Prints what goes on, and was not told before. At a terminal, questions on the way are asked right there. */
export async function follow(cli: Cli, client: Client, id: string, before?: RunLog): Promise<number> {
  const log = { log: before ?? openLog(cli, client), quiet: { since: systemClock.monotonicMs(), nextMs: QUIET_MS } };
  let told = { visits: 0, events: 0 };
  let waitMs = 0;
  for (let view: Status['view'] = null; ; ) {
    const result: Status = await nextStatus(client, { id, waitMs, known: view });
    view = result.view;
    if (cli.json) told = tell(cli, result, told);
    else await tellLog(cli, log, result);
    // While an agent works, its events come between those of the run.
    waitMs = !cli.json && (!result.view || RunLog.atWork(result.view).length > 0) ? AGENT_MS : QUIET_MS;
    if (!goesOn(result.runs[0]) && !(await answered(cli, client, result))) {
      const next = goneBack(result);
      if (next === undefined) return outcome(cli, client, result);
      if (!cli.json) cli.talk(`It could not be merged and went back to its agent, as run ${next}.`);
      return follow(cli, client, next);
    }
    await systemClock.sleep(FOLLOW_MS);
  }
}

/** Of a view that is known, only what has become different comes. */
async function nextStatus(
  client: Client,
  { id, waitMs, known }: { id: string; waitMs: number; known: Status['view'] },
): Promise<Status> {
  const news = await client.call('run_follow', { id, waitMs, after: known?.seq ?? 0 });
  return { runs: [news.run], view: afterNews(known ?? undefined, news) ?? null };
}

/** Prints what is new, or at ever longer intervals that it still goes on. */
async function tellLog(cli: Cli, { log, quiet }: Followed, result: Status): Promise<void> {
  const now = systemClock.monotonicMs();
  for await (const line of log.news(result)) {
    cli.out(line);
    Object.assign(quiet, { since: now, nextMs: QUIET_MS });
  }
  const block = result.runs[0]?.block;
  if (!block || now - quiet.since < quiet.nextMs) return;
  cli.talk(`    … ${shortBlock(block, 1)} is at work, nothing new for ${duration(now - quiet.since)}`);
  quiet.nextMs *= 2;
}

interface Followed {
  log: RunLog;
  quiet: { since: number; nextMs: number };
}

export function openLog({ style }: Cli, client: Client): RunLog {
  return new RunLog({ style, read: (id, since) => client.call('output', { id, since }) });
}

/** The log of a run that has told all that went on until now. */
export async function toldUntilNow(cli: Cli, client: Client, id: string): Promise<{ runId: string; log: RunLog }> {
  const result = await client.call('run_status', { id });
  const log = openLog(cli, client);
  for await (const _line of log.news(result));
  return { runId: theRun(result).runId, log };
}

/** Prints what is new since `told` as JSON, and returns how much has been printed now. */
function tell(cli: Cli, { view }: Status, told: { visits: number; events: number }): typeof told {
  const visits = Object.values(view?.executionLog ?? {}).filter(({ endedAt }) => endedAt !== undefined);
  const events = view?.events ?? [];
  for (const { block, visit, signal, status } of visits.slice(told.visits)) {
    const ended = { block, visit, status, ...(signal !== undefined && { signal }) };
    cli.out(JSON.stringify(ended));
  }
  for (const event of events.slice(told.events)) cli.out(JSON.stringify(event));
  return { visits: visits.length, events: events.length };
}

/** False: nobody is there to ask, or the person leaves the question open. */
async function answered(cli: Cli, client: Client, { runs: [summary] }: Status): Promise<boolean> {
  if (cli.json || !cli.isInteractive || summary?.status !== 'awaiting_input') return false;
  const asked = await questionsOf(client, summary.runId);
  for (const question of asked) if (!(await answerHere(cli, client, question))) return false;
  return true; // with no questions: somebody else has answered meanwhile
}

async function questionsOf(client: Client, runId: string): Promise<InboxEntry[]> {
  const { questions } = await client.call('inbox', {});
  return questions.filter((question) => question.runId === runId && question.jobId !== runId);
}

/** Prints how the run stands, its questions with the commands that answer them, and what to type next. */
async function outcome(cli: Cli, client: Client, result: Status): Promise<number> {
  const summary = theRun(result);
  const isAsked = !cli.json && summary.status === 'awaiting_input';
  const questions = isAsked ? await questionsOf(client, summary.runId) : [];
  cli.print(result, () =>
    [
      // Not the moment at which the command was typed.
      runOutcome(summary, result.view, { ...cli.style, now: new Date() }),
      ...questions.map((question) => `\n${renderQuestion(question, cli.style)}`),
    ].join('\n'),
  );
  if (isAsked) cli.talk(`\nAfter you answer, watch it go on: reef run show ${summary.runId} --follow`);
  return exitCodeOfRun(summary);
}

/** The run that goes on with one that was to be merged: who waits for the merge waits for that one. */
function goneBack({ runs: [run] }: Status): string | undefined {
  return run?.merge === 'not_merged' ? run.continuedBy : undefined;
}

export function theRun({ runs: [summary] }: Status): RunSummary {
  if (!summary) throw new ReefError('run_not_found', 'There is no such run');
  return summary;
}

function goesOn(run: RunSummary | undefined): boolean {
  return run !== undefined && isUnderWay(run);
}
