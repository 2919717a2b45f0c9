import { afterAll, beforeAll, expect } from 'vitest';
import type { Scripts } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import {
  appeared,
  gone,
  installed,
  nap,
  openRig,
  processesWith,
  type RealJob,
  type Rig,
  refusal,
  SLOW_MS,
} from './real.ts';

/** Gemini CLI and opencode over ACP. They start slowly, so each tells one long story. */

const FIRST_NAP = nap(41);
const SECOND_NAP = nap(43);

const scripts: Scripts = {
  story: [
    { thinking: 'A word of thought.', text: 'Hello from the script.', usage: { input: 100, output: 10 } },
    { if: 'Write', tools: [{ write: 'list.txt', content: 'one\n' }], usage: { input: 200, output: 20 } },
    { text: 'Written.', usage: { input: 300, output: 30 } },
    { if: 'Run', tools: [{ shell: 'echo "yes" > approved.txt' }] },
    // opencode ends its turn at a refusal, and the model is not asked again.
    { if: '^(?![^]*Sleep)', text: 'I was told not to.' },
    { if: 'Sleep', tools: [{ shell: `echo begun > begun.txt; ${FIRST_NAP}` }] },
    { if: 'Wake up', text: 'Awake.' },
    { if: 'Once more', tools: [{ shell: `echo again; ${SECOND_NAP}` }] },
    { text: 'Never said.' },
  ],
  talk: [{ text: 'The first answer.' }, { if: 'second', text: 'The second answer.' }],
};

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

const idle = (job: RealJob) => job.until(({ reason, activity }) => reason === 'idle' || activity === 'ended');

for (const agent of ['acp:gemini', 'acp:opencode'] as const) {
  verifies('A-110', 'A-112', 'A-113', 'A-16', 'A-40', 'A-41', 'Q-24')
    .needs(...installed(agent))
    .test(
      `${agent} talks, writes when allowed, does not run when denied, is interrupted, and is killed`,
      async () => {
        const job = await rig.spawn({ agent, script: 'story', keep: true });
        expect(await idle(job)).toMatchObject({
          status: 'paused',
          usage: { input: 100, output: 10 },
          unknownMessages: 0,
        });
        expect(await job.said('thinking')).toContain('A word of ');
        expect(await job.payloads('completed')).toMatchObject([{ outcome: 'done', result: 'Hello from the script.' }]);
        const { pid } = await job.view();

        await job.send({ text: 'Write it' });
        expect(await job.asked()).toMatchObject({
          kind: 'permission',
          requestId: '0',
          diff: expect.stringContaining('+one'),
        });
        expect(job.file('list.txt')).toBeUndefined();
        await job.decide('allow_once');
        await idle(job);
        expect(job.file('list.txt')).toBe('one\n');
        expect(await job.payloads('file_edit')).toMatchObject([{ path: 'list.txt', kind: 'add' }]);

        await job.send({ text: 'Run it' });
        const asked = await job.decide('deny');
        expect(asked).toMatchObject({ kind: 'permission', requestId: expect.stringMatching(/^\d$/) });
        expect(JSON.stringify(asked)).toContain('echo \\"yes\\" > approved.txt');
        expect(await idle(job)).toMatchObject({ status: 'paused', questions: [] });
        expect(job.file('approved.txt')).toBeUndefined();

        await job.send({ text: 'Sleep now' });
        await job.decide('allow_once');
        await job.begun();
        await appeared(FIRST_NAP);
        expect(await job.interrupt()).toMatchObject({ status: 'paused' });
        expect(await job.view()).toMatchObject({ reason: 'interrupted', pid });
        await gone(FIRST_NAP);

        await job.send({ text: 'Wake up' });
        expect(await idle(job)).toMatchObject({ pid, launch: 1, lastOutput: 'Awake.' });

        await job.send({ text: 'Once more' });
        await job.decide('allow_once');
        await appeared(SECOND_NAP);
        expect(await job.kill()).toMatchObject({ status: 'killed' });
        expect(processesWith(SECOND_NAP, job.id)).toEqual([]);
        const calls = await job.payloads('tool_call');
        const results = await job.progress('tool_result');
        expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
        expect(results).toMatchObject([{ ok: true }, { ok: false }, {}, { ok: false, closedBy: 'exit' }]);
      },
      SLOW_MS,
    );
}

verifies('A-23', 'A-66', 'A-113')
  .needs(...installed('acp:opencode'))
  .test(
    'acp:opencode is resumed in its own session, without hearing old news again',
    async () => {
      const job = await rig.spawn({ agent: 'acp:opencode', script: 'talk', task: 'The first question' });
      const { sessionId } = await job.ended();
      await job.resume('The second question');
      await job.until(({ launch, activity }) => launch === 2 && activity === 'ended');
      expect(await job.view()).toMatchObject({ status: 'completed', sessionId, lastOutput: 'The second answer.' });
      expect(await job.said('text')).toBe('The first answer.The second answer.');
      const heard = JSON.stringify(job.requests().at(-1)?.body);
      for (const said of ['The first question', 'The first answer.', 'The second question'])
        expect(heard).toContain(said);
    },
    SLOW_MS,
  );

verifies('A-113')
  .needs(...installed('acp:gemini'))
  .test(
    'acp:gemini cannot be resumed, and says so before anything is started',
    async () => {
      const job = await rig.spawn({ agent: 'acp:gemini', script: 'talk' });
      await job.ended();
      expect(await refusal(job.resume('more'))).toBe('resume_unsupported');
      expect(await job.view()).toMatchObject({ status: 'completed', launch: 1 });
    },
    SLOW_MS,
  );
