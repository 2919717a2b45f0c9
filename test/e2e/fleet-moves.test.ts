import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../support/postgres.ts';
import { pidsNaming, textOf } from '../support/programs.ts';
import { verifies } from '../support/verifies.ts';
import { FleetRig } from './fleet-rig.ts';
import { ADDS, byBlock, done, SUBTRACTS, writes } from './runs-rig.ts';

const server = postgresOfFile();
let rig: FleetRig;
beforeAll(async () => {
  if (!hasPostgres) return;
  rig = await FleetRig.open(server());
  await rig.openHub();
  await rig.addToHub('shop');
});
afterAll(() => rig?.close());

/** Two workers, a hub and a database: on a busy machine each of their starts takes its time. */
const PATIENCE_MS = 300_000;
const WRITE = 'Feature_Implement__GenerateCode';
const MEND = 'Feature_Troubleshoot__FixCode';

/** The first block writes what fails and the second one mends it; each says where it began, and waits for its gate. */
function twoBlocks(name: string) {
  const paths = (block: string) => ({
    gate: join(rig.root, `${name}.${block}.go`),
    begun: join(rig.root, `${name}.${block}.begun`),
  });
  const [write, mend] = [paths('write'), paths('mend')];
  const waits = ({ gate, begun }: { gate: string; begun: string }) => ({
    shell: ['sh', '-c', `pwd >> ${begun}; while [ ! -e ${gate} ]; do sleep 0.1; done`],
  });
  const steps = byBlock({
    [WRITE]: [writes('sum.mjs', SUBTRACTS), waits(write), done('Written.')],
    [MEND]: [
      { shell: ['sh', '-c', `cat sum.mjs >> ${mend.begun}.saw`] },
      waits(mend),
      writes('sum.mjs', ADDS),
      done('Mended.'),
    ],
  });
  const agent = rig.script(name, steps);
  const agents = () => pidsNaming(agent.replace('scripted:', ''));
  return { write, mend, agents, spec: { workflow: 'test-fix', agent } };
}

const lines = (path: string) => textOf(path).split('\n').filter(Boolean);

verifies('F-30', 'F-31', 'F-32', 'F-33', 'F-35', 'F-59')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'a machine that is gone in the middle of a block loses no finished block: another one goes on from there',
    async () => {
      await rig.worker('one');
      const { write, mend, agents, spec } = twoBlocks('gone');
      const id = await rig.queue('shop', spec);
      await rig.until('the first block is at work', () => lines(write.begun).length === 1, id);
      expect(Object.keys(await rig.hubRefs('shop', id))).toEqual(['base']);
      const second = rig.worker('two');
      writeFileSync(write.gate, '');
      await rig.until('the second block is at work', () => lines(mend.begun).length === 1, id);
      const landed = await rig.hubRefs('shop', id);
      expect(Object.keys(landed)).toEqual(expect.arrayContaining(['base', 'tip', `try/${WRITE}.1.1`]));
      await second;
      await rig.crash('one', ...agents());
      const claimed = await rig.runWhen(id, ({ host }) => host === 'two');
      expect(claimed).toMatchObject({ status: 'running', lost_count: 1 });
      await rig.until('the second block is at work once more', () => lines(mend.begun).length === 2, id);
      writeFileSync(mend.gate, '');
      const run = await rig.runWhen(id, ({ status }) => status === 'ended');
      expect(run).toMatchObject({ host: 'two', outcome: { status: 'completed', value: { outcome: 'success' } } });
      // The first block ran once, on the machine that is gone; the second once more, on what the first one left.
      expect([lines(write.begun).length, lines(mend.begun).length]).toEqual([1, 2]);
      expect(textOf(`${mend.begun}.saw`)).toBe(SUBTRACTS.repeat(2));
      const [there, here] = lines(mend.begun);
      expect(there).toContain('/one/');
      expect(here).toContain('/two/');
      const attempts = await rig.database.query<{ key: string; host: string; branch: string; commit: string | null }>(
        'SELECT key, host, branch, commit FROM reef.attempt WHERE run = $1 ORDER BY started_at',
        [id],
      );
      const of = (key: string) => attempts.filter((each) => each.key === key).map(({ host }) => host);
      expect([of(`main/${WRITE}#1`), of(`main/${MEND}#1/job`), of(`main/${MEND}#1~2/job`)]).toEqual([
        ['one'],
        ['one'],
        ['two'],
      ]);
      expect(new Set(attempts.map(({ branch }) => branch)).size).toBe(2);
      const tip = (await rig.hubRefs('shop', id)).tip;
      expect(attempts.filter(({ commit }) => commit === tip)).toHaveLength(1);
    },
    PATIENCE_MS,
  );
