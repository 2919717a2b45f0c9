import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { verifies } from '../support/verifies.ts';
import { ADDS, done, leftovers, QUICK, RunsRig, writes } from './runs-rig.ts';

let rig: RunsRig;
beforeEach(() => {
  // The temporary folder is private in a sandbox: the script of the agent has to lie elsewhere.
  vi.stubEnv('TMPDIR', '/var/tmp');
  rig = new RunsRig();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rig.close();
});

const { bubblewrap } = await probeCapabilities();

/** What a run leaves outside its worktree, by its gate and by the scripts that prepare the worktree and put it away. */
async function tracesOf(sandbox?: boolean): Promise<string[]> {
  const outside = (name: string) => join(rig.world.repository, name);
  const byGate = `import { writeFileSync } from 'node:fs';\ntry { writeFileSync('${outside('by-gate')}', ''); } catch {}\n`;
  rig.write({
    '.reef/workflows.yaml': QUICK,
    '.reef/config.yaml': `worktree:\n  setup: [sh, -c, 'touch ${outside('by-setup')}; npm cache ls']\n  teardown: [sh, -c, 'sh ./tidy.sh; true']\n`,
  });
  await rig.trust();
  const agent = rig.world.script('sly', [
    // Other files each time: a gate that passed on the same ones does not run again.
    writes('sum.mjs', `// sandbox: ${sandbox}\n${byGate}${ADDS}`),
    writes('tidy.sh', `touch '${outside('by-teardown')}'\n`),
    done('Written.'),
  ]);
  const { runId } = await rig.start({ task: 'write sum', agent, ...(sandbox !== undefined && { sandbox }) });
  const { run, view } = await rig.settled(runId);
  expect([run.status, view.halt]).toEqual(['success', undefined]);
  const [worktree] = (await rig.world.client.call('worktrees', {})).worktrees;
  const inside = readdirSync(worktree?.path ?? '', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const empty = inside.filter(({ parentPath, name }) => readdirSync(join(parentPath, name)).length === 0);
  expect(empty.map(({ name }) => name)).toEqual([]);
  expect((await rig.reef('worktree', 'discard', run.worktree)).code).toBe(0);
  return ['by-setup', 'by-gate', 'by-teardown'].filter((name) => existsSync(outside(name)));
}

verifies('X-25', 'X-27', 'X-133')
  .needs(bubblewrap !== undefined, 'bubblewrap')
  .test(
    'gates and scripts of a run in a sandbox are in one too; of another they are not, and no guard is left',
    async () => {
      expect(await tracesOf(true)).toEqual([]);
      expect(await tracesOf()).toEqual([]); // nobody said anything: the default
      expect(await tracesOf(false)).toEqual(['by-setup', 'by-gate', 'by-teardown']);
    },
    120_000,
  );

verifies('X-22').test(
  'a run in a sandbox with an agent that needs what it hides is refused, and leaves no trace',
  async () => {
    await rig.trust();
    const { code, err } = await rig.reef('run', 'write sum', '--agent', 'native:coder', '--sandbox');
    expect([code, err.split(':')[0]]).toEqual([2, 'sandbox_unsupported']);
    const { runs } = await rig.world.client.call('runs', {});
    const { worktrees } = await rig.world.client.call('worktrees', {});
    expect({ runs, worktrees, left: leftovers(rig) }).toEqual({ runs: [], worktrees: [], left: [] });
  },
);
