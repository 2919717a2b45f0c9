import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Scripts } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { appeared, installed, nap, openRig, processesWith, type Rig, refusal, SLOW_MS } from './real.ts';

/** The fallback for Codex: one prompt, one process, nothing asked and nothing heard while it runs. */

const agent = 'codex-exec';

const LONG_NAP = nap(37);
const SPENT_NAP = nap(39);

const scripts: Scripts = {
  work: [
    { tools: [{ write: 'list.txt', content: 'one\n' }], usage: { input: 100, output: 10 } },
    { text: 'Written.', usage: { input: 200, output: 20 } },
    { if: 'the second', tools: [{ edit: 'list.txt', old: 'one', new: 'two' }], usage: { input: 300, output: 30 } },
    { text: 'Edited.', usage: { input: 400, output: 40 } },
  ],
  busy: [
    { tools: [{ shell: 'echo begun > begun.txt; until test -f go.txt; do sleep 0.1; done' }] },
    { text: 'The command is done.' },
  ],
  spent: [
    { tools: [{ write: 'list.txt', content: 'one\n' }] },
    { tools: [{ shell: SPENT_NAP }] },
    { text: 'Never said.' },
  ],
  long: [{ tools: [{ shell: `echo begun > begun.txt; ${LONG_NAP}` }] }, { text: 'Never said.' }],
};

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

verifies('A-105', 'A-85', 'A-23', 'A-66', 'A-77')
  .needs(...installed(agent))
  .test(
    'codex-exec edits a file, and continues its thread when it is resumed',
    async () => {
      const job = await rig.spawn({ agent, script: 'work', task: 'This is the first' });
      const first = await job.ended();
      expect(first).toMatchObject({ status: 'completed', exitCode: 0, usage: { input: 300, output: 30 } });
      expect(await job.payloads('file_edit')).toMatchObject([{ path: 'list.txt', kind: 'add' }]);
      await job.resume('This is the second');
      await job.until(({ launch, activity }) => launch === 2 && activity === 'ended');
      expect(await job.view()).toMatchObject({
        status: 'completed',
        sessionId: first.sessionId,
        lastOutput: 'Edited.',
        // Codex tells the total of the thread: each token counts once all the same.
        usage: { input: 1000, output: 100 },
      });
      expect(job.file('list.txt')).toBe('two\n');
      const heard = JSON.stringify(job.requests().at(-1)?.body);
      for (const said of ['This is the first', 'Written.', 'This is the second']) expect(heard).toContain(said);
      const commands = (await job.payloads('started')).map(({ command }) => command.join(' '));
      expect(commands.filter((command) => command.includes('This is'))).toEqual([]);
    },
    SLOW_MS,
  );

verifies('A-44', 'A-48', 'A-105')
  .needs(...installed(agent))
  .test(
    'codex-exec takes no message and no interrupt while it runs, and says so at once',
    async () => {
      const job = await rig.spawn({ agent, script: 'busy' });
      await job.begun();
      expect(await refusal(job.send({ text: 'Also this' }))).toBe('send_unsupported');
      expect(await refusal(job.interrupt())).toBe('send_unsupported');
      writeFileSync(join(job.cwd, 'go.txt'), '');
      expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'The command is done.' });
    },
    SLOW_MS,
  );

verifies('A-76')
  .needs(...installed(agent))
  .test(
    'codex-exec at the end of its budget, which nobody can be asked about, is ended with its work kept',
    async () => {
      const job = await rig.spawn({ agent, script: 'spent', budget: { turns: 2 } });
      expect(await job.ended()).toMatchObject({ status: 'error', reason: 'budget_exhausted', turns: 2 });
      expect((await job.events()).at(-1)).toMatchObject({ payload: { code: 'budget_exhausted', fatal: true } });
      expect(job.file('list.txt')).toBe('one\n');
      expect(processesWith(SPENT_NAP, job.id)).toEqual([]);
    },
    SLOW_MS,
  );

verifies('A-21', 'Q-20', 'Q-24')
  .needs(...installed(agent))
  .test(
    'codex-exec is killed in the middle of a command and leaves no process',
    async () => {
      const job = await rig.spawn({ agent, script: 'long' });
      await job.begun();
      await appeared(LONG_NAP);
      expect(await job.kill()).toMatchObject({ status: 'killed' });
      expect(processesWith(LONG_NAP, job.id)).toEqual([]);
    },
    SLOW_MS,
  );
