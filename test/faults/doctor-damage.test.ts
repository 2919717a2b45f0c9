import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, expect } from 'vitest';
import { openSqlite } from '../../src/store/driver.ts';
import type { Finding } from '../../src/surfaces/doctor/finding.ts';
import { makeWorld } from '../e2e/harness.ts';
import { scale } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';

/** The damage that kills, forgers and people do to a home, as doctor sees it: named, mended, or left to a person. */

const REEF = join(import.meta.dirname, '../../bin/reef.cjs');
const world = makeWorld();
const helpers: ChildProcess[] = [];
afterEach(() => {
  for (const child of helpers.splice(0)) child.kill('SIGKILL');
});
afterAll(() => world.close());

function doctor(...args: string[]): Promise<{ code: number; findings: Finding[] }> {
  return new Promise((resolve) => {
    const options = { cwd: world.repository, env: world.env };
    execFile(process.execPath, [REEF, 'doctor', '--json', ...args], options, (error, stdout) => {
      resolve({ code: Number(error?.code ?? 0), findings: JSON.parse(stdout).findings });
    });
  });
}

/** Machine, agents and trust are not the matter here. */
const ELSEWHERE = new Set([
  'agents',
  'claude',
  'codex',
  'codex-exec',
  'gemini',
  'opencode',
  'trust',
  'gates',
  'checkout',
]);

async function troubles(...args: string[]): Promise<string[]> {
  const { findings } = await doctor(...args);
  const shown = findings.filter(({ check, severity }) => severity !== 'ok' && !ELSEWHERE.has(check));
  expect(shown.filter(({ fix }) => fix === undefined)).toEqual([]);
  return shown.map(({ check, severity, what }) => `${severity} ${check}: ${what}`);
}

/** An agent that waits to be answered. */
async function waiting(name: string): Promise<{ id: string; dir: string; pid: number }> {
  const agent = world.script(name, [{ ask: { question: 'Go on?', options: ['yes'] } }]);
  const { agentId: id } = await world.client.call('spawn', { agent, task: name });
  const { pid = 0 } = await world.until(id, (job) => job.status === 'awaiting_input');
  return { id, dir: join(world.home.dir, 'jobs', id, '1'), pid };
}

function bystander(env: NodeJS.ProcessEnv = {}): number {
  const child = spawn('sleep', ['600'], { env: { ...env, PATH: process.env.PATH }, stdio: 'ignore' });
  helpers.push(child);
  return child.pid ?? 0;
}

const isAlive = (pid: number) => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

async function gone(...pids: number[]): Promise<void> {
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
}

verifies('Q-100', 'Q-102', 'Q-103', 'U-06').test(
  'jobs whose process is gone, was never theirs, or cannot be spoken to are named; --fix settles what its records allow',
  async () => {
    const [dead, forged, deaf] = [await waiting('dead'), await waiting('forged'), await waiting('deaf')];
    const over = await waiting('over');
    await world.client.call('kill', { id: over.id });
    await world.killDaemon();
    // Its wrapper, so that nobody writes how it ended.
    const wrapper = JSON.parse(readFileSync(join(dead.dir, 'pid'), 'utf8')).pid;
    process.kill(wrapper, 'SIGKILL');
    const innocent = bystander();
    const own = JSON.parse(readFileSync(join(forged.dir, 'pid'), 'utf8'));
    writeFileSync(join(forged.dir, 'pid'), JSON.stringify({ ...own, pid: innocent }));
    rmSync(join(deaf.dir, 'in'));
    const leftover = bystander({ REEF_JOB: over.id });
    await gone(wrapper);
    const named = [
      'warn socket: left behind by a daemon that no longer runs',
      `warn jobs: ${dead.id} is recorded as awaiting_input, but pid ${wrapper} is gone`,
      `warn jobs: ${forged.id} is recorded as awaiting_input, but pid ${innocent} is another process now`,
      `error fifos: the input of ${deaf.id} is gone, so it cannot receive messages`,
      `warn leftover processes: ${over.id} has ended, but some of its processes still run`,
    ];
    expect((await troubles()).sort()).toEqual(named.sort());
    await doctor('--fix');
    await doctor('--fix'); // the process of the forged record is a leftover now, known by its tag
    // What cannot be mended without ending an agent is left to a person, and says how.
    expect(await troubles()).toEqual([`error fifos: the input of ${deaf.id} is gone, so it cannot receive messages`]);
    expect([isAlive(innocent), isAlive(deaf.pid)]).toEqual([true, true]);
    await gone(leftover, own.pid);
    expect((await world.job(dead.id)).status).toBe('stale');
    await world.client.call('kill', { id: deaf.id });
    expect(await troubles()).toEqual([]);
  },
  120_000,
);

const PAGE = 4_096;

/** Damage that a daemon starts with and does not see: it reads that page when a run keeps something large. */
async function damageInside(database: string): Promise<void> {
  const sqlite = openSqlite(database);
  const { rootpage } = sqlite.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'journal_blob'").get() as {
    rootpage: number;
  };
  sqlite.close(); // and with it the write-ahead log, which would hide the damage
  await writeFile(database, (await readFile(database)).fill(0xff, (rootpage - 1) * PAGE, rootpage * PAGE));
}

verifies('Q-102', 'Q-103').test(
  'a damaged database is mended before any fix that starts a daemon on it',
  async () => {
    const { id } = await waiting('kept');
    await expect.poll(() => readFileSync(world.home.snapshot, 'utf8')).toContain(id);
    await world.killDaemon();
    await damageInside(world.home.database);
    expect((await troubles()).sort()).toEqual([
      'error database: damaged',
      'warn socket: left behind by a daemon that no longer runs',
    ]);
    const { findings } = await doctor('--fix');
    const fixed = findings.filter(({ what }) => what.endsWith(': fixed')).map(({ check, what }) => `${check}: ${what}`);
    expect(fixed.sort()).toEqual([
      'database: damaged: fixed',
      'socket: left behind by a daemon that no longer runs: fixed',
    ]);
    await world.until(id, ({ status }) => status === 'awaiting_input');
    await world.client.call('kill', { id });
    for (const name of readdirSync(world.home.dir)) {
      if (name.startsWith('reef.db.bad-')) rmSync(join(world.home.dir, name));
    }
    expect(await troubles()).toEqual([]);
  },
  120_000,
);

verifies('Q-12', 'Q-103').test(
  'a database and a snapshot that cannot be read are one error event of the home, and findings of doctor',
  async () => {
    const { id } = await waiting('told');
    await world.client.call('kill', { id });
    await world.stopDaemon();
    await writeFile(world.home.snapshot, 'not json');
    await writeFile(world.home.database, (await readFile(world.home.database)).fill(0xff, 100, 4_096));
    await world.client.call('status', {});
    const { events } = await world.client.call('events', {});
    expect(events.map(({ agentId, type, payload }) => [agentId, type, payload.code])).toEqual([
      ['reef', 'error', 'store_damaged'],
    ]);
    const [database, snapshot] = (await troubles()).sort();
    expect([database, snapshot]).toEqual([
      expect.stringMatching(/^warn set aside: reef\.db\.bad-.* was damaged and has been replaced$/),
      expect.stringMatching(/^warn set aside: state\.json\.bad-.* was damaged and has been replaced$/),
    ]);
    for (const name of readdirSync(world.home.dir)) if (name.includes('.bad-')) rmSync(join(world.home.dir, name));
    expect(await troubles()).toEqual([]);
  },
  120_000,
);

const KILLS = scale('Q-102', { test: 4, faults: 100, soak: 500 });

verifies('Q-102').test(
  `doctor --fix killed at any moment leaves nothing that the next one does not finish, ${KILLS} times`,
  async () => {
    let killed = 0;
    for (let n = 0; n < KILLS; n++) {
      const job = await waiting(`killed-${n}`);
      await world.client.call('kill', { id: job.id });
      await world.killDaemon();
      await chmod(world.home.dir, 0o755);
      await chmod(join(world.home.dir, 'jobs'), 0o755);
      await writeFile(world.home.snapshot, 'not json');
      if (n % 2 === 1)
        await writeFile(world.home.database, (await readFile(world.home.database)).fill(0xff, 100, 4_096));
      const leftover = n % 2 === 0 ? bystander({ REEF_JOB: job.id }) : undefined;
      const child = spawn(process.execPath, [REEF, 'doctor', '--fix'], {
        cwd: world.repository,
        env: world.env,
        stdio: 'ignore',
      });
      helpers.push(child);
      const ended = once(child, 'exit');
      await new Promise((resolve) => setTimeout(resolve, 150 + (1_200 * n) / KILLS));
      if (child.kill('SIGKILL')) killed++;
      await ended;
      await doctor('--fix');
      const left = (await troubles()).filter((line) => !line.startsWith('warn set aside: '));
      expect({ n, left }).toEqual({ n, left: [] });
      if (leftover !== undefined) await gone(leftover);
    }
    expect(killed).toBeGreaterThan(0);
    expect(existsSync(world.home.database)).toBe(true);
  },
  60_000 + KILLS * 15_000,
);
