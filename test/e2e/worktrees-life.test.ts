import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { WorktreeView } from '../../src/protocol/worktrees.ts';
import { verifies } from '../support/verifies.ts';
import { ADDS, byBlock, done, leftovers, makeDirty, QUICK, RunsRig, SUBTRACTS, usersOwn, writes } from './runs-rig.ts';

/** Worktrees from the command line: made once, set up, put aside, brought back, merged, removed; the user's files never. */

const FILES = {
  'package.json': '{"type":"module","scripts":{"test":"node check.mjs"}}\n',
  // Worktrees that are about something else have no sum.
  'check.mjs': [
    "import { existsSync } from 'node:fs';",
    "const { sum } = existsSync('sum.mjs') ? await import('./sum.mjs') : { sum: () => 5 };",
    "if (sum(2, 3) !== 5) throw new Error('not five');\n",
  ].join('\n'),
  'notes.txt': 'a thought\n',
  '.gitignore': '.env\nset-up.*\n',
};

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig(FILES);
  rig.write({ '.reef/workflows.yaml': QUICK });
  await rig.trust();
});
afterEach(() => rig.clear());
afterAll(() => rig.close());

const right = (of = rig) =>
  of.world.script('right', byBlock({ Quick__Write: [writes('sum.mjs', ADDS), done('Written.')] }));
const wrong = () =>
  rig.world.script('wrong', byBlock({ Quick__Write: [writes('sum.mjs', SUBTRACTS), done('Written.')] }));

async function view(id: string, of = rig): Promise<WorktreeView> {
  const { worktrees } = await of.world.client.call('worktrees', { all: true });
  const found = worktrees.find((each) => each.id === id);
  if (!found) throw new Error(`no worktree ${id}`);
  return found;
}

verifies('T-01', 'T-22').test(
  'a hundred requests, fifty at once, for one task make one worktree, outside the checkout',
  async () => {
    const order = { taskId: 'one', title: 'one task', plan: ['one.txt'] };
    // The daemon takes 64 connections at once.
    const wave = () => Array.from({ length: 50 }, () => rig.world.client.call('worktree_create', order));
    const made = [...(await Promise.all(wave())), ...(await Promise.all(wave()))];
    const [first] = made;
    const registered = rig.git('worktree', 'list', '--porcelain').match(/^worktree .*/gm) ?? [];
    expect([new Set(made.map(({ id }) => id)).size, registered.slice(1)]).toEqual([1, [`worktree ${first?.path}`]]);
    expect(first?.path?.startsWith(rig.world.repository)).toBe(false);
  },
  60_000,
);

verifies('T-35', 'W-31').test(
  'a halted run is held with its worktree, and resume brings both back',
  async () => {
    const { runId } = await rig.start({ task: 'write sum', agent: wrong() });
    const { run } = await rig.settled(runId);
    const path = run.path ?? '';
    writeFileSync(join(path, 'by-hand.txt'), 'mine\n');
    writeFileSync(join(path, 'sum.mjs'), ADDS);
    const held = await rig.reef('run', 'hold', runId);
    expect([held.code, held.err, existsSync(path), (await view(run.worktree)).status]).toEqual([0, '', false, 'held']);
    const [kept = ''] = rig.git('rev-parse', `refs/reef/held/${run.worktree}^@`).split('\n').slice(-1);
    const session = JSON.parse(rig.git('show', `${kept}:session.json`));
    expect(session).toMatchObject({ runId, currentBlockId: 'Quick__Test', returnStack: [] });
    await rig.world.killDaemon();
    const resumed = await rig.reef('run', 'retry', runId);
    expect([resumed.code, resumed.err]).toEqual([0, '']);
    const after = await rig.settled(runId);
    expect([after.run.status, after.run.path, readFileSync(join(path, 'by-hand.txt'), 'utf8')]).toEqual([
      'success',
      path,
      'mine\n',
    ]);
  },
  90_000,
);

verifies('T-44', 'T-45', 'T-46').test(
  'a worktree gets the ignored files it is promised, its ports and its set-up; a set-up that fails halts the run until it works',
  async () => {
    const own = new RunsRig(FILES);
    const script = 'env | grep ^REEF_ | sort > set-up.txt; test -e "$REEF_ROOT/.allowed"';
    own.write({
      '.worktreeinclude': '.env\nnotes.txt\n',
      '.env': 'TOKEN=mine\n',
      '.reef/workflows.yaml': QUICK,
      '.reef/config.yaml': `worktree: { setup: [sh, -c, '${script}'] }\n`,
    });
    await own.trust();
    const { runId } = await own.start({ task: 'write sum', agent: right(own) });
    const run = await own.summaryWhen(runId, ({ status }) => status === 'halted');
    expect([run.status, run.because]).toEqual(['halted', expect.stringContaining('ended with 1')]);
    const asked = await own.reef('inbox');
    expect(asked.out).toContain('setup_failed');
    const failing = await view(run.worktree, own);
    const path = failing.path ?? '';
    expect([
      failing.setup.state,
      readFileSync(join(path, '.env'), 'utf8'),
      readFileSync(join(path, 'notes.txt'), 'utf8'),
    ]).toEqual(['failed', 'TOKEN=mine\n', 'a thought\n']);
    expect(readFileSync(join(path, 'set-up.txt'), 'utf8').split('\n')).toEqual([
      `REEF_BRANCH=${failing.branch}`,
      expect.stringMatching(/^REEF_JOB=/),
      `REEF_PORT_BASE=${failing.portBase}`,
      `REEF_ROOT=${own.world.repository}`,
      `REEF_WORKTREE=${path}`,
      '',
    ]);
    expect((await own.reef('worktree', 'setup', run.worktree)).code).toBe(1);
    own.write({ '.allowed': '' });
    const again = await own.reef('worktree', 'setup', run.worktree);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('set-up: done')]);
    expect((await own.settled(runId)).run.status).toBe('success');
    const other = await own.world.client.call('worktree_create', { title: 'other', plan: ['x'] });
    expect([other.portBase !== failing.portBase, other.portBase >= 20_000, other.portBase % 10]).toEqual([
      true,
      true,
      0,
    ]);
    await own.close();
  },
  90_000,
);

verifies('T-45').test("the user's own set-up prepares worktrees of a repository that names none", async () => {
  const own = new RunsRig(FILES);
  own.world.configure({ reef: { worktree: { setup: ['sh', '-c', 'echo mine > set-up.txt'] } } });
  const made = await own.world.client.call('worktree_create', { title: 'one', plan: ['x'] });
  const { path, setup } = await view(made.id, own);
  expect([setup.state, readFileSync(join(path ?? '', 'set-up.txt'), 'utf8')]).toEqual(['done', 'mine\n']);
  await own.close();
});

verifies('T-20', 'T-23').test(
  'a job whose plan clashes waits for the worktree and starts by itself when the other is merged',
  async () => {
    const first = await rig.world.client.call('worktree_create', { title: 'first', plan: ['shared.txt'] });
    const agent = rig.world.script('appends', [{ shell: ['sh', '-c', 'cat shared.txt; pwd'] }, { say: 'Done.' }]);
    const spawned = await rig.json('spawn', agent, 'second', '--worktree', '--plan', 'shared.txt');
    const job = await rig.world.job(spawned.agentId);
    expect(job.status).toBe('queued');
    const conflicts = await rig.reef('conflicts', '--plan', 'shared.txt');
    expect([conflicts.code, conflicts.out.includes('soft')]).toEqual([0, true]);
    const hurried = await rig.json('spawn', agent, 'third', '--worktree', '--plan', 'shared.txt', '--anyway');
    const { worktree = '' } = await rig.world.until(hurried.agentId, ({ status }) => status === 'completed');
    expect((await rig.reef('worktree', 'discard', worktree)).code).toBe(0);
    writeFileSync(join(first.path ?? '', 'shared.txt'), 'from the first\n');
    expect((await rig.reef('worktree', 'accept', first.id)).code).toBe(0);
    const ended = await rig.world.until(spawned.agentId, ({ status }) => status === 'completed');
    const texts = (await rig.world.events(spawned.agentId)).flatMap((event) =>
      event.type === 'progress' && event.payload.kind === 'tool_result' ? [event.payload.text] : [],
    );
    const { path } = await view(ended.worktree ?? '');
    expect(texts.join('\n')).toBe(`from the first\n${path}\n`);
    rig.git('reset', '-q', '--hard', 'HEAD~1');
  },
  90_000,
);

verifies('T-20', 'T-34').test(
  'a run that waits for another starts when that one is discarded, and one discarded while it waits is over',
  async () => {
    const first = await rig.world.client.call('worktree_create', { title: 'first', plan: ['sum.mjs'] });
    const { runId } = await rig.start({ task: 'write sum', agent: right(), plan: ['sum.mjs'] });
    const late = await rig.start({ task: 'write sum too', agent: right(), plan: ['sum.mjs'] });
    const waiting = await rig.look(runId);
    expect(waiting.runs[0]).toMatchObject({ status: 'queued', because: `waits for ${first.id} (sum.mjs)` });
    expect((await rig.reef('worktree', 'discard', late.worktree)).code).toBe(0);
    expect((await rig.reef('worktree', 'discard', first.id)).code).toBe(0);
    expect((await rig.settled(runId)).run.status).toBe('success');
    const aborted = await rig.start({ task: 'write sum at last', agent: right(), plan: ['sum.mjs'] });
    expect((await rig.reef('run', 'abort', aborted.runId)).code).toBe(0);
    const { runs } = await rig.json('runs');
    expect(runs.slice(0, 3).map(({ status }: { status: string }) => status)).toEqual(['aborted', 'aborted', 'success']);
  },
  90_000,
);

verifies('T-32', 'T-34', 'T-35', 'T-41', 'T-47', 'Q-52').test(
  "accept, discard, restore, hold and prune leave every byte of the user's checkout as it was",
  async () => {
    rig.git('checkout', '-q', '-b', 'mine');
    makeDirty(rig);
    const own = usersOwn(rig);
    const steps: string[] = [];
    const still = (what: string) => {
      expect(usersOwn(rig)).toEqual(own);
      steps.push(what);
    };
    const make = async (title: string) => {
      const made = await rig.json('worktree', 'create', title, '--base', 'main');
      writeFileSync(join(made.path, 'notes.txt'), `${title}\n`);
      writeFileSync(join(made.path, `${title}.txt`), 'new\n');
      return made;
    };
    const accepted = await make('accepted');
    expect((await rig.reef('worktree', 'accept', accepted.id)).code).toBe(0);
    expect(rig.git('show', 'main:notes.txt')).toBe('accepted');
    still('accept');
    const discarded = await make('discarded');
    const kept = await rig.json('worktree', 'discard', discarded.id);
    still('discard');
    const back = await rig.json('worktree', 'restore', kept.ref);
    expect([readFileSync(join(back.path, 'notes.txt'), 'utf8'), existsSync(join(back.path, 'discarded.txt'))]).toEqual([
      'discarded\n',
      true,
    ]);
    still('restore');
    expect((await rig.reef('worktree', 'hold', back.id)).code).toBe(0);
    still('hold');
    const { entries } = await rig.json('worktree', 'prune', '--yes');
    expect(entries.filter(({ outcome }: { outcome: string }) => outcome === 'removed')).toEqual([]);
    still('prune');
    expect((await rig.json('worktree', 'restore', back.id)).status).toBe('running');
    expect((await rig.reef('worktree', 'discard', back.id)).code).toBe(0);
    still('discard again');
    expect([steps.length, leftovers(rig)]).toEqual([6, []]);

    // On the target itself: the merge waits, names the files, and completes when the user has committed.
    rig.git('commit', '-qam', 'mine, aside');
    rig.git('checkout', '-q', 'main');
    makeDirty(rig);
    const dirty = usersOwn(rig);
    const waits = await make('waits');
    const pending = await rig.reef('worktree', 'accept', waits.id, '--when-clean');
    expect([pending.code, pending.out.includes('notes.txt'), usersOwn(rig)]).toEqual([0, true, dirty]);
    await rig.world.killDaemon();
    await rig.world.client.call('worktrees', {});
    expect(usersOwn(rig)).toEqual(dirty);
    rig.git('checkout', '-q', '--', 'notes.txt');
    rig.git('commit', '-qam', 'mine');
    await expect.poll(async () => (await view(waits.id)).status).toBe('accepted');
    expect([
      readFileSync(join(rig.world.repository, 'notes.txt'), 'utf8'),
      readFileSync(join(rig.world.repository, 'staged.txt'), 'utf8'),
      readFileSync(join(rig.world.repository, 'new/untracked.bin'), 'utf8'),
      readFileSync(join(rig.world.repository, '.env'), 'utf8'),
    ]).toEqual(['waits\n', 'staged, then edited\n', '\u0000\u0001\r\n', 'TOKEN=mine\n']);
  },
  120_000,
);
