import { afterAll, beforeAll, expect } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
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

const session = [...ten.map(edit), ...ten.map(command)];
const scripts: Scripts = {
  session: [...session, { text: 'All done.' }],
  guarded: [...session, { tools: [{ write: '.vscode/tasks.json', content: '{}' }] }, { text: 'All done.' }],
};

let rig: Rig;
/** Not in /tmp, of which a sandbox has one of its own. */
let walled: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
  walled = await openRig(scripts, '/var/tmp');
});
afterAll(async () => {
  await rig.close();
  await walled.close();
});

const { sandboxesNetwork } = await probeCapabilities();

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

/** The only question: what would act outside of the sandbox later. Codex tries without asking, and the sandbox refuses it. */
const STILL_ASKED = { claude: 1, codex: 0 };

for (const agent of ['claude', 'codex'] as const)
  verifies('J-20')
    .needs(...installed(agent))
    .needs(sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
    .test(
      `${agent} in the default sandbox asks about none of ten edits and ten commands, and of protected files as before`,
      async () => {
        const job = await walled.spawn({ agent, script: 'guarded' });
        expect(await answerAll(job, 'deny')).toHaveLength(STILL_ASKED[agent]);
        expect(await job.view()).toMatchObject({ sandbox: 'bubblewrap' });
        expect([job.file('file-10.txt'), job.file('steps.txt')?.length]).toEqual(['10\n', 20]);
        expect(job.file('.vscode/tasks.json')).toBe(undefined);
      },
      SLOW_MS,
    );
