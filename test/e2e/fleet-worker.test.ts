import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../support/postgres.ts';
import { pidsNaming, textOf } from '../support/programs.ts';
import { verifies } from '../support/verifies.ts';
import { eventually, until } from '../support/wait.ts';
import { FleetRig } from './fleet-rig.ts';
import { byBlock, done, WRITES_IT_RIGHT } from './runs-rig.ts';

const server = postgresOfFile();
let rig: FleetRig;
beforeAll(async () => {
  if (!hasPostgres) return;
  rig = await FleetRig.open(server());
  await rig.addRepository('shop');
});
afterAll(() => rig?.close());

const spec = () => ({
  workflow: 'test-fix',
  agent: rig.script('right', byBlock({ Feature_Implement__GenerateCode: WRITES_IT_RIGHT })),
});

verifies('F-01')
  .needs(hasPostgres, NO_POSTGRES)
  .test('a queued run is claimed by a worker, an agent works in a worktree, the gates judge, and it ends', async () => {
    const id = await rig.queue('shop', spec());
    await rig.worker('one');
    const run = await rig.runWhen(id, ({ status }) => status === 'ended');
    expect(run).toMatchObject({ host: 'one', outcome: { status: 'completed', value: { outcome: 'success' } } });
  });

const waiting = (name: string) => rig.waiting(name);
const lines = (path: string) => textOf(path).split('\n').filter(Boolean).length;
const isAlive = (pid: number) => existsSync(`/proc/${pid}`);

verifies('F-58')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'a worker killed in the middle of a block is started again, adopts the agent and ends the run; nothing is repeated',
    async () => {
      const { gate, begun, spec } = waiting('killed');
      const id = await rig.queue('shop', spec);
      await until('the agent is at work', () => lines(begun) === 1);
      const life = await rig.lifeOf('one');
      process.kill(life, 'SIGKILL');
      await until('the worker is dead', () => !isAlive(life));
      await rig.lifeOf('one', life);
      const beaten = () => rig.database.query<{ epoch: number }>("SELECT epoch FROM reef.host WHERE id = 'one'");
      await eventually(beaten, ([row]) => row?.epoch === 2);
      expect(await rig.run(id)).toMatchObject({ status: 'running', host: 'one', lost_count: 0 });
      writeFileSync(gate, '');
      const run = await rig.runWhen(id, ({ status }) => status === 'ended');
      expect([run.outcome?.value?.outcome, lines(begun)]).toEqual(['success', 1]);
    },
  );

verifies('F-23', 'F-60')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'a worker that hangs is taken over after its time; when it wakes its agent ends and it lands nothing',
    async () => {
      await rig.worker('two', { args: ['--label', 'two=1'] });
      const { begun, spec } = waiting('hung');
      const id = await rig.queue('shop', spec, { needs: ['two=1'] });
      await until('the agent is at work', () => lines(begun) === 1);
      const before = await rig.run(id);
      const life = await rig.lifeOf('two');
      const [agent] = pidsNaming(`${spec.agent.replace('scripted:', '')}`);
      process.kill(life, 'SIGSTOP');
      const taken = await rig.runWhen(id, ({ lost_count }) => lost_count === 1);
      expect([before.epoch, taken]).toMatchObject([1, { status: 'queued', host: null, epoch: null }]);
      expect(textOf(`/proc/${life}/stat`)).toContain(') T '); // it hung all the while
      process.kill(life, 'SIGCONT');
      const epochs = () => rig.database.query<{ epoch: number }>("SELECT epoch FROM reef.host WHERE id = 'two'");
      await eventually(epochs, ([row]) => row?.epoch === 3);
      await until('its agent has ended', () => agent === undefined || !isAlive(agent));
      expect(agent).toBeDefined();
      expect(rig.log('two')).toContain('another host has taken over');
      const landed = await rig.database.query('SELECT 1 FROM reef.run WHERE id = $1 AND outcome IS NOT NULL', [id]);
      expect(landed).toEqual([]);
      await rig.stop('two');
    },
  );

verifies('F-57')
  .needs(hasPostgres, NO_POSTGRES)
  .test('a host that is drained claims nothing, parks what waits, ends what it has and then ends with 0', async () => {
    const fails = byBlock({ Feature_Implement__GenerateCode: [done('I cannot.', 'FAIL_DEFAULT')] });
    const halted = await rig.queue('shop', { workflow: 'test-fix', agent: rig.script('drain-fails', fails) });
    const asked = () =>
      rig.database.query('SELECT 1 FROM reef.question WHERE run = $1 AND closed_at IS NULL', [halted]);
    await eventually(asked, (rows) => rows.length === 1);
    const { gate, begun, spec } = waiting('drained');
    const id = await rig.queue('shop', spec);
    await until('the agent is at work', () => lines(begun) === 1);
    expect(await rig.reef('fleet', 'drain', 'one')).toEqual({ host: 'one', left: 2 });
    const left = await rig.queue('shop', spec);
    writeFileSync(gate, '');
    expect((await rig.runWhen(id, ({ status }) => status === 'ended')).outcome?.value?.outcome).toBe('success');
    expect(await rig.exitOf('one')).toBe(0);
    const states = await rig.database.query("SELECT state FROM reef.host WHERE id = 'one'");
    expect([states, await rig.run(left)]).toMatchObject([[{ state: 'gone' }], { status: 'queued', host: null }]);
    const attempts = await rig.database.query('SELECT max(attempt) AS most FROM reef.attempt WHERE run = $1', [halted]);
    expect([await rig.run(halted), attempts, (await asked()).length]).toMatchObject([
      { status: 'parked', host: null },
      [{ most: 1 }],
      1,
    ]);
  });

verifies('F-14')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'a run that waits for a person is parked without a slot, and heeds what is said to it at its home',
    async () => {
      const timings = 'beat=200,ttl=3000,look=200,park=300';
      await rig.worker('three', { args: ['--slots', '1', '--label', 'three=1'], timings });
      const fails = byBlock({ Feature_Implement__GenerateCode: [done('I cannot.', 'FAIL_DEFAULT')] });
      const needs = ['three=1'];
      const id = await rig.queue('shop', { workflow: 'test-fix', agent: rig.script('fails', fails) }, { needs });
      await rig.runWhen(id, ({ status }) => status === 'parked');
      // Its slot is free: another run gets it.
      const other = await rig.queue('shop', spec(), { needs });
      await rig.runWhen(other, ({ status }) => status === 'ended');
      const checkout = join(rig.root, 'three/cache/shop/checkout');
      await rig.reefIn('three', checkout, 'run', 'abort', id);
      expect((await rig.runWhen(id, ({ status }) => status === 'cancelled')).outcome?.status).toBe('cancelled');
    },
  );
