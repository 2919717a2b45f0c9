import { systemClock } from '../../../base/clock.ts';
import { findOnPath } from '../../../base/programs.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { InboxEntry, JobView } from '../../../protocol/job-operations.ts';
import type { RunSummary } from '../../../protocol/run-operations.ts';
import { type Client, openClient } from '../../client/client.ts';
import { jobTable } from '../../render/job.ts';
import { renderQuestion } from '../../render/question.ts';
import { runDetails } from '../../render/run.ts';
import { shortAgent } from '../../render/short-names.ts';
import type { Colour } from '../../render/style.ts';
import type { Cli, Command } from '../cli.ts';
import { answerHere } from '../prompt/job-questions.ts';
import { askLine } from '../prompt/line-person.ts';
import { type Cast, chooseCast } from './cast.ts';
import { answeredOnPage, lookAgain, pageAddress } from './page.ts';
import { type Lane, Stage } from './stage.ts';
import { makeThrowaway, type Throwaway } from './throwaway.ts';

const POLL_MS = 200;
const LIMIT_MS = 240_000;
/** A real model takes its time. */
const REAL_LIMIT_MS = 1_800_000;
/** How long a person has before the demo answers by itself. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 1_500;

interface DemoRun {
  name: string;
  colour: Colour;
  task: string;
  plan: string[];
}

/** Reef's own agent with models that play a script: real processes, real files, real gates; no key and no network. */
const RUNS: DemoRun[] = [
  { name: 'rounder', colour: 'green', task: 'Make the failing test pass', plan: ['tax.mjs'] },
  // It plans the same file as the first, so it waits.
  { name: 'zero', colour: 'yellow', task: 'Support a rate of zero', plan: ['tax.mjs', 'zero.test.mjs'] },
];

const JOB = {
  name: 'notes',
  colour: 'cyan' as const,
  input: {
    task: 'Write the release notes',
    agent: 'native:coder',
    model: 'demo:notes',
    worktree: 'release notes',
    plan: ['NOTES.md'],
  },
};

/**
 * Reef in half a minute: a workflow mends a failing test, a second one that would change the same file waits for it, an agent
 * works beside them, one question is asked, the daemon is killed in the middle, and all of it is merged.
 */
export const demo: Command<{ agent?: string }> = async (cli, _args, options) => {
  const cast = await chooseCast(cli.env, options.agent);
  const throwaway = await makeThrowaway(cli.env, cast.agents);
  const client = openClient({ env: throwaway.env, cwd: throwaway.repository, surface: 'cli' });
  const stage = new Stage(cli);
  const scene = { cli, client, throwaway, stage, cast };
  try {
    stage.tell(`a throw-away repository with a failing test: ${throwaway.repository}`);
    cli.out(`Watch it in a browser, with this address, once and within a minute:\n  ${await pageAddress(client)}\n`);
    if (!cast.isScripted) cli.out(`It uses your log-in of ${cast.agent}, and its tokens.\n`);
    const lanes = await startAll(scene);
    const question = await until<InboxEntry | 'at work'>(scene, lanes, () =>
      cast.isScripted ? firstQuestion(client) : firstWork(stage),
    );

    stage.tell(`the daemon is killed: ${await killDaemon(client)}; the agents do not notice`);
    await systemClock.sleep(PAUSE_MS);
    await stage.follow(client, lanes);
    stage.tell('the next command started a new daemon, which read on where the old one stopped');

    if (question !== 'at work') {
      await answer(scene, question);
      stage.tell('answered; the gates decide what happens next');
    }
    const end = await until(scene, lanes, async () => (await allMerged(client, lanes)) ?? (await oversee(scene)));
    await summary(scene, lanes);
    await lookAgain(cli, client, throwaway);
    return end === 'merged' ? 0 : 1;
  } finally {
    await client.stop(true);
  }
};

interface Scene {
  cast: Cast;
  cli: Cli;
  client: Client;
  throwaway: Throwaway;
  stage: Stage;
}

async function startAll({ cli, client, stage, cast: { agent, isScripted } }: Scene): Promise<Lane[]> {
  const { items } = await client.call('trust', {});
  await client.call('trust', { hashes: items.map(({ hash }) => hash) });
  cli.out(`$ reef trust --yes                     ${items.map(({ name }) => name).join(', ')}`);
  const lanes: Lane[] = [];
  for (const { name, colour, task, plan } of RUNS) {
    const model = isScripted ? `demo:${name}` : undefined;
    const started = await client.call('run', { task, agent, model, plan, accept: true });
    lanes.push({ name, colour, worktree: started.worktree, runId: started.runId });
    cli.out(`$ reef run "${task}" --agent ${agent}${plan.map((path) => ` --plan ${path}`).join('')} --accept`);
    if (started.because?.startsWith('waits')) cli.out(`  ${started.status}: it ${started.because}`);
  }
  const { worktree = '' } = await client.call('spawn', JOB.input);
  lanes.push({ name: JOB.name, colour: JOB.colour, worktree });
  cli.out(`$ reef spawn native:coder "${JOB.input.task}" --worktree`);
  stage.tell('each in a worktree of its own; the second plans the file of the first, so it waits');
  return lanes;
}

async function until<T>(scene: Scene, lanes: Lane[], look: () => Promise<T | undefined>): Promise<T> {
  const { stage, client, cast } = scene;
  const limitMs = cast.isScripted ? LIMIT_MS : REAL_LIMIT_MS;
  const deadline = systemClock.monotonicMs() + limitMs;
  for (;;) {
    const met = await look();
    await stage.follow(client, lanes);
    if (met !== undefined) return met;
    if (systemClock.monotonicMs() > deadline)
      throw new Error(`the demo was not over after ${limitMs / 60_000} minutes`);
    await systemClock.sleep(POLL_MS);
  }
}

/** Whether a real agent asks anything is its own affair: the daemon is killed when one is at work. */
async function firstWork({ events }: Stage): Promise<'at work' | undefined> {
  return events.some(({ type }) => type === 'tool_call' || type === 'file_edit') ? 'at work' : undefined;
}

/** What a real agent asks is put to the person; nobody there, and it may do it once. A run that has halted ends the demo. */
async function oversee({ cli, client, cast }: Scene): Promise<'halted' | undefined> {
  if (cast.isScripted) return undefined;
  const { questions } = await client.call('inbox', {});
  for (const asked of questions) {
    if (asked.jobId === asked.runId) return 'halted';
    if (!cli.isInteractive) await answerAlone(cli, client, asked);
    else if (!(await answerHere(cli, client, asked))) return 'halted';
  }
  return undefined;
}

async function answerAlone(cli: Cli, client: Client, asked: InboxEntry): Promise<void> {
  const { jobId: id, questionId, fingerprint, kind, options = [] } = asked;
  cli.out(
    `${renderQuestion(asked, cli.style)}\nNobody is at the terminal: the demo ${kind === 'permission' ? 'allows it once' : 'answers'}.`,
  );
  const chosen = options.length > 0 ? { option: [1] } : { text: 'Decide it yourself.' };
  const said = kind === 'permission' ? { decision: 'allow_once' as const, fingerprint } : chosen;
  await client.call('send', { id, questionId, ...said });
}

async function firstQuestion(client: Client): Promise<InboxEntry | undefined> {
  const [question] = (await client.call('inbox', {})).questions;
  return question && { ...question, agent: shortAgent(question.agent) };
}

/** Like a crash: the daemon can neither save nor say anything. */
async function killDaemon(client: Client): Promise<string> {
  const daemon = await client.daemon();
  if (!daemon) return 'it was gone already';
  process.kill(daemon.pid, 'SIGKILL');
  return `kill -9 ${daemon.pid}`;
}

async function answer({ cli, client }: Scene, asked: InboxEntry): Promise<void> {
  const { questions } = await client.call('inbox', {});
  const isOpen = questions.some((q) => q.questionId === asked.questionId && q.fingerprint === asked.fingerprint);
  cli.out(renderQuestion(asked, cli.style));
  if (isOpen) cli.out('\nThe question is still in the inbox.');
  const option = isOpen ? await chosenHereOrThere(cli, client, asked) : 1;
  const isSent = option !== undefined && (await send(client, asked, option));
  if (!isSent) cli.out('\nIt was answered on the page.');
}

/** Undefined: somebody answered it on the page. */
async function chosenHereOrThere(cli: Cli, client: Client, asked: InboxEntry): Promise<number | undefined> {
  const over = new AbortController();
  const here = chooseOption(cli, asked.options?.length ?? 1, over.signal);
  const there = answeredOnPage(client, asked, over.signal);
  return Promise.race([here, there]).finally(() => over.abort());
}

/** False: somebody was faster. */
async function send(client: Client, { jobId, questionId }: InboxEntry, option: number): Promise<boolean> {
  try {
    await client.call('send', { id: jobId, questionId, option: [option] });
    return true;
  } catch (error) {
    if (error instanceof ReefError && error.code === 'already_answered') return false;
    throw error;
  }
}

async function chooseOption(cli: Cli, count: number, over: AbortSignal): Promise<number> {
  if (!cli.isInteractive) {
    await systemClock.sleep(PAUSE_MS);
    if (!over.aborted) cli.out('Nobody is at the terminal: the demo answers 1.');
    return 1;
  }
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const signal = AbortSignal.any([patience, over]);
  const words = `Your answer, here or on the page, 1 to ${count} [1]: `;
  const typed = await askLine(cli, words, { signal }).catch((error) => {
    if (signal.aborted) return '1';
    throw error;
  });
  if (typed === undefined) throw new ReefError('cancelled', 'The demo was ended.');
  const chosen = Number(typed.trim() || 1);
  return Number.isInteger(chosen) && chosen >= 1 && chosen <= count ? chosen : 1;
}

/** Runs merge by themselves. The worktree of the job without a workflow is accepted last, as a person would: until then the project's test fails. */
async function allMerged(client: Client, lanes: Lane[]): Promise<'merged' | undefined> {
  const { worktrees } = await client.call('worktrees', { all: true });
  const ours = worktrees.filter(({ id }) => lanes.some(({ worktree }) => worktree === id));
  const isMerged = (lane: Lane) => ours.some(({ id, status }) => id === lane.worktree && status === 'accepted');
  if (!lanes.filter(({ runId }) => runId !== undefined).every(isMerged)) return undefined;
  const { jobs } = await client.call('status', {});
  for (const lane of lanes.filter((each) => !isMerged(each))) {
    const isDone = jobs.some((job) => job.worktree === lane.worktree && job.status === 'completed');
    if (isDone) await client.call('accept', { id: lane.worktree });
  }
  return ours.every(({ status }) => status === 'accepted') ? 'merged' : undefined;
}

const BARS = '▁▂▃▄▅▆▇█';

/** Tokens of each prompt, turn by turn. They stay flat, however much has happened before. */
async function promptPlot(client: Client, jobs: readonly JobView[]): Promise<string> {
  const calls = await Promise.all(
    jobs.toReversed().map(({ id }) => client.call('context_calls', { id }).then((found) => found.calls)),
  );
  const sizes = calls.flat().map(({ estimated }) => Number(estimated));
  const most = Math.max(...sizes, 1);
  const bars = sizes.map((size) => BARS[Math.min(BARS.length - 1, Math.floor((size / most) * BARS.length))]);
  return `tokens per turn  ${bars.join('')}  at most ${most}`;
}

async function summary({ cli, client, throwaway, stage, cast }: Scene, lanes: Lane[]): Promise<void> {
  const [first] = lanes;
  const style = { ...cli.style, now: new Date() };
  const { runs, view } = await client.call('run_status', { id: first?.runId ?? '@last' });
  stage.tell('the run of the first, as `reef run show` draws it');
  cli.out(runDetails(runs[0] as RunSummary, view, style));
  const { jobs } = await client.call('status', {});
  const named = jobs.map((job) => ({
    ...job,
    agent: lanes.find(({ worktree }) => worktree === job.worktree)?.name ?? job.agent,
  }));
  stage.tell('what happened');
  cli.out(jobTable(named, style));
  if (cast.isScripted) cli.out(`\n${await promptPlot(client, jobs)}`);
  cli.out(
    `\n$ git log --oneline --stat main\n${await throwaway.git('log', '--oneline', '--stat', '--no-decorate', 'main')}`,
  );
  const seqs = stage.events.map((event) => event.seq).sort((a, b) => a - b);
  const isGapFree = seqs.every((seq, index) => seq === index + 1);
  cli.out(
    `${seqs.length} events from two daemons, ${isGapFree ? 'none lost, none twice' : 'NOT complete: please report this'}.`,
  );
  cli.out(`\nNext, in a repository of your own:\n${nextLines(cli.env.path)}`);
}

function nextLines(path: string): string {
  const lines = [
    ...(findOnPath('reef', path) ? [] : [['npm link', 'in this folder: puts `reef` on your PATH']]),
    [
      'reef run "make the failing test pass" --follow',
      'with claude, or --agent codex, gemini, opencode; it asks what it needs to know',
    ],
    ['reef doctor', 'what is missing, and what mends it'],
    ['reef mcp install claude', 'let your own agent start others'],
  ];
  return lines.map(([type = '', to = '']) => `  ${type.padEnd(48)}${to}`).join('\n');
}
