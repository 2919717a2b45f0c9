import { afterAll, beforeAll, expect } from 'vitest';
import type { Question } from '../../src/protocol/jobs.ts';
import type { Scripts, Turn } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { installed, openRig, type ReefAgent, type Rig, SLOW_MS } from './real.ts';

/** A budget of tokens that is used up in the middle of a turn: 25 tool steps of 1,200 tokens each, 5,000 allowed. */

const CALL = 1200;
const BUDGET = 5000;
const step = (n: number): Turn => ({
  tools: [{ shell: `echo ${n} >> steps.txt` }],
  usage: { input: CALL - 50, output: 50 },
  // A model takes its time: an interrupt has to be faster than the next answer, not than nothing at all.
  delayMs: 400,
});

const scripts: Scripts = {
  steps: [...Array.from({ length: 25 }, (_, n) => step(n + 1)), { text: 'All steps done.' }],
};

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

/** The others tell their tokens when the turn is over: until then Reef reckons by the answers of the model. */
const agents: [agent: ReefAgent, tellsAsItGoes: boolean][] = [
  ['claude', true],
  ['codex', true],
  ['acp:gemini', false],
  ['acp:opencode', false],
];
for (const [agent, tellsAsItGoes] of agents) {
  verifies('A-170')
    .needs(...installed(agent))
    .test(
      `${agent} is stopped in the middle of a turn when its tokens are used up, at most one model call late`,
      async () => {
        const job = await rig.spawn({ agent, script: 'steps', yes: true, unsafe: true, budget: { tokens: BUDGET } });
        const isBudget = ({ header }: Question) => header === 'Budget';
        const asking = await job.until(({ questions, activity }) => questions.some(isBudget) || activity === 'ended');
        expect(asking.questions).toMatchObject([{ kind: 'choice', options: ['Raise', 'Finish', 'Stop'] }]);
        const { usage } = await job.view();
        expect(usage.input + usage.output).toBeGreaterThanOrEqual(BUDGET);
        if (tellsAsItGoes) expect(usage).toMatchObject({ partial: false });
        if (tellsAsItGoes) expect(usage.input + usage.output).toBeLessThanOrEqual(BUDGET + CALL);
        // One more may have been asked for, and never heard.
        expect(job.requests().length * CALL).toBeLessThanOrEqual(BUDGET + 2 * CALL);
        await job.send({ option: ['Stop'] });
        expect(await job.ended()).toMatchObject({ status: 'error', reason: 'budget_exhausted' });
      },
      SLOW_MS,
    );
}
