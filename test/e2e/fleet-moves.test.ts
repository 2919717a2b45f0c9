import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../support/postgres.ts';
import { pidsNaming, textOf } from '../support/programs.ts';
import { plainGit } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { FleetRig } from './fleet-rig.ts';
import { ADDS, byBlock, done, SUBTRACTS, writes } from './runs-rig.ts';

const server = postgresOfFile();
let rig: FleetRig;
let hub: string;
beforeAll(async () => {
  if (!hasPostgres) return;
  rig = await FleetRig.open(server());
  hub = await rig.openHub();
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

verifies('F-22', 'F-59', 'F-60')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'a worker that hangs loses its run to another host; awake again it lands nothing and keeps what it had on a ref',
    async () => {
      const { write, mend, spec } = twoBlocks('hung');
      const third = rig.worker('three');
      const id = await rig.queue('shop', spec);
      await rig.until('the first block is at work', () => lines(write.begun).length === 1, id);
      const { host: first } = await rig.run(id);
      await third;
      const life = await rig.lifeOf(first ?? '');
      process.kill(life, 'SIGSTOP');
      const taken = await rig.runWhen(id, ({ host, lost_count }) => lost_count === 1 && host !== null);
      expect(taken.host).not.toBe(first);
      // Its agent went on all the while, and what it did counts for nothing.
      await rig.until('the block is at work once more', () => lines(write.begun).length === 2, id);
      for (const { gate } of [write, mend]) writeFileSync(gate, '');
      const end = await rig.runWhen(id, ({ status }) => status === 'ended');
      expect(end).toMatchObject({ host: taken.host, outcome: { status: 'completed', value: { outcome: 'success' } } });
      const landed = await rig.hubRefs('shop', id);
      process.kill(life, 'SIGCONT');
      await rig.until(
        'it knows that its run is gone',
        () => rig.log(first ?? '').includes('another host has this run'),
        id,
      );
      const checkout = join(rig.root, first ?? '', 'cache/shop/checkout');
      const kept = () => plainGit(checkout)('for-each-ref', '--format=%(refname)', 'refs/reef/discarded');
      await rig.until('its work is kept', () => kept() !== '', id);
      expect([await rig.hubRefs('shop', id), await rig.run(id)]).toEqual([landed, end]);
      expect([lines(write.begun).length, lines(mend.begun).length]).toEqual([2, 1]);
    },
    PATIENCE_MS,
  );

/** A gate that says that it began, and waits. */
const slowTest = (begun: string, gate: string) =>
  [
    "import { appendFileSync, existsSync } from 'node:fs';",
    "import { test } from 'node:test';",
    `appendFileSync(${JSON.stringify(begun)}, 'x\\n');`,
    "test('slow', async () => {",
    `  while (!existsSync(${JSON.stringify(gate)})) await new Promise((resolve) => setTimeout(resolve, 100));`,
    '});',
  ].join('\n');

verifies('F-35', 'F-59')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'a machine that is gone between two blocks has a gate run again, and no agent',
    async () => {
      const [begun, gate, wrote] = ['begun', 'go', 'wrote'].map((name) => join(rig.root, `gate.${name}`)) as [
        string,
        string,
        string,
      ];
      const steps = byBlock({
        [WRITE]: [
          { shell: ['sh', '-c', `pwd >> ${wrote}`] },
          writes('sum.mjs', ADDS),
          writes('slow.test.mjs', slowTest(begun, gate)),
          done('Written.'),
        ],
      });
      const id = await rig.queue('shop', { workflow: 'test-fix', agent: rig.script('gate', steps) });
      await rig.until('the gate is at work', () => lines(begun).length === 1, id);
      const { host: first } = await rig.run(id);
      await rig.crash(first ?? '');
      await rig.until('the gate is at work once more', () => lines(begun).length === 2, id);
      writeFileSync(gate, '');
      const run = await rig.runWhen(id, ({ status }) => status === 'ended');
      expect(run.outcome).toMatchObject({ status: 'completed', value: { outcome: 'success' } });
      expect(run.host).not.toBe(first);
      expect(lines(wrote)).toHaveLength(1);
    },
    PATIENCE_MS,
  );

verifies('F-63')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'a hub that is away is tried for a while, then the run halts with its work kept, and goes on when the hub is back',
    async () => {
      const needs = ['patience=short'];
      const timings = 'beat=200,ttl=3000,look=500,park=600000,hub=1500';
      await rig.worker('brief', { args: ['--label', 'patience=short'], timings });
      const { write, spec } = twoBlocks('away');
      const id = await rig.queue('shop', spec, { needs });
      await rig.until('the block is at work', () => lines(write.begun).length === 1, id);
      await rig.closeHub();
      writeFileSync(write.gate, '');
      const halted = () =>
        rig.database.query<{ header: string }>(
          "SELECT doc->>'header' AS header FROM reef.question WHERE run = $1 AND closed_at IS NULL",
          [id],
        );
      const [question] = await eventually(halted, (found) => found.length > 0);
      expect(question?.header).toBe('remote_unavailable');
      expect(rig.log('brief')).toContain('does not reach the hub yet');
      const [folder = ''] = lines(write.begun);
      expect(textOf(join(folder, 'sum.mjs'))).toBe(SUBTRACTS);
      expect(Object.keys(await rig.hubRefs('shop', id))).toEqual(['base']);
      await rig.openHub(new URL(hub).port);
      await rig.reefIn('brief', join(rig.root, 'brief/cache/shop/checkout'), 'run', 'skip', id);
      await rig.until(
        'the next block is at work',
        () => lines(`${write.begun.replace('write', 'mend')}`).length === 1,
        id,
      );
      expect(Object.keys(await rig.hubRefs('shop', id))).toContain('tip');
    },
    PATIENCE_MS,
  );
