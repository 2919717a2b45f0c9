import { existsSync } from 'node:fs';
import { afterEach, expect } from 'vitest';
import { processesWith } from '../e2e/real.ts';
import { done, leftovers, makeDirty, RunsRig, usersOwn, writes } from '../e2e/runs-rig.ts';
import { stubbornly } from '../e2e/stubbornly.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

/** The Conflicting Feature Race: two tasks want one file, a third wants none of it, and everything is merged in the end. */

const FLOW = `
start: Race
nodes:
  Race:
    entry_block: Race__Write
    context_inheritance: true
    blocks:
      Write:
        worker: Agent:coder
        expects: changes
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: JUMP:Race__Test }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
      Test:
        worker: Internal:TestRunner
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: JUMP:Race__Fix }
      Fix:
        worker: Agent:coder
        max_visits: 3
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: JUMP:Race__Test }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
`;
const FILES = {
  'package.json': '{"type":"module","scripts":{"test":"sh check.sh"}}\n',
  'check.sh': 'if grep -H broken *.tsx; then exit 1; fi\n',
  'FeatureA.tsx': 'a\n',
  'other.ts': 'o\n',
  'notes.txt': 'a thought\n',
  '.gitignore': '.env\n',
};

const CREDENTIAL = {
  kind: 'retry',
  attempt: 1,
  status: 429,
  message: '429 of the first credential: going on with the second',
};
/** A waits until C has begun, so that both are seen at work at once; its first try is broken. */
const AGENTS = {
  A: [
    {
      choose: [
        { when: 'Race__Fix, visit', steps: [writes('FeatureA.tsx', 'a, done\n'), done('Mended.')] },
        {
          steps: [
            { emit: { type: 'progress', payload: CREDENTIAL } },
            writes('FeatureA.tsx', 'a, broken\n'),
            { sleep: 300 },
            done('Written.'),
          ],
        },
      ],
    },
  ],
  B: [{ shell: ['sh', '-c', 'cat FeatureA.tsx > FeatureB.tsx; echo b >> FeatureA.tsx'] }, done('Written.')],
  C: [writes('other.ts', 'o, done\n'), done('Written.')],
};
const PLANS = { A: ['FeatureA.tsx'], B: ['FeatureA.tsx', 'FeatureB.tsx'], C: ['other.ts'] };
type Name = keyof typeof PLANS;

const END = { 'FeatureA.tsx': 'a, done\nb', 'FeatureB.tsx': 'a, done', 'other.ts': 'o, done' };
const finalFiles = (rig: RunsRig) =>
  Object.fromEntries(Object.keys(END).map((path) => [path, rig.git('show', `main:${path}`)]));

let rig: RunsRig;
afterEach(() => rig.close());

async function openRace(): Promise<void> {
  rig = new RunsRig(FILES);
  rig.write({ '.reef/workflows.yaml': FLOW });
  await rig.trust();
}

async function start(name: Name): Promise<string> {
  const order = { task: name, agent: rig.world.script(name, AGENTS[name]), plan: PLANS[name], base: 'main' };
  // By key: a daemon killed while it takes an order is asked again.
  const { runId } = await stubbornly(() => rig.start({ ...order, accept: true, key: name }));
  return runId;
}

interface Where {
  runs: string[];
  worktrees: string[];
}

/** Where everything stands, in words that change with every transition. */
async function where(): Promise<Where> {
  const { runs } = await rig.world.client.call('runs', {});
  const { worktrees } = await rig.world.client.call('worktrees', { all: true });
  return {
    runs: runs.map(({ task, status, block, visit }) => `${task} ${status} ${block}#${visit}`).sort(),
    worktrees: worktrees.map(({ taskId, status }) => `${taskId} ${status}`).sort(),
  };
}

/** All is merged, and what the merges used is cleared away. */
function isOver({ worktrees }: Where): boolean {
  return worktrees.every((each) => each.endsWith(' accepted')) && leftovers(rig).length === 0;
}

const STUCK_MS = 60_000;

async function raceUntil(
  isMet: (now: Where) => boolean,
  { at, limitMs = STUCK_MS }: { at?: (now: Where) => Promise<void>; limitMs?: number } = {},
): Promise<void> {
  const explain = async (now: Where) => ({
    now,
    notices: (await rig.world.client.call('inbox', {})).notices,
    left: leftovers(rig),
  });
  const look = async () => {
    const now = await stubbornly(where);
    const isStuck = now.runs.some((run) => / (halted|failure|aborted|broken) /.test(run));
    if (isStuck) throw new Error(`the race is stuck: ${JSON.stringify(await explain(now))}`);
    if (!isMet(now)) await at?.(now);
    return now;
  };
  await eventually(look, isMet, { withinMs: limitMs, everyMs: at ? 25 : 200, explain });
}

/** Three merges, B on top of A, nothing of Reef's left but archives, no process, and the user's files as they were. */
async function expectTheEnd(own: Record<string, string>): Promise<void> {
  const { worktrees } = await rig.world.client.call('worktrees', { all: true });
  const { jobs } = await rig.world.client.call('status', {});
  const merged = rig.git('log', '--format=%s', 'main').split('\n');
  expect([finalFiles(rig), merged.slice().sort(), merged.indexOf('B') < merged.indexOf('A')]).toEqual([
    END,
    ['A', 'B', 'C', 'first', 'project'],
    true,
  ]);
  expect([leftovers(rig), usersOwn(rig), rig.git('fsck', '--no-dangling')]).toEqual([[], own, '']);
  expect(worktrees.map(({ path }) => path !== null && existsSync(path))).toEqual([false, false, false]);
  expect(jobs.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed', 'completed']);
  expect(processesWith(...jobs.map(({ id }) => `REEF_JOB=${id}`))).toEqual([]);
}

verifies('T-50', 'T-13', 'T-20', 'T-23', 'T-32', 'W-82').test(
  'B waits for A and starts by itself from what A merged, C does not wait, and the dirty checkout is byte-identical',
  async () => {
    await openRace();
    rig.git('checkout', '-q', '-b', 'mine');
    makeDirty(rig);
    const own = usersOwn(rig);
    const a = await start('A');
    const b = await start('B');
    const c = await start('C');
    const [inA, inB, inC] = (await Promise.all([a, b, c].map((id) => rig.look(id)))).map(({ runs }) => runs[0]);
    const { report } = await rig.world.client.call('conflicts', { plan: PLANS.B });
    expect([inB?.status, inB?.because, report.status]).toEqual([
      'queued',
      `waits for ${inA?.worktree} (FeatureA.tsx)`,
      'CLASH',
    ]);
    expect(inC?.status).not.toBe('halted');
    await rig.summaryWhen(c, ({ status }) => status === 'success');
    await raceUntil(isOver);
    await expectTheEnd(own);
    const seen = await rig.look(a);
    expect(seen.view?.gates.map(({ result }) => result)).toEqual(['failed', 'passed']);
    const { calls } = await rig.world.client.call('calls', { run: a });
    expect(calls.map(({ failovers }) => failovers)).toEqual([[], [CREDENTIAL.message]]);
  },
  120_000,
);

verifies('T-51', 'W-74', 'W-77', 'W-78').test(
  'with the daemon killed at each transition the race ends the same',
  async () => {
    await openRace();
    rig.git('checkout', '-q', '-b', 'mine');
    makeDirty(rig);
    const own = usersOwn(rig);
    for (const name of ['A', 'B', 'C'] as const) await start(name);
    const killedAt: string[] = [];
    const kill = async (now: Where) => {
      const here = JSON.stringify(now);
      if (killedAt.includes(here)) return;
      killedAt.push(here);
      await rig.world.killDaemon();
    };
    await raceUntil(isOver, { at: kill, limitMs: 4 * STUCK_MS });
    await expectTheEnd(own);
    expect(killedAt.length).toBeGreaterThanOrEqual(8);
  },
  300_000,
);

verifies('T-51', 'T-32').test(
  'with the checkout dirty on main A pends and B waits, through a kill; after a commit there both complete',
  async () => {
    await openRace();
    rig.write({ 'notes.txt': 'half a thought\n', untracked: 'mine\n' });
    const own = usersOwn(rig);
    for (const name of ['A', 'B'] as const) await start(name);
    const pending = async () =>
      (await rig.world.client.call('worktrees', {})).worktrees.map(({ pending: on }) => on?.target);
    const isPending = (targets: (string | undefined)[]) => targets.includes('main');
    await eventually(pending, isPending, { everyMs: 50 });
    await rig.world.killDaemon();
    const { worktrees } = await rig.world.client.call('worktrees', {});
    const states = worktrees.map(({ status, pending: on }) => [status, on?.files]);
    expect([states, usersOwn(rig)]).toEqual([
      [
        ['accepting', ['notes.txt']],
        ['queued', undefined],
      ],
      own,
    ]);
    rig.git('commit', '-qam', 'mine');
    await raceUntil(isOver);
    expect([
      rig.git('log', '--format=%s').split('\n').slice(0, 3),
      rig.git('show', 'main:FeatureB.tsx'),
      rig.git('status', '--porcelain', '-uno'),
      leftovers(rig),
      existsSync(rig.world.repository),
    ]).toEqual([['B', 'A', 'mine'], 'a, done', '', [], true]);
  },
  120_000,
);
