import { expect } from 'vitest';
import { loadTrajectories, type Trajectory } from '../../../bench/context/trajectory.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { RepoState } from '../../protocol/repostate.ts';
import { emptyState } from '../state/state-file.ts';
import { ProgressWatch, type Tell, type Verdict } from './progress-watch.ts';
import { RepeatWatch } from './repeat-watch.ts';
import { compareLines, RewriteWatch } from './rewrite-watch.ts';

function watch() {
  const news: Parameters<Tell>[0][] = [];
  return {
    news,
    repeats: new RepeatWatch((one) => news.push(one)),
    progress: new ProgressWatch((one) => news.push(one)),
  };
}

verifies('S-43', 'S-48').test(
  'a call that failed three times in a row is not made again, its last error attached',
  () => {
    const { repeats, news } = watch();
    const fail = (args: unknown, error: string) => {
      repeats.beforeCall('edit_file', args);
      repeats.afterCall('edit_file', args, error);
    };
    const args = { path: 'a', old: 'x' };
    fail(args, 'not found');
    fail({ old: 'x', path: 'a' }, 'not found');
    fail(args, 'not found');
    repeats.beforeCall('edit_file', { ...args, path: 'b' });
    expect(() => repeats.beforeCall('edit_file', args)).toThrow(
      expect.objectContaining({
        code: 'repeated_failure',
        details: { tool: 'edit_file', failures: 3, error: 'not found' },
      }),
    );
    expect(news).toEqual([
      {
        kind: 'repostate.detected',
        detector: 'failing_call',
        action: 'refused',
        turn: 0,
        evidence: { tool: 'edit_file', failures: 3, error: 'not found' },
      },
    ]);
  },
);

verifies('S-43').test('another error, a success, or a command that merely ended with 1 begins anew', () => {
  const { repeats, news } = watch();
  for (const error of ['a', 'a', 'b', 'b', undefined, 'a', 'a']) {
    repeats.beforeCall('t', {});
    repeats.afterCall('t', {}, error);
  }
  for (let n = 0; n < 9; n++) {
    repeats.beforeCall('run_command', { command: 'npm test' });
    repeats.afterCall('run_command', { command: 'npm test' });
  }
  repeats.beforeCall('t', {});
  expect(news).toEqual([]);
});

verifies('S-44').test('a read shown above is answered by where; the third request gets the content', () => {
  const { repeats, news } = watch();
  const read = (turn: number, { hash = 'h', isInTail = true, from = 1 } = {}) => {
    repeats.beginTurn(turn);
    return repeats.afterRead({ path: 'a', range: [from, 9], hash }, () => isInTail);
  };
  expect([
    read(12),
    read(14),
    read(15),
    read(16),
    read(17, { hash: 'changed' }),
    read(18, { hash: 'changed', isInTail: false }),
    read(19, { hash: 'changed', from: 2 }),
  ]).toEqual([
    undefined,
    'unchanged since t12, shown above',
    undefined,
    'unchanged since t15, shown above',
    undefined,
    undefined,
    undefined,
  ]);
  expect(news.map(({ detector, turn }) => [detector, turn])).toEqual([
    ['repeated_read', 14],
    ['repeated_read', 16],
  ]);
});

verifies('S-45').test('the same output of the same command in the same tree is one line', () => {
  const { repeats, news } = watch();
  const run = (turn: number, more: { output?: string; fingerprint?: string; exit?: number } = {}) => {
    repeats.beginTurn(turn);
    return repeats.afterCommand({ command: 'npm test', exit: 1, output: 'long output', fingerprint: 'f', ...more });
  };
  const line = expect.stringMatching(/^Same output as at t1, exit 1: artifact_read "a:[0-9a-f]{7}"$/);
  expect([
    run(1),
    run(2),
    run(3),
    run(4, { output: 'other' }),
    run(5),
    run(6, { fingerprint: 'g' }),
    run(7, { exit: 0 }),
  ]).toEqual([undefined, line, line, undefined, undefined, undefined, undefined]);
  expect(news.map(({ action }) => action)).toEqual(['shortened', 'shortened']);
});

const state = (more: Partial<RepoState>): RepoState => ({ ...emptyState('/w', 's'), fingerprint: 'f', ...more });
interface Facts {
  required?: string[];
  hasNewReading?: boolean;
}
const judge = (
  progress: ProgressWatch,
  turn: number,
  { required = [], hasNewReading = false, ...more }: Partial<RepoState> & Facts = {},
): Verdict => progress.judge({ turn, state: state(more), required, hasNewReading, isCircling: false });

verifies('S-46').test('eight turns without anything new remind, sixteen ask once', () => {
  const { progress, news } = watch();
  const said = Array.from({ length: 20 }, (_, turn) => judge(progress, turn).is);
  expect(said).toEqual([
    ...Array(8).fill('going'),
    'remind',
    ...Array(7).fill('going'),
    'ask',
    'going',
    'going',
    'going',
  ]);
  expect(news.map(({ action, turn }) => [action, turn])).toEqual([
    ['reminded', 8],
    ['asked', 16],
  ]);
});

verifies('S-46').test('a new tree, a check turned green, a todo step or a new reading is progress', () => {
  const { progress, news } = watch();
  const steps: (Partial<RepoState> & Facts)[] = [
    {},
    { checks: [{ name: 'test', ok: true, turn: 1, fingerprint: 'x' }] },
    { openTasks: [{ id: 'k1', description: '', priority: 1, status: 'in_progress' }] },
    { hasNewReading: true },
    { fingerprint: 'g' },
  ];
  for (let turn = 0; turn < 7 * steps.length; turn++)
    judge(progress, turn, turn % 7 === 0 ? (steps[turn / 7] ?? {}) : {});
  expect(news).toEqual([]);
});

verifies('S-46').test('coming back to the same tree for the third time reminds', () => {
  const { progress, news } = watch();
  for (let turn = 0; turn < 7; turn++) {
    judge(progress, turn, { fingerprint: turn % 2 === 0 ? 'a' : `b${turn}`, hasNewReading: true });
  }
  expect(news.map(({ detector, turn, evidence }) => [detector, turn, evidence.visits])).toEqual([['stall', 6, 3]]);
});

verifies('S-47').test('criteria met at this tree remind; three turns later the job is complete', () => {
  const { progress } = watch();
  const done = {
    openTasks: [{ id: 'k1', description: '', priority: 1, status: 'completed' as const }],
    required: ['test'],
  };
  const green = (fingerprint: string) => ({ ...done, checks: [{ name: 'test', ok: true, turn: 1, fingerprint }] });
  const said = [
    judge(progress, 0, done),
    judge(progress, 1, green('older')),
    ...[2, 3, 4, 5].map((turn) => judge(progress, turn, green('f'))),
  ];
  expect(said.map((one) => one.is)).toEqual(['going', 'going', 'remind', 'remind', 'remind', 'complete']);
  expect(judge(watch().progress, 0)).toEqual({ is: 'going' });
});

verifies('S-42').test('lines shared count as often as both have them', () => {
  const shared = (before: string, after: string) => compareLines(before, after).shared;
  expect([shared('a\nb', 'b\na'), shared('a\na', 'a'), shared('a', 'b')]).toEqual([1, 2 / 3, 0]);
});

/** Plays one run, which went well, through every detector that can refuse something. */
function refusalsIn(run: Trajectory): string[] {
  const refused: string[] = [];
  const tell: Tell = (one) => one.action === 'refused' && refused.push(`${run.id} t${one.turn}`);
  const [repeats, rewrites] = [new RepeatWatch(tell), new RewriteWatch(tell)];
  const files = new Map(Object.entries(run.repo ?? {}));
  const write = (path: string, content: string, tool: string) => {
    const before = files.get(path);
    if (tool === 'write_file' && before !== undefined) rewrites.judge(path, before, content);
    rewrites.wrote(path, content);
    files.set(path, content);
  };
  for (const { tool, args, exit, files: after = {} } of run.turns.flatMap(({ calls }) => calls)) {
    repeats.beforeCall(tool, args);
    repeats.afterCall(tool, args);
    if (exit) rewrites.checkFailed();
    for (const [path, content] of Object.entries(after)) write(path, content ?? '', tool);
  }
  return refused;
}

verifies('S-48').test('over the recorded successful runs no write and no call is refused', () => {
  const { runs } = loadTrajectories('bench/context/trajectories', 'reef');
  expect([runs.length >= 24, runs.flatMap(refusalsIn)]).toEqual([true, []]);
});
