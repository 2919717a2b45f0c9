import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { appeared, gone, installed, nap, processesWith, Rig } from '../e2e/real.ts';
import { PROJECT, RunsRig } from '../e2e/runs-rig.ts';
import { type ModelServer, startModelServer } from '../model-server/server.ts';
import { verifies } from '../support/verifies.ts';

const NAP = nap(71);
const scripts = {
  long: [
    { tools: [{ shell: `echo begun; ${NAP}` }] },
    { if: 'Continue where you left off', text: 'Went on.' },
    { text: 'Said beside the other one.' },
  ],
};

/** Not below /tmp: its agents are in the sandbox that everybody gets. */
const runs = new RunsRig(PROJECT, '/var/tmp');
let model: ModelServer;
let rig: Rig;
beforeAll(async () => {
  model = await startModelServer({ scripts });
  rig = new Rig({ world: runs.world, model, scripts, timings: { linger: 0 } });
});
afterAll(() => rig.close());

verifies('J-27')
  .needs(...installed('claude'))
  .test(
    'a job whose wrapper is killed leaves no process, says so, and resume starts the only one',
    async () => {
      rig.configure({ claude: rig.settings('claude', model.runUrl('long', 'r1')) });
      const { agentId } = await runs.json('spawn', 'claude', 'Sleep', '--yes');
      const [asleep] = await appeared(NAP);
      expect(asleep).toBeDefined();
      const wrapper = JSON.parse(readFileSync(join(runs.world.home.dir, 'jobs', agentId, '1', 'pid'), 'utf8')).pid;
      process.kill(wrapper, 'SIGKILL');
      const waited = await runs.reef('wait', agentId);
      expect(processesWith(NAP, `REEF_JOB=${agentId}`)).toEqual([]);
      expect(waited.out).toContain('stale');
      const status = await runs.reef('status', agentId);
      expect(status.out).toContain(`reef resume ${agentId}`);
      expect((await runs.reef('resume', agentId)).code).toBe(0);
      expect((await runs.reef('wait', agentId)).code).toBe(0);
      const { jobs } = await runs.json('status', agentId);
      expect(jobs[0]).toMatchObject({ status: 'completed', launch: 2, lastOutput: 'Went on.' });
      await gone(NAP, `REEF_JOB=${agentId}`);
    },
    120_000,
  );
