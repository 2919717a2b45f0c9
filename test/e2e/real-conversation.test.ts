import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Scripts } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { appeared, gone, installed, nap, openRig, processesWith, type Rig, refusal, SLOW_MS } from './real.ts';

/** Claude Code and Codex do the same work under Reef: one table of tests for both. */

const LONG_NAP = nap(17);
const KILLED_NAP = nap(29);

const scripts: Scripts = {
  text: [{ thinking: 'A word of thought.', text: 'Hello from the script.', usage: { input: 120, output: 30 } }],
  work: [
    { tools: [{ write: 'notes/list.txt', content: 'one\ntwo\n' }] },
    { tools: [{ edit: 'notes/list.txt', old: 'two', new: 'three' }] },
    { tools: [{ shell: 'cat notes/list.txt; exit 3' }] },
    { if: 'three', text: 'The list has two lines.' },
  ],
  permission: [
    { tools: [{ shell: 'echo "yes" > approved.txt', escalate: 'May I create approved.txt?' }] },
    { if: 'too early|declined|rejected', text: 'I was told not to.' },
    { text: 'The file is there.' },
  ],
  ask: [
    { tools: [{ ask: [{ question: 'Which database?', header: 'Database', options: ['PostgreSQL', 'SQLite'] }] }] },
    { if: 'SQLite', tools: [{ ask: [{ question: 'Which port?', header: 'Port', options: ['5432', '6543'] }] }] },
    {
      if: '5432',
      tools: [
        {
          ask: [
            { question: 'Which name?', header: 'Name', options: ['app', 'main'] },
            { question: 'Which owner?', header: 'Owner', options: ['root', 'nobody'] },
          ],
        },
      ],
    },
    { if: '^(?=[^]*kraken)[^]*nobody', text: 'SQLite, 5432, kraken, nobody.' },
  ],
  long: [
    { tools: [{ shell: `echo begun > begun.txt; ${LONG_NAP}` }] },
    { if: 'Something else', text: 'Something else, then.', usage: { input: 7, output: 5 } },
  ],
  talk: [
    { text: 'The first answer.', usage: { input: 100, output: 10 } },
    { if: 'second', text: 'The second answer.', usage: { input: 200, output: 20 } },
  ],
  busy: [
    { tools: [{ shell: 'echo begun > begun.txt; until test -f go.txt; do sleep 0.1; done' }] },
    { text: 'Both are done.' },
  ],
  killed: [
    { text: 'Now I sleep.', tools: [{ shell: `echo begun > begun.txt; ${KILLED_NAP}` }] },
    { text: 'Never said.' },
  ],
};

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

const NOT_ASKED = { yes: true, unsafe: true };

for (const agent of ['claude', 'codex'] as const) {
  const isClaude = agent === 'claude';

  verifies('A-02', 'A-03', 'A-11', 'A-19', 'A-31', 'A-60')
    .needs(...installed(agent))
    .test(
      `${agent} completes a task in words, and its usage is recorded`,
      async () => {
        const job = await rig.spawn({ agent, script: 'text', task: 'Say hello' });
        expect(await job.ended()).toMatchObject({
          status: 'completed',
          launch: 1,
          turns: 1,
          unknownMessages: 0,
          sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
          usage: { input: 120, output: 30, cacheRead: 0, cacheWrite: 0, partial: false },
        });
        const events = await job.events();
        expect(events.filter(({ type }) => type === 'started')).toHaveLength(1);
        expect(await job.said('thinking')).toBe('A word of thought.');
        expect(await job.said('text')).toBe('Hello from the script.');
        expect(await job.payloads('completed')).toMatchObject([
          { scope: 'turn', outcome: 'done', result: 'Hello from the script.' },
          { scope: 'process', outcome: 'done', result: 'Hello from the script.' },
        ]);
        expect(events.at(-1)).toMatchObject({ type: 'completed', payload: { scope: 'process' } });
        expect(JSON.stringify(job.requests()[0]?.body)).toContain('Say hello');
      },
      SLOW_MS,
    );

  verifies('A-05', 'A-06', 'A-49', ...(isClaude ? (['A-92'] as const) : (['A-103'] as const)))
    .needs(...installed(agent))
    .test(
      `${agent} writes and edits a file and runs a command, each told with its result`,
      async () => {
        const job = await rig.spawn({ agent, script: 'work', ...NOT_ASKED });
        expect(await job.ended()).toMatchObject({
          status: 'completed',
          turns: 4,
          lastOutput: 'The list has two lines.',
        });
        expect(job.file('notes/list.txt')).toBe('one\nthree\n');
        const calls = await job.payloads('tool_call');
        const results = await job.progress('tool_result');
        expect(calls.map(({ tool }) => tool)).toEqual(['edit', 'edit', 'shell']);
        expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
        expect(results[2]).toMatchObject({ exitCode: 3, text: expect.stringContaining('one\nthree') });
        expect(await job.payloads('file_edit')).toMatchObject([
          { id: calls[0]?.id, path: 'notes/list.txt', kind: 'add', diff: expect.stringContaining('+two') },
          { id: calls[1]?.id, path: 'notes/list.txt', kind: 'update', diff: expect.stringContaining('-two\n+three') },
        ]);
        const answered = (await job.progress('auto_answered')).map(({ grant }) => grant);
        expect(answered).toEqual(isClaude ? ['yes', 'yes', 'yes'] : []);
      },
      SLOW_MS,
    );

  verifies('A-13', 'A-14', 'A-40', 'A-41', 'A-44', 'X-57', isClaude ? 'A-90' : 'A-100')
    .needs(...installed(agent))
    .test(
      `${agent} asks for a permission, shows the whole command, and runs it once allowed`,
      async () => {
        const job = await rig.spawn({ agent, script: 'permission', sandbox: false });
        const question = await job.asked();
        expect(question).toMatchObject({
          kind: 'permission',
          question: expect.stringContaining('echo "yes" > approved.txt'),
          input: { command: expect.stringContaining('echo "yes" > approved.txt') },
          path: [job.id],
        });
        const { questions } = await rig.world.client.call('inbox', {});
        expect(questions.filter(({ jobId }) => jobId === job.id)).toMatchObject([{ ...question, agent, cwd: job.cwd }]);
        expect(job.file('approved.txt')).toBeUndefined();
        const { questionId, fingerprint } = question;
        const sent = await job.send({ decision: 'allow_once', questionId, fingerprint });
        expect(sent).toMatchObject({ delivered: true });
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'The file is there.' });
        expect(job.file('approved.txt')).toBe('yes\n');
        expect(await job.payloads('input_sent')).toEqual([
          { messageId: sent.messageId, questionId, decision: 'allow_once', by: expect.stringMatching(/^uid:/) },
        ]);
      },
      SLOW_MS,
    );

  verifies('A-47', 'X-55', 'X-56', isClaude ? 'A-90' : 'A-100')
    .needs(...installed(agent))
    .test(
      `${agent} is refused a permission: nothing happens on disk, and the model hears of it`,
      async () => {
        const job = await rig.spawn({ agent, script: 'permission', sandbox: false });
        const { questionId, fingerprint } = await job.asked();
        expect(await refusal(job.send({ text: 'yes' }))).toBe('answer_needs_decision');
        const changed = job.send({ decision: 'allow_once', questionId, fingerprint: fingerprint.replace(/./, 'x') });
        expect(await refusal(changed)).toBe('question_changed');
        await job.decide('deny', 'It is too early for that.');
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'I was told not to.' });
        expect(job.file('approved.txt')).toBeUndefined();
        expect(await job.progress('tool_result')).toMatchObject([{ ok: false }]);
        const again = job.send({ decision: 'allow_once', questionId, fingerprint });
        expect(await refusal(again)).toBe('job_ended');
      },
      SLOW_MS,
    );

  verifies('A-42', 'A-47', isClaude ? 'A-90' : 'A-101')
    .needs(...installed(agent))
    .test(
      `${agent} has its questions answered by number, by label and in free words`,
      async () => {
        const job = await rig.spawn({ agent, script: 'ask' });
        expect(await job.asked()).toMatchObject({
          kind: 'choice',
          question: 'Which database?',
          header: 'Database',
          options: ['PostgreSQL', 'SQLite'],
          freeText: true,
        });
        expect(await refusal(job.send({ option: [3] }))).toBe('bad_option');
        await job.send({ option: [2] });
        await job.until(({ questions }) => questions[0]?.question === 'Which port?');
        await job.send({ option: ['5432'] });
        const { questions } = await job.until(({ questions }) => questions.length === 2);
        expect(questions.map(({ group }) => group)).toEqual([
          { index: 0, of: 2 },
          { index: 1, of: 2 },
        ]);
        expect(await refusal(job.send({ text: 'kraken' }))).toBe('which_question');
        const [name, owner] = questions.map(({ questionId }) => questionId);
        await job.send({ questionId: owner, option: ['nobody'] });
        await job.send({ questionId: name, text: 'kraken' });
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'SQLite, 5432, kraken, nobody.' });
        const sent = await job.payloads('input_sent');
        expect(sent.map(({ option, text }) => [option, text])).toEqual([
          [['SQLite'], undefined],
          [['5432'], undefined],
          [[], 'kraken'],
          [['nobody'], undefined],
        ]);
      },
      SLOW_MS,
    );

  verifies('A-16', 'A-18', 'A-65', isClaude ? 'A-94' : 'A-102')
    .needs(...installed(agent))
    .test(
      `${agent} is interrupted: its command ends, and the same process takes another message`,
      async () => {
        const job = await rig.spawn({ agent, script: 'long', ...NOT_ASKED });
        await eventually(
          () => job.payloads('tool_call'),
          (calls) => calls.length > 0,
        );
        await job.begun();
        await appeared(LONG_NAP);
        const { pid } = await job.view();
        expect(await job.interrupt()).toMatchObject({ status: 'paused' });
        expect(await job.interrupt()).toMatchObject({ status: 'paused' });
        expect(await job.view()).toMatchObject({ status: 'paused', reason: 'interrupted', pid });
        await gone(LONG_NAP);
        expect(await job.progress('tool_result')).toMatchObject([{ ok: false }]);
        expect(await job.send({ text: 'Something else' })).toMatchObject({ status: 'running', delivered: true });
        expect(await job.ended()).toMatchObject({
          status: 'completed',
          launch: 1,
          lastOutput: 'Something else, then.',
        });
        const outcomes = (await job.payloads('completed')).map(({ scope, outcome }) => `${scope} ${outcome}`);
        expect(outcomes).toEqual(['turn interrupted', 'turn done', 'process done']);
      },
      SLOW_MS,
    );

  verifies('A-45', 'A-48', 'A-150', ...(isClaude ? [] : (['A-102'] as const)))
    .needs(...installed(agent))
    .test(
      `${agent} takes a message while it works, and the same key sends it once`,
      async () => {
        const job = await rig.spawn({ agent, script: 'busy', ...NOT_ASKED });
        await job.begun();
        const [sent, again] = await Promise.all([0, 1].map(() => job.send({ text: 'Also this', key: 'also' })));
        // Claude names a message when it is queued, Codex when the model gets to see it.
        expect(sent).toMatchObject({ status: 'running', delivered: isClaude });
        expect(again).toEqual(sent);
        writeFileSync(join(job.cwd, 'go.txt'), '');
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'Both are done.' });
        const inputs = (await job.payloads('input_sent')).filter(({ questionId }) => questionId === undefined);
        expect(inputs).toMatchObject([{ messageId: sent?.messageId, text: 'Also this' }]);
        const bodies = job.requests().map(({ body }) => JSON.stringify(body));
        expect(bodies.at(-1)?.split('Also this')).toHaveLength(2);
      },
      SLOW_MS,
    );

  verifies('A-17', 'A-18', 'A-23', 'A-77')
    .needs(...installed(agent))
    .test(
      `${agent} is kept for a second message to the same process, and once killed it stays so`,
      async () => {
        const job = await rig.spawn({ agent, script: 'talk', task: 'The first question', keep: true });
        const { pid, sessionId } = await job.paused();
        expect(await job.view()).toMatchObject({ status: 'paused', reason: 'idle', usage: { input: 100, output: 10 } });
        await job.send({ text: 'The second question' });
        const second = await job.until(({ turns, status }) => turns === 2 && status === 'paused');
        expect(second).toMatchObject({ pid, sessionId, usage: { input: 300, output: 30 } });
        await job.kill();
        expect(await refusal(job.resume('more'))).toBe('not_resumable');
      },
      SLOW_MS,
    );

  verifies('A-20', 'A-23', 'A-66', 'A-77')
    .needs(...installed(agent))
    .test(
      `${agent} is resumed after its end in the same session, and its usage goes on from there`,
      async () => {
        const job = await rig.spawn({ agent, script: 'talk', task: 'The first question' });
        const { sessionId } = await job.ended();
        expect(await job.resume('The second question')).toMatchObject({ status: 'queued' });
        await job.until(({ launch, activity }) => launch === 2 && activity === 'ended');
        expect(await job.view()).toMatchObject({
          status: 'completed',
          sessionId,
          turns: 2,
          usage: { input: 300, output: 30 },
          lastOutput: 'The second answer.',
        });
        const last = JSON.stringify(job.requests().at(-1)?.body);
        for (const said of ['The first question', 'The first answer.', 'The second question']) {
          expect(last).toContain(said);
        }
        expect(await job.payloads('started')).toMatchObject([
          { launch: 1, resumed: false },
          { launch: 2, resumed: true, sessionId },
        ]);
      },
      SLOW_MS,
    );

  verifies('A-21', 'A-61', 'A-148', 'Q-20', 'Q-24')
    .needs(...installed(agent))
    .test(
      `${agent} is killed in the middle of a command and leaves no process`,
      async () => {
        const job = await rig.spawn({ agent, script: 'killed', ...NOT_ASKED });
        await job.begun();
        await appeared(KILLED_NAP);
        const killed = await job.kill();
        expect(processesWith(KILLED_NAP, job.id)).toEqual([]);
        expect(killed).toMatchObject({ status: 'killed', finalOutput: 'Now I sleep.' });
        expect(await job.kill()).toEqual(killed);
        expect((await job.events()).at(-1)).toMatchObject({ payload: { scope: 'process', outcome: 'killed' } });
      },
      SLOW_MS,
    );
}
