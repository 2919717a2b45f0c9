import type { ActivitySource } from '../../../src/context/manager/lifecycle.ts';
import type { R_Mcp_ServerManager } from '../../../src/context/manager/server-manager.ts';
import { argumentsOf, processRows } from '../../../src/process/process-table.ts';

type Listener = Parameters<ActivitySource['onChange']>[0];

export interface Life {
  manager: R_Mcp_ServerManager;
  worktrees: readonly string[];
  /** From 0 to below 1, the same for the same seed. */
  random(): number;
  /** A question every server answers. */
  ask: { name: string; arguments: Record<string, unknown> };
}

/** A small generator (mulberry32): a failure repeats under its seed. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Lives of servers as they may come: up, down, asked, killed, active and not, several at once. Returns what went wrong. */
export async function liveRandomly(life: Life, steps: number): Promise<string[]> {
  const { manager, worktrees, random } = life;
  const wrong: string[] = [];
  const running: Promise<void>[] = [];
  let tell: Listener = () => {};
  const stop = manager.follow({
    onChange(listener) {
      tell = listener;
      return () => {};
    },
  });
  for (let step = 0; step < steps; step += 1) {
    const path = worktrees[Math.floor(random() * worktrees.length)] ?? '';
    const done = act(life, path, tell).catch((error: { code?: string; message: string }) => {
      if (!EXPECTED.has(error.code ?? '')) wrong.push(`${error.code}: ${error.message}`);
    });
    running.push(done);
    if (random() < 0.5) await done;
    wrong.push(...twins(worktrees));
  }
  await Promise.all(running);
  for (const worktreePath of worktrees) tell({ worktreePath, active: false, removed: false });
  stop();
  return [...wrong, ...twins(worktrees)];
}

/** What somebody may be told whose server others end, kill and crowd out at the same time. */
const EXPECTED = new Set([
  'analysis_busy',
  'analysis_server_died',
  'analysis_server_start',
  'analysis_server_unavailable',
  'no_active_server',
]);

async function act({ manager, random, ask }: Life, worktreePath: string, tell: Listener): Promise<void> {
  const dice = random();
  if (dice < 0.2) return manager.spinUpServer(worktreePath);
  if (dice < 0.4) return manager.spinDownServer(worktreePath);
  if (dice < 0.55) return killOne(manager, random());
  if (dice < 0.65) return tell({ worktreePath, active: random() < 0.5, removed: random() < 0.1 });
  const client = await manager.ensureServer(worktreePath);
  await client.request('tools/call', ask);
}

/** Any process of the tree of any server. */
async function killOne(manager: R_Mcp_ServerManager, dice: number): Promise<void> {
  const trees = manager.running().flatMap(({ pid }) => pid ?? []);
  const members = processRows().filter((row) => row.isAlive && trees.includes(row.session));
  const chosen = members[Math.floor(dice * members.length)];
  try {
    if (chosen) process.kill(chosen.pid, 'SIGKILL');
  } catch {
    // it ended by itself meanwhile
  }
}

/** Seen from outside: the map of a manager could not hold two, but its processes might be. */
function twins(worktrees: readonly string[]): string[] {
  const named = processRows()
    .filter(({ isAlive }) => isAlive)
    .map(({ pid, parent }) => ({ pid, parent, args: argumentsOf(pid) }))
    .filter(({ args: [program] }) => program === process.execPath)
    .flatMap(({ pid, parent, args }) => {
      const path = worktrees.find((each) => args.includes(each));
      return path === undefined ? [] : [{ pid, parent, path }];
    });
  const pids = new Set(named.map(({ pid }) => pid));
  // A git that a server is about to start is a copy of the server until it is git.
  const servers = named.filter(({ parent }) => !pids.has(parent)).map(({ path }) => path);
  return servers.filter((path, index) => servers.indexOf(path) !== index).map((path) => `two servers of ${path}`);
}
