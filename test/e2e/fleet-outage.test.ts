import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect } from 'vitest';
import { takeOverLost } from '../../src/fleet/host/take-over.ts';
import { type Link, startLink } from '../support/fleet/link.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../support/postgres.ts';
import { pidsNaming, textOf } from '../support/programs.ts';
import { verifies } from '../support/verifies.ts';
import { eventually, until } from '../support/wait.ts';
import { FleetRig } from './fleet-rig.ts';

/** One worker behind a link that can be unplugged, logged in as workers are. */
const server = postgresOfFile({ tcp: true, isSynced: true });
const HOST = 'one';
let rig: FleetRig;
let link: Link;
beforeAll(async () => {
  if (!hasPostgres) return;
  rig = await FleetRig.open(server());
  await rig.addRepository('shop');
  link = await startLink(server().port);
  const name = new URL(rig.url).pathname.slice(1);
  const url = server().url(name, { user: 'reef_app', tcp: true }).replace(`:${server().port}/`, `:${link.port}/`);
  await rig.worker(HOST, { url, timings: 'beat=200,ttl=20000,look=500,park=600000,silence=1500' });
});
afterAll(async () => {
  await rig?.close();
  await link?.[Symbol.asyncDispose]();
});

const outage = (...ids: Parameters<typeof verifies>) => verifies(...ids).needs(hasPostgres, NO_POSTGRES);
const lines = (path: string) => textOf(path).split('\n').filter(Boolean).length;

interface HostRow {
  epoch: number;
  state: string;
  silentMs: number;
}

const hostRow = async () =>
  (
    await rig.database.query<HostRow>(
      `SELECT epoch, state, (extract(epoch FROM now() - beat) * 1000)::float AS "silentMs" FROM reef.host WHERE id = $1`,
      [HOST],
    )
  )[0] as HostRow;

const checkout = () => join(rig.root, HOST, 'cache/shop/checkout');
const said = async (...args: string[]) => rig.reefIn(HOST, checkout(), ...args);
const judge = (ttl: number) => takeOverLost(rig.database, { host: 'judge', heldMs: ttl, ttl });

async function atWork(name: string) {
  const waiting = rig.waiting(name);
  const id = await rig.queue('shop', waiting.spec);
  await until('the agent is at work', () => lines(waiting.begun) === 1);
  return { ...waiting, id, before: await hostRow() };
}

outage('F-61').test(
  'bytes that are swallowed and a link that is cut heal without a take-over, and no block is repeated',
  async () => {
    const { id, gate, begun, before } = await atWork('cut');
    for (const fault of ['swallow', 'cut'] as const) {
      const { lost } = link;
      link[fault]();
      await eventually(hostRow, ({ silentMs }) => silentMs > 2_000, { what: `${fault}: no beat for a while` });
      expect(await judge(20_000)).toEqual([]);
      expect(link.lost).toBeGreaterThan(lost);
      link.heal();
      await eventually(hostRow, ({ silentMs }) => silentMs < 1_000, { what: `${fault}: it beats again` });
    }
    expect([await hostRow(), await rig.run(id)]).toMatchObject([
      { epoch: before.epoch, state: 'up' },
      { status: 'running', host: HOST, lost_count: 0 },
    ]);
    writeFileSync(gate, '');
    const run = await rig.runWhen(id, ({ status }) => status === 'ended');
    expect([run.outcome?.value?.outcome, lines(begun)]).toEqual(['success', 1]);
  },
);

/** What the home of the worker has of events that the fleet keeps all of. */
function eventsAtHome(): { seq: number; type: string }[] {
  const homes = join(rig.root, HOST, '.local/state/reef');
  const [home = ''] = readdirSync(homes).filter((name) => existsSync(join(homes, name, 'worker')));
  const file = readdirSync(join(homes, home)).find((name) => name.endsWith('.db')) ?? '';
  const database = new Sqlite(join(homes, home, file), { readonly: true });
  try {
    return database.prepare("SELECT seq, type FROM event WHERE type <> 'progress' ORDER BY seq").all() as never;
  } finally {
    database.close();
  }
}

outage('F-62').test(
  'while PostgreSQL is away an agent goes on and commands say so; when it is back the run ends and every event is there once',
  async () => {
    const { id, gate, begun, before } = await atWork('away');
    await server().kill();
    const typed = await rig.reef('fleet', 'hosts').catch(({ stdout }) => JSON.parse(stdout));
    expect(typed).toMatchObject({ error: { code: 'storage_unavailable', retryable: true } });
    await eventually(
      () => said('status'),
      ({ err }) => err.includes("The fleet's database is away since"),
    );
    const ended = eventsAtHome().filter(({ type }) => type === 'completed').length;
    writeFileSync(gate, '');
    await until(
      'the agent has ended its work',
      () => eventsAtHome().filter(({ type }) => type === 'completed').length > ended,
    );
    await server().start();
    const run = await rig.runWhen(id, ({ status }) => status === 'ended');
    expect([run.outcome?.value?.outcome, run.lost_count, lines(begun)]).toEqual(['success', 0, 1]);
    expect(await hostRow()).toMatchObject({ epoch: before.epoch, state: 'up' });
    const shipped = () =>
      rig.database.query<{ n: number; seq: number; type: string }>('SELECT n, seq, type FROM reef.event ORDER BY n');
    const told = async () => (await shipped()).filter(({ type }) => type !== 'progress').map(({ seq }) => seq);
    await eventually(told, (seqs) => seqs.length >= eventsAtHome().length);
    expect(await told()).toEqual(eventsAtHome().map(({ seq }) => seq));
    expect((await shipped()).map(({ n }) => n)).toEqual((await shipped()).map((_, index) => index + 1));
    expect((await said('status')).err).not.toContain('away');
  },
);

outage('F-29', 'F-60').test(
  'bytes that are swallowed for longer than that cost the host its runs; back again it lands nothing',
  async () => {
    const { id, spec, before } = await atWork('gone');
    const [agent] = pidsNaming(spec.agent.replace('scripted:', ''));
    const { lost } = link;
    link.swallow();
    const ttl = 3_000;
    expect(await judge(ttl)).toEqual([]);
    const taken = await eventually(
      () => judge(ttl),
      (hosts) => hosts.length > 0,
    );
    expect([taken, link.lost > lost, await rig.run(id)]).toMatchObject([
      [HOST],
      true,
      { status: 'queued', host: null, lost_count: 1 },
    ]);
    await rig.database.query("UPDATE reef.run SET needs = '{nobody}' WHERE id = $1", [id]);
    link.heal();
    await eventually(hostRow, ({ epoch }) => epoch === before.epoch + 2);
    await until('its agent has ended', () => agent !== undefined && !existsSync(`/proc/${agent}`));
    expect(await rig.run(id)).toMatchObject({ status: 'queued', host: null, outcome: null });
  },
);
