import { afterAll, beforeAll, expect } from 'vitest';
import type { Decision } from '../../src/protocol/jobs.ts';
import type { Scripts, Turn } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { installed, openRig, type RealJob, type Rig, SLOW_MS } from './real.ts';

/** How often a person is asked in a session of ten edits and ten commands, of which two are different. */

const edit = (n: number): Turn => ({ tools: [{ write: `file-${n}.txt`, content: `${n}\n` }] });
const command = (n: number): Turn => ({
  tools: [{ shell: `echo ${n % 2} >> steps.txt`, escalate: 'May I write it?' }],
});
const ten = Array.from({ length: 10 }, (_, n) => n + 1);

const scripts: Scripts = { session: [...ten.map(edit), ...ten.map(command), { text: 'All done.' }] };

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

/** Answers all it is asked, and returns the questions. */
async function answerAll(job: RealJob, decision: Decision): Promise<string[]> {
  const asked: string[] = [];
  for (;;) {
    const { questions, activity } = await job.until((now) => now.questions.length > 0 || now.activity === 'ended');
    if (activity === 'ended') return asked;
    for (const { questionId, fingerprint, grant, options } of questions) {
      asked.push(grant?.covers ?? '');
      expect(options).toEqual(['allow_once', 'allow_session', 'allow_always', 'deny']);
      await job.send({ decision, questionId, fingerprint });
    }
  }
}

verifies('J-20', 'A-176')
  .needs(...installed('claude'))
  .test(
    'claude asks about ten edits once and about each command line once, where a person allows them for the session',
    async () => {
      const job = await rig.spawn({ agent: 'claude', script: 'session', sandbox: false });
      const line = `this command line in ${job.cwd}`;
      expect(await answerAll(job, 'allow_session')).toEqual([`all edits of files in ${job.cwd}`, line, line]);
      expect(await job.view()).toMatchObject({ status: 'completed', lastOutput: 'All done.' });
      expect([job.file('file-10.txt'), job.file('steps.txt')?.length]).toEqual(['10\n', 20]);
    },
    SLOW_MS,
  );

verifies('J-20')
  .needs(...installed('codex'))
  .test(
    'codex asks about each command line that leaves its sandbox once',
    async () => {
      const job = await rig.spawn({ agent: 'codex', script: 'session', sandbox: false });
      expect(await answerAll(job, 'allow_session')).toEqual(Array(2).fill(`this command line in ${job.cwd}`));
      expect([job.file('file-10.txt'), job.file('steps.txt')?.length]).toEqual(['10\n', 20]);
    },
    SLOW_MS,
  );
