import { createInterface } from 'node:readline/promises';
import { systemClock } from '../../base/clock.ts';
import type { InboxEntry, JobView } from '../../protocol/job-operations.ts';
import type { Client } from '../client/client.ts';
import { openClient } from '../client/open.ts';
import type { Cli, Command } from './cli.ts';
import { cast } from './demo/cast.ts';
import { type Role, Stage } from './demo/stage.ts';
import { makeThrowaway, type Throwaway } from './demo/throwaway.ts';
import { jobTable } from './render/job-table.ts';
import { renderQuestion } from './render/question.ts';

const POLL_MS = 100;
const LIMIT_MS = 60_000;
/** How long a person has before the demo answers by itself. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 1_500;

/** Reef in half a minute: three agents at once, one asks, one fails, and the daemon is killed in the middle. */
export const demo: Command<Record<string, never>> = async (cli) => {
  const place = await makeThrowaway(cli.env);
  const client = openClient({ env: place.env, cwd: place.repository, surface: 'cli' });
  const stage = new Stage(cli);
  try {
    stage.tell(`a throw-away repository: ${place.repository}`);
    const roles = await startAll(client, place);
    cli.out(roles.map(({ name, task, id }) => `${name.padEnd(8)} ${id}  ${task}`).join('\n'));
    stage.tell('three agents work side by side');
    const question = await followUntil(client, { stage, roles, isMet: firstQuestion });

    stage.tell(`the daemon is killed: ${await killDaemon(client)}; the agents do not notice`);
    await systemClock.sleep(PAUSE_MS);
    await stage.follow(client, roles);
    stage.tell('the next command started a new daemon, which read on where the old one stopped');

    await answer(cli, client, question);
    stage.tell('answered; on to the end');
    await followUntil(client, {
      stage,
      roles,
      isMet: (jobs) => jobs.every((job) => job.endedAt !== undefined) || undefined,
    });
    await summary(cli, client, { stage, place, roles });
    return 0;
  } finally {
    await client.stop(true);
  }
};

async function startAll(client: Client, place: Throwaway): Promise<Role[]> {
  const roles: Role[] = [];
  for (const actor of cast) {
    const { agentId } = await client.call('spawn', { agent: actor.agent, task: actor.task, cwd: place.repository });
    roles.push({ ...actor, id: agentId });
  }
  return roles;
}

interface Following<T> {
  stage: Stage;
  roles: Role[];
  isMet(jobs: JobView[]): T | undefined;
}

async function followUntil<T>(client: Client, { stage, roles, isMet }: Following<T>): Promise<T> {
  const deadline = systemClock.monotonicMs() + LIMIT_MS;
  for (;;) {
    const { jobs } = await client.call('status', {});
    const met = isMet(jobs);
    await stage.follow(client, roles);
    if (met !== undefined) return met;
    if (systemClock.monotonicMs() > deadline) throw new Error('the demo did not get on within a minute');
    await systemClock.sleep(POLL_MS);
  }
}

function firstQuestion(jobs: JobView[]): InboxEntry | undefined {
  const asker = jobs.find((job) => job.questions.length > 0);
  const [question] = asker?.questions ?? [];
  if (!asker || !question) return undefined;
  const { id, agent, task, cwd, createdAt } = asker;
  return { ...question, jobId: id, agent: agent.replace(/^scripted:.*\//, 'scripted:'), task, cwd, askedAt: createdAt };
}

/** As a crash would: nothing is saved, nothing is told. */
async function killDaemon(client: Client): Promise<string> {
  const daemon = await client.daemon();
  if (!daemon) return 'it was gone already';
  process.kill(daemon.pid, 'SIGKILL');
  return `kill -9 ${daemon.pid}`;
}

async function answer(cli: Cli, client: Client, asked: InboxEntry): Promise<void> {
  const { questions } = await client.call('inbox', {});
  const isSame = questions.some((q) => q.questionId === asked.questionId && q.fingerprint === asked.fingerprint);
  cli.out(renderQuestion(asked, cli.style));
  cli.out(isSame ? '\nThe question is still in the inbox.' : '\nThe question was lost: please report this.');
  const option = await chooseOption(cli, asked.options?.length ?? 1);
  await client.call('send', { id: asked.jobId, questionId: asked.questionId, option: [option] });
}

async function chooseOption(cli: Cli, count: number): Promise<number> {
  if (!cli.isInteractive) {
    await systemClock.sleep(PAUSE_MS);
    cli.out('Nobody is at the terminal: the demo answers 1.');
    return 1;
  }
  const terminal = createInterface({ input: cli.host.stdin, output: cli.host.stdout });
  try {
    const typed = await terminal.question(`Your answer, 1 to ${count} [1]: `, {
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const chosen = Number(typed.trim() || 1);
    return Number.isInteger(chosen) && chosen >= 1 && chosen <= count ? chosen : 1;
  } catch {
    return 1;
  } finally {
    terminal.close();
  }
}

async function summary(
  cli: Cli,
  client: Client,
  show: { stage: Stage; place: Throwaway; roles: Role[] },
): Promise<void> {
  const { stage, place, roles } = show;
  const { jobs } = await client.call('status', {});
  const named = jobs.map((job) => ({ ...job, agent: roles.find(({ id }) => id === job.id)?.name ?? job.agent }));
  const seqs = stage.events.map((event) => event.seq).sort((a, b) => a - b);
  const isGapFree = seqs.every((seq, index) => seq === index + 1);
  stage.tell('what happened');
  cli.out(jobTable(named, cli.style));
  await place.git('add', '--intent-to-add', '.');
  cli.out(`\nIn the repository:\n${await place.git('diff', '--stat')}`);
  cli.out(
    `${seqs.length} events from two daemons, ${isGapFree ? 'none lost, none twice' : 'NOT complete: please report this'}.`,
  );
  cli.out(`
Next, on a repository of your own:
  reef doctor                                   what is installed, what is missing
  reef spawn claude "fix the failing test"      or codex, acp:gemini, acp:opencode
  reef ps  ·  reef inbox  ·  reef send ID --allow  ·  reef output ID --follow
  claude mcp add reef -- reef mcp               let your own agent start others`);
}
