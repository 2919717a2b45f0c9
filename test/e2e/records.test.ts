import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { openSqlite } from '../../src/store/driver.ts';
import { verifies } from '../support/verifies.ts';
import { byBlock, QUICK, RunsRig, WRITES_IT_RIGHT } from './runs-rig.ts';

/** What is recorded of all jobs, as a person asks for it: usage, events, and what an agent wrote byte for byte. */

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig();
  rig.write({ '.reef/workflows.yaml': QUICK });
  await rig.trust();
});
afterAll(() => rig.close());

const USED = { input: 1_000, output: 200, cacheRead: 50 };
const name = (agent: string) => agent.replace(/^.*\//, '').replace(/\.yaml$/, '');

verifies('U-25').test('usage is summed up by agent, model, day and run, and says where cost is unknown', async () => {
  const { world } = rig;
  const dear = world.script('dear', [{ usage: { ...USED, costUsd: 0.5 } }, { say: 'hi' }]);
  const free = world.script('free', [{ usage: USED }, { say: 'hi' }]);
  const worker = world.script('worker', byBlock({ Quick__Write: [{ usage: USED }, ...WRITES_IT_RIGHT] }));
  const ids = [];
  for (const [agent, model] of [[dear, 'big'], [dear], [free, 'small']] as const) {
    const { agentId } = await world.client.call('spawn', { agent, task: 'count', ...(model && { model }) });
    ids.push(agentId);
  }
  for (const id of ids) await world.until(id, ({ status }) => status === 'completed');
  const { runId } = await rig.start({ task: 'write sum', agent: worker });
  expect((await rig.settled(runId)).run.status).toBe('success');

  const one = { ...USED, cacheWrite: 0, reasoning: 0 };
  const times = (n: number) => Object.fromEntries(Object.entries(one).map(([kind, count]) => [kind, n * count]));
  const byAgent = await rig.json('usage');
  const shown = byAgent.rows.map((row: { key: string }) => ({ ...row, key: name(row.key) }));
  expect(shown).toEqual([
    { key: 'dear', ...times(2), costUsd: 1, partial: false, jobs: 2, unpriced: 0 },
    expect.objectContaining({ ...one, costUsd: null, jobs: 1, unpriced: 1 }),
    expect.objectContaining({ ...one, costUsd: null, jobs: 1, unpriced: 1 }),
  ]);
  expect(byAgent.totals).toEqual({ ...times(4), costUsd: 1, partial: false, jobs: 4, unpriced: 2 });

  const byModel = await rig.json('usage', '--by', 'model');
  expect(byModel.rows.map(({ key, jobs }: { key: string; jobs: number }) => [key, jobs]).sort()).toEqual([
    ['', 2],
    ['big', 1],
    ['small', 1],
  ]);
  const byRun = await rig.json('usage', '--by', 'run', '--limit', '1');
  expect([byRun.rows, byRun.leftOut, byRun.totals.jobs]).toEqual([
    [expect.objectContaining({ key: '', jobs: 3 })],
    1,
    4,
  ]);
  const runs = (await rig.json('usage', '--by', 'run')).rows;
  expect(runs[1]).toEqual(expect.objectContaining({ key: runId, title: 'write sum', jobs: 1 }));
  const days = (await rig.json('usage', '--by', 'day')).rows;
  expect(days.map(({ key }: { key: string }) => key)).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d$/)]);

  expect((await rig.json('usage', '--since', '1d')).totals.jobs).toBe(4);
  expect((await rig.json('usage', '--since', '2999-01-01')).totals.jobs).toBe(0);
  const { out } = await rig.reef('usage', '--by', 'run');
  expect(out).toContain('write sum');
  expect(out).toMatch(/^4 +4\.0k +200 +800 +≥\$1\.00 +in all\n2 of 4 jobs report no cost\./m);
  expect((await rig.reef('usage', '--by', 'moon')).code).toBe(2);
});

verifies('U-25').test('events of all jobs come by seq, each once, and the next page continues', async () => {
  const { client } = rig.world;
  const all: { seq: number; agentId: string }[] = [];
  for (let since = '0'; ; ) {
    const page = await client.call('events', { since, limit: 7 });
    all.push(...page.events);
    since = page.nextCursor;
    if (!page.truncated) break;
  }
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
  expect(new Set(all.map(({ agentId }) => agentId)).size).toBeGreaterThan(3);
  const { out } = await rig.reef('events', '--json', '--since', '3', '--limit', '4');
  expect(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(all.slice(3, 7));
  const waiting = client.call('events', { since: String(all.length), waitMs: 40_000 });
  await client.call('spawn', { agent: rig.world.script('late', [{ say: 'hi' }]), task: 'wake' });
  expect((await waiting).events[0]?.seq).toBe(all.length + 1);
  expect((await rig.reef('events', '--since', 'yesterday')).code).toBe(2);
});

verifies('A-175', 'U-25').test('--raw prints every byte the agent wrote, or the range that is asked for', async () => {
  const long = 'ä'.repeat(900_000);
  const agent = rig.world.script('loud', [{ emit: long }, { stderr: 'a warning' }, { say: 'hi' }]);
  const { agentId } = await rig.world.client.call('spawn', { agent, task: 'be loud' });
  await rig.world.until(agentId, ({ status }) => status === 'completed');
  const folder = join(rig.world.home.dir, 'jobs', agentId, '1');
  const [out, err] = ['out', 'err'].map((file) => readFileSync(join(folder, file), 'utf8'));
  expect((await rig.reef('output', agentId, '--raw')).out).toBe(`${out}${err}`);
  expect((await rig.reef('output', agentId, '--raw', '--stream', 'err')).out).toBe(err);
  const from = out?.indexOf('ä') ?? 0;
  expect((await rig.reef('output', agentId, '--raw', '--from', String(from), '--bytes', '6')).out).toBe('äää');
  const page = await rig.json('output', agentId, '--raw', '--from', String(from + 1), '--bytes', '2');
  expect(page).toMatchObject({ agentId, text: 'ää', from, next: from + 4, encoding: 'utf8', launches: [1] });
  expect((await rig.reef('output', agentId, '--raw', '--limit', '3')).code).toBe(2);
  expect((await rig.reef('output', agentId, '--raw', '--launch', '7')).err).toMatch(/^no_output: Launch 7 /);
});

verifies('Q-110', 'S-72').test(
  'prune shows what an over-full home would lose, and readers are told what it has lost',
  async () => {
    const { world } = rig;
    const totals = (await rig.json('usage')).totals;
    const first = (await rig.json('usage', '--by', 'run')).rows[1].key;
    // Within this test nothing ends long enough ago: the daemon finds a home in which all of it did.
    await world.stopDaemon();
    const database = openSqlite(world.home.database);
    database.exec(
      `UPDATE job SET doc = json_set(doc, '$.endedAt', '2025-01-01T00:00:00.000Z') WHERE status = 'completed'`,
    );
    database.close();
    world.configure({ reef: { keep: { mib: 1_000 } } });
    expect((await rig.json('prune', '--dry-run')).entries).toEqual([]);
    const config = { reef: { keep: { mib: 1 } } };
    world.configure(config);
    const { entries, bytes } = await rig.json('prune', '--dry-run');
    expect(entries.length).toBeGreaterThan(1);
    expect(entries[0]).toMatchObject({ kind: 'job', title: 'count', reason: 'size', outcome: 'would_remove' });
    expect(entries.map(({ id }: { id: string }) => id)).not.toContain(first); // its run is not a day old
    const words = (await rig.reef('prune', '--dry-run')).out;
    expect(words).toContain('would remove');
    expect(words).toContain('above 1.0 MiB the oldest go earlier');

    const done = await rig.json('prune');
    const removed = done.entries.map(({ id }: { id: string }) => id);
    expect([removed, done.bytes < bytes + 500_000]).toEqual([entries.map(({ id }: { id: string }) => id), true]);
    const gone = await rig.reef('status', removed[0]);
    expect([gone.code, gone.err]).toEqual([4, expect.stringMatching(/^job_not_found/)]);
    expect((await rig.json('usage')).totals).toEqual(totals);
    const page = await world.client.call('events', { since: '0' });
    expect(page.gap).toEqual({ from: 1, to: (page.events[0]?.seq ?? 0) - 1 });
    expect((await rig.reef('events')).err).toContain('are no longer kept');
  },
);
