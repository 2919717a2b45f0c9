import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Scripts, Turn } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { installed, openRig, type Rig, SLOW_MS } from './real.ts';

/** What a person allows for longer, what a budget allows, and what is too long for a line. */

const MIB = 1024 * 1024;
const big = 'All work and no play. '.repeat(MIB / 10);

const command = (n: number): Turn => ({ tools: [{ shell: `echo ${n} >> steps.txt` }] });
/** What comes before a person lets it go on is ended by the interrupt: the agent is not ahead of who counts its turns. */
const held: Turn = { if: '^(?![^]*Continue)', text: 'Never said.', delayMs: 600_000 };
const same: Turn = { tools: [{ shell: 'echo again >> again.txt', escalate: 'May I write it?' }] };

const scripts: Scripts = {
  same: [same, same, { text: 'Written twice.' }],
  steps: [command(1), command(2), held, command(3), command(4), held],
  print: [{ tools: [{ shell: 'echo "The key is $ANTHROPIC_API_KEY"' }] }, { text: 'Printed.' }],
  big: [{ tools: [{ write: 'big.txt', content: big }] }, { text: 'That was long.' }],
};

const NOT_ASKED = { yes: true, unsafe: true };

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

verifies('X-20', 'X-50')
  .needs(...installed('claude'))
  .test(
    'a key that was configured while the daemon runs is shown in no event, though the agent prints it',
    async () => {
      await rig.world.client.call('status', {});
      const key = `a-key-${crypto.randomUUID()}`;
      const job = await rig.spawn({ agent: 'claude', script: 'print', env: { ANTHROPIC_API_KEY: key }, ...NOT_ASKED });
      expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'Printed.' });
      const [result] = await job.progress('tool_result');
      expect(result?.text).toBe('The key is [redacted]');
      expect(JSON.stringify([await job.events(), await job.view()])).not.toContain(key);
    },
    SLOW_MS,
  );

for (const agent of ['claude', 'codex'] as const) {
  verifies('A-49', 'X-58')
    .needs(...installed(agent))
    .test(
      `${agent} is allowed a command for the session: Reef remembers it, the agent hears a single yes`,
      async () => {
        const job = await rig.spawn({ agent, script: 'same' });
        await job.decide('allow_session');
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'Written twice.' });
        expect(job.file('again.txt')).toBe('again\nagain\n');
        expect((await job.progress('auto_answered')).map(({ grant }) => grant)).toEqual(['session']);
        expect(await job.payloads('input_sent')).toMatchObject([
          { decision: 'allow_session', by: expect.stringMatching(/^uid:/) },
          { decision: 'allow_once', by: 'reef:session' },
        ]);
        expect(readdirSync(job.cwd)).toEqual(['again.txt']);
        const other = await rig.spawn({ agent, script: 'same', cwd: job.cwd });
        expect(await other.asked()).toMatchObject({ kind: 'permission' });
        await other.kill();
      },
      SLOW_MS,
    );

  verifies('A-13', 'A-16', 'A-76')
    .needs(...installed(agent))
    .test(
      `${agent} at the end of its budget is interrupted, and a person decides`,
      async () => {
        const job = await rig.spawn({ agent, script: 'steps', ...NOT_ASKED, budget: { turns: 2 } });
        const question = await job.askedFor('Budget');
        expect(question).toMatchObject({ kind: 'choice', options: ['Raise', 'Finish', 'Stop'] });
        expect(await job.progress('budget')).toMatchObject([{ what: 'turns', used: 2, limit: 2 }]);
        await job.send({ option: ['Raise'], questionId: question.questionId });
        await job.until(({ budget }) => budget?.turns === 4);
        await job.askedFor('Budget');
        expect(await job.view()).toMatchObject({ status: 'awaiting_input', budget: { turns: 4 }, launch: 1, turns: 4 });
        const done = job.file('steps.txt') ?? '';
        await job.send({ option: ['Stop'] });
        expect(await job.ended()).toMatchObject({ status: 'error', reason: 'budget_exhausted' });
        expect(job.file('steps.txt') ?? '').toBe(done);
      },
      SLOW_MS,
    );

  verifies('A-53')
    .needs(...installed(agent))
    .test(
      `${agent} writes a file of 2 MiB: the line is too long to keep, and nothing is cut on disk`,
      async () => {
        // Nobody could allow it by hand: it is too long to be shown whole.
        const job = await rig.spawn({ agent, script: 'big', ...NOT_ASKED });
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'That was long.' });
        expect(job.file('big.txt')?.trimEnd()).toBe(big.trimEnd());
        expect(await job.payloads('file_edit')).toMatchObject([{ path: 'big.txt', kind: 'add' }]);
        const events = await job.events();
        expect(Math.max(...events.map((event) => JSON.stringify(event).length))).toBeLessThan(70 * 1024);
        expect(await job.payloads('error')).toEqual([]);
      },
      SLOW_MS,
    );
}
