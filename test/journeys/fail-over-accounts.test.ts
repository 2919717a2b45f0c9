import { afterAll, beforeAll, expect } from 'vitest';
import { installed, Rig } from '../e2e/real.ts';
import { ADDS, PROJECT, QUICK, RunsRig } from '../e2e/runs-rig.ts';
import { startModelServer } from '../model-server/server.ts';
import { verifies } from '../support/verifies.ts';

const scripts = {
  limited: [{ status: 429, text: 'Slow down.', times: 40 }],
  works: [
    { tools: [{ shell: `printf '${ADDS.replace('\n', '\\n')}' > sum.mjs` }] },
    { text: 'Written.\nSIGNAL:SUCCESS', times: 9 },
  ],
};

/** Not below /tmp: its agents are in the sandbox that everybody gets. */
const runs = new RunsRig({ ...PROJECT, '.reef/workflows.yaml': QUICK }, '/var/tmp');
let rig: Rig;
beforeAll(async () => {
  const model = await startModelServer({ scripts });
  rig = new Rig({ world: runs.world, model, scripts, timings: { linger: 0 } });
  await runs.trust();
});
afterAll(() => rig.close());

verifies('J-37')
  .needs(...installed('claude'))
  .test(
    'a second account of the same agent takes over when the first is at its limit',
    async () => {
      rig.configure({
        claude: rig.settings('claude', rig.model.runUrl('limited', 'r1')),
        'claude@work': rig.settings('claude', rig.model.runUrl('works', 'r2')),
      });
      const flags = ['--agent', 'claude', '--fallback', 'claude@work', '--follow'];
      const ran = await runs.reef('run', 'Quick', 'Write sum', ...flags);
      expect([ran.code, ran.out]).toEqual([0, expect.stringMatching(/! claude stopped \(.*\); claude@work goes on/)]);
      const unknown = await runs.reef('run', 'Quick', 'Write', '--agent', 'claude', '--fallback', 'claude@nobody');
      expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('there is no agent "claude@nobody"')]);
    },
    180_000,
  );
