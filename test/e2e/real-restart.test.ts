import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Effect, LaunchRequest } from '../../src/agents/adapter.ts';
import { AdapterRegistry } from '../../src/agents/registry.ts';
import type { AgentEvent, EventBody } from '../../src/protocol/events.ts';
import type { Scripts, Turn } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { installed, openRig, processesWith, type RealJob, type Rig, SLOW_MS } from './real.ts';

/** The daemon is killed with SIGKILL while real agents work, ask and end; the next one goes on where it was. */

const GATE = 'echo begun > begun.txt; until test -f go.txt; do sleep 0.1; done';
const QUESTION = { question: 'Which database?', header: 'Database', options: ['PostgreSQL', 'SQLite'] };
const STEPS = [1, 2, 3, 4, 5, 6];

const step = (n: number): Turn => ({
  text: `Step ${n} is a sentence of some length, so that it comes in pieces.`,
  tools: [{ shell: `echo ${n} >> ledger.txt`, escalate: `May I do step ${n}?` }],
  delayMs: 150,
  chunkMs: 15,
});

const scripts: Scripts = {
  permission: [
    { tools: [{ shell: 'echo "yes" > approved.txt', escalate: 'May I create approved.txt?' }] },
    { tools: [{ tool: 'mcp__reef__status', input: {} }] },
    { text: 'The file is there.' },
  ],
  gated: [{ tools: [{ shell: GATE }] }, { tools: [{ ask: [QUESTION] }] }, { if: 'SQLite', text: 'SQLite it is.' }],
  steps: [...STEPS.map(step), { tools: [{ ask: [QUESTION] }] }, { if: 'SQLite', text: 'SQLite it is.' }],
  talk: [{ text: 'The first answer.' }, { text: 'The second answer.' }, { text: 'A repeated answer.' }],
  alone: [{ tools: [{ shell: GATE }] }, { text: 'Done all alone.' }],
};

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

const NOT_ASKED = { yes: true, unsafe: true, sandbox: false };

async function lastSeq(): Promise<number> {
  return (await rig.world.client.daemon())?.lastSeq ?? 0;
}

/** Every event since then, of all jobs: their numbers have no gap. */
async function expectNoGap(since: number, ...jobs: RealJob[]) {
  const logs = await Promise.all(jobs.map((job) => job.events()));
  const seqs = logs
    .flat()
    .map(({ seq }) => seq)
    .sort((a, b) => a - b);
  expect(seqs).toEqual(seqs.map((_, at) => since + 1 + at));
}

function agentProcess(job: RealJob, program: string) {
  const [found] = processesWith(`REEF_JOB=${job.id}`).filter(({ args }) => args.startsWith(program));
  return found?.pid ?? 0;
}

const programOf = async (job: RealJob) => (await job.payloads('started'))[0]?.command[0] ?? '';

const rawOutput = (job: RealJob) => readFileSync(join(rig.world.home.dir, 'jobs', job.id, '1', 'out'), 'utf8');

/** What the raw output says to the adapter alone, read once from its first byte to its last. */
function replay(agent: 'claude' | 'codex', raw: string): Effect[] {
  const { adapter } = new AdapterRegistry(() => ({})).get(agent);
  const request: LaunchRequest = { jobId: '', cwd: '/', freshSessionId: '', prompt: '', clientVersion: '' };
  let state = adapter.initial(request, { command: [agent], agentSandbox: true, settings: {} });
  return raw.split('\n').flatMap((line) => {
    if (line === '') return [];
    const read = adapter.parse(state, { stream: 'out', json: JSON.parse(line), skeleton: false });
    state = read.state;
    return read.effects;
  });
}

type Told = { what: string; text?: string };

/** The parts that an agent alone decides, and that may neither be lost nor doubled. */
function toldBy(event: EventBody): Told[] {
  const { type, payload } = event;
  if (type === 'tool_call' || type === 'file_edit') return [{ what: `${type} ${payload.id}` }];
  if (type !== 'progress') return [];
  if (payload.kind === 'tool_result') return [{ what: `result ${payload.id} ${payload.ok}`, text: payload.text }];
  return [];
}

function meant(effect: Effect): Told[] {
  if (effect.do === 'emit') return toldBy(effect.event);
  if (effect.do === 'ask')
    return effect.questions.map(({ question }) => ({ what: `ask ${effect.requestId}`, text: question }));
  if (effect.do === 'text') return [{ what: effect.kind, text: effect.text }];
  return effect.do === 'answer' ? [{ what: 'answer' }] : [];
}

function told(event: AgentEvent): Told[] {
  if (event.type === 'needs_input') return [{ what: `ask ${event.payload.requestId}`, text: event.payload.question }];
  if (event.type === 'progress' && event.payload.kind === 'text') return [{ what: 'text', text: event.payload.text }];
  if (event.type === 'progress' && event.payload.kind === 'turn') return [{ what: 'answer' }];
  return toldBy(event);
}

/** Text comes in pieces of any size. */
function joined(all: Told[]): Told[] {
  const list: Told[] = [];
  for (const each of all) {
    const last = list.at(-1);
    if (each.what === 'text' && last?.what === 'text') last.text = `${last.text}${each.text}`;
    else list.push({ ...each });
  }
  return list;
}

for (const agent of ['claude', 'codex'] as const) {
  verifies('A-45', 'Q-01', 'Q-21', 'Q-35')
    .needs(...installed(agent))
    .test(
      `${agent} waits with its question while the daemon is killed, and has its answer from the next one`,
      async () => {
        const since = await lastSeq();
        const job = await rig.spawn({ agent, script: 'permission', sandbox: false });
        const question = await job.asked();
        const before = await job.events();
        const { pid } = await job.view();
        const daemon = await rig.world.killDaemon();
        expect(await job.view()).toMatchObject({ status: 'awaiting_input', questions: [question], pid, launch: 1 });
        expect((await rig.world.client.daemon())?.pid).not.toBe(daemon);
        expect(await job.events()).toEqual(before);
        const { questions } = await rig.world.client.call('inbox', {});
        expect(questions).toMatchObject([{ ...question, jobId: job.id }]);
        expect(job.file('approved.txt')).toBeUndefined();
        await job.decide('allow_once');
        expect(await job.ended()).toMatchObject({ status: 'completed', launch: 1, lastOutput: 'The file is there.' });
        expect(job.file('approved.txt')).toBe('yes\n');
        const answers = await job.payloads('input_sent');
        expect(answers.filter(({ by }) => by !== 'reef:own_tool')).toHaveLength(1);
        // Its door is the new daemon's.
        expect((await job.progress('tool_result')).at(-1)).toMatchObject({
          ok: true,
          text: expect.stringContaining(job.id),
        });
        expect((await job.events()).slice(0, before.length)).toEqual(before);
        await expectNoGap(since, job);
      },
      SLOW_MS,
    );

  verifies('A-40', 'Q-21', 'Q-38')
    .needs(...installed(agent))
    .test(
      `${agent} asks while no daemon runs: the question is in the inbox of the next, and its answer arrives`,
      async () => {
        const job = await rig.spawn({ agent, script: 'gated', ...NOT_ASKED });
        await job.begun();
        await rig.world.killDaemon();
        writeFileSync(join(job.cwd, 'go.txt'), '');
        const isAsked = /can_use_tool","tool_name":"AskUserQuestion|item\/tool\/requestUserInput/;
        await eventually(
          () => rawOutput(job),
          (raw) => isAsked.test(raw),
        );
        expect(await rig.world.client.daemon()).toBeUndefined();
        const { jobs } = await rig.world.client.call('wait', { ids: [job.id], until: ['needs_input'] });
        expect(jobs).toMatchObject([{ status: 'awaiting_input', questions: [{ options: QUESTION.options }] }]);
        await job.send({ option: ['SQLite'] });
        expect(await job.ended()).toMatchObject({ status: 'completed', launch: 1, lastOutput: 'SQLite it is.' });
      },
      SLOW_MS,
    );

  verifies('A-51', 'Q-01', 'Q-02', 'Q-21', 'Q-35')
    .needs(...installed(agent))
    .test(
      `${agent} works on while daemon after daemon is killed: nothing is lost, doubled or done twice`,
      async () => {
        const since = await lastSeq();
        const job = await rig.spawn({ agent, script: 'steps', ...NOT_ASKED });
        let kills = 0;
        for (const waitMs of [0, 40, 320, 10, 160, 80, 240, 120]) {
          if ((await job.view()).status === 'awaiting_input' && kills >= 3) break;
          await new Promise((resolve) => setTimeout(resolve, waitMs));
          await rig.world.killDaemon();
          kills += 1;
        }
        await job.until(({ questions }) => questions[0]?.question === QUESTION.question);
        await job.send({ option: [2] });
        expect(await job.ended()).toMatchObject({ status: 'completed', launch: 1, turns: STEPS.length + 2 });
        expect(kills).toBeGreaterThanOrEqual(3);

        expect(job.file('ledger.txt')).toBe(STEPS.map((n) => `${n}\n`).join(''));
        const events = await job.events();
        const expected = joined(replay(agent, rawOutput(job)).flatMap(meant));
        expect(joined(events.flatMap(told))).toEqual(expected);
        expect(expected.filter(({ what }) => what.startsWith('ask'))).toHaveLength(STEPS.length + 1);
        const answered = (await job.payloads('input_sent')).map(({ questionId }) => questionId);
        expect(answered).toEqual((await job.payloads('needs_input')).map(({ questionId }) => questionId));
        await expectNoGap(since, job);
      },
      SLOW_MS,
    );

  verifies('A-45', 'Q-35', 'Q-36')
    .needs(...installed(agent))
    .test(
      `a message that ${agent} had not taken when the daemon was killed is sent again, and logged once`,
      async () => {
        const job = await rig.spawn({ agent, script: 'talk', keep: true });
        await job.paused();
        const pid = agentProcess(job, await programOf(job));
        process.kill(pid, 'SIGSTOP');
        const sent = await job.send({ text: 'The second question', key: 'once' });
        expect(sent).toMatchObject({ delivered: false });
        await rig.world.killDaemon();
        expect(await job.view()).toMatchObject({ status: 'paused' });
        process.kill(pid, 'SIGCONT');
        await eventually(
          () => job.payloads('input_sent'),
          (inputs) => inputs.length > 0,
        );
        const again = await job.send({ text: 'The second question', key: 'once' });
        expect(again).toMatchObject({ delivered: true, messageId: sent.messageId });
        await job.until(({ turns, status }) => turns >= 2 && status === 'paused');
        const isExact = agent === 'claude';
        expect(await job.payloads('input_sent')).toEqual([
          {
            messageId: sent.messageId,
            text: 'The second question',
            by: expect.stringMatching(/^uid:/),
            ...(isExact ? {} : { maybe_repeated: true }),
          },
        ]);
        const last = JSON.stringify(job.requests().at(-1)?.body);
        if (isExact) expect(last.split('The second question')).toHaveLength(2);
        await job.kill();
      },
      SLOW_MS,
    );

  verifies('A-46')
    .needs(...installed(agent))
    .test(
      `a long message that may have reached ${agent} in half ends it and is kept; the next process gets it whole`,
      async () => {
        const job = await rig.spawn({ agent, script: 'talk', keep: true });
        await job.paused();
        const pid = agentProcess(job, await programOf(job));
        process.kill(pid, 'SIGSTOP');
        const long = `The long question ${'with all its details '.repeat(15_000)}, to its last word`;
        const sent = await job.send({ text: long, key: 'long' });
        expect(sent).toMatchObject({ delivered: false });
        await rig.world.killDaemon();
        await job.until(({ status, reason }) => status === 'paused' && reason === 'outage');
        await eventually(
          () => existsSync(`/proc/${pid}`),
          (isThere) => !isThere,
        );
        await rig.world.client.call('resume', { id: job.id });
        await job.until(({ turns, status }) => turns >= 2 && status === 'paused');
        const inputs = await job.payloads('input_sent');
        expect(inputs.map(({ messageId }) => messageId)).toEqual([sent.messageId]);
        expect(JSON.stringify(job.requests().at(-1)?.body)).toContain(', to its last word');
        await job.kill();
      },
      SLOW_MS,
    );
}

verifies('Q-21', 'Q-25')
  .needs(...installed('codex-exec'))
  .test(
    'codex-exec ends while no daemon runs: its output, exit code and end time are there at the next start',
    async () => {
      const job = await rig.spawn({ agent: 'codex-exec', script: 'alone' });
      await job.begun();
      await rig.world.killDaemon();
      writeFileSync(join(job.cwd, 'go.txt'), '');
      await eventually(
        () => processesWith(job.id),
        (found) => found.length === 0,
      );
      const startedAt = new Date().toISOString();
      const end = await job.ended();
      expect(end).toMatchObject({ status: 'completed', exitCode: 0, lastOutput: 'Done all alone.' });
      expect((end.endedAt ?? '') <= startedAt).toBe(true);
    },
    SLOW_MS,
  );
