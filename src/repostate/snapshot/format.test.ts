import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { createRedactor } from '../../base/redact.ts';
import { loadTokenCounter } from '../../base/tokens.ts';
import type { FileMeta, RepoState } from '../../protocol/repostate.ts';
import { emptyState } from '../state/state-file.ts';
import { formatForPrompt } from './format.ts';

const counter = await loadTokenCounter();
const { count } = counter;

const hash = (start: string) => start.padEnd(64, '0');
const by = (turn: number, via: 'tool' | 'command' | 'outside' = 'tool') => ({ jobId: 'j-19', turn, via });
const file = (path: string, more: Partial<FileMeta>): FileMeta => ({
  path,
  hash: hash('a4f3e1'),
  size: 1,
  modTime: '2025-10-22T03:15:42Z',
  type: path.split('.').at(-1) ?? '',
  status: 'modified',
  ...more,
});

function sample(): RepoState {
  return {
    ...emptyState('/home/dev/shop-wt/fix-tax', 'run-7f2'),
    base: '4be91c2'.padEnd(40, '0'),
    branch: 'fix-tax',
    source: 'git',
    fingerprint: 'now',
    lastUpdated: '2025-10-22T03:15:42Z',
    files: [
      file('package-lock.json', { hash: hash('1b4e9a'), size: 90_211, wrote: by(30, 'command') }),
      file('src/tax.ts', { size: 2_451, wrote: by(38) }),
      file('test/tax.test.ts', { hash: hash('8d2c47'), size: 1_190, status: 'created', wrote: by(22) }),
      file('src/rate.ts', { status: 'unchanged', read: by(12) }),
      file('src/cart.ts', { status: 'unchanged', read: { ...by(33), range: [80, 140] } }),
    ],
    openTasks: [
      { id: 'k2', description: 'Add a zero-rated case', status: 'pending', priority: 2 },
      { id: 'k1', description: 'Round half-even per line item', status: 'in_progress', priority: 1 },
      { id: 'k0', description: 'Read the code', status: 'completed', priority: 0 },
    ],
    runs: [{ turn: 39, command: 'npm test', exit: 1, line: 'tax.test.ts:31 expected 10.02, got 10.03' }],
    checks: [
      { name: 'lint', ok: true, turn: 36, fingerprint: 'before' },
      { name: 'test', ok: false, turn: 39, fingerprint: 'now' },
    ],
    notes: [{ turn: 20, text: 'user: keep the public signature of applyTax' }],
  };
}

verifies('S-70').test('what another job did in the checkout carries its name, and never looks like an own turn', () => {
  const state = {
    ...sample(),
    runs: [{ jobId: 'j-18', turn: 4, command: 'npm test', exit: 0, line: 'ok' }],
    checks: [{ jobId: 'j-18', name: 'test', ok: true, turn: 4, fingerprint: 'now' }],
    notes: [{ jobId: 'j-19', turn: 20, text: 'own' }],
    openQuestion: { jobId: 'j-18', question: 'Which one?' },
    lastFailure: { jobId: 'j-18', turn: 3, text: 'overloaded' },
  };
  const turns = (text: string) =>
    text.split('\n').filter((line) => /^ {2}(j-|t\d)|^(Checks|Notes|Open question|Last f)/.test(line));
  expect(turns(formatForPrompt(state, { count, jobId: 'j-19' }))).toEqual([
    '  j-18/t4 $ npm test → 0: ok',
    'Checks: test ok j-18/t4',
    'Notes: t20 own',
    'Open question of j-18: Which one?',
    'Last failure j-18/t3: overloaded',
  ]);
  expect(formatForPrompt(state, { count, jobId: 'j-20' })).toContain('modified j-19/t38');
});

verifies('S-09', 'S-10', 'S-65').test('the snapshot has the sections of the seed, and an old check is stale', () => {
  const epoch = { n: 3, turn: 41, earlier: [0, 37] as const };
  expect(formatForPrompt(sample(), { count, epoch, names: ['RateTable', 'roundHalfEven', 'lineTotals'] })).toBe(
    `--- Repository State ---
Workspace: /home/dev/shop-wt/fix-tax
Story: run-7f2 | fix-tax on 4be91c2 | epoch 3, verified t41 | earlier turns: artifact_read "t0".."t37"

Existing Files (3 changed, 2 read):
  • src/tax.ts (a4f3e1, 2451 bytes) - ts source, modified t38
  • package-lock.json (1b4e9a, 90211 bytes) - json, modified by command t30
  • test/tax.test.ts (8d2c47, 1190 bytes) - ts source, created t22
  read: src/cart.ts:80-140 t33, src/rate.ts t12
Runs:
  t39 $ npm test → 1: tax.test.ts:31 expected 10.02, got 10.03
Checks: lint ok t36 (stale), test FAIL t39
Open Tasks (2, 1 done):
  1. [in_progress] Round half-even per line item
  2. [pending] Add a zero-rated case
Notes: t20 user: keep the public signature of applyTax
Names: RateTable roundHalfEven lineTotals
Last updated: 2025-10-22 03:15:42 UTC`,
  );
});

test('what is deleted, unknown, moved or known from tools alone is said so', () => {
  const state = {
    ...sample(),
    source: 'tools' as const,
    runs: [],
    checks: [],
    notes: [],
    openTasks: [],
    lastUpdated: '',
    files: [
      file('a.go', { status: 'deleted', hash: '', wrote: by(4, 'outside') }),
      file('b.go', { status: 'unknown' }),
      file('c/go.mod', { status: 'created', from: 'go.mod', type: 'mod', wrote: by(2, 'outside') }),
    ],
  };
  expect(formatForPrompt(state, { count }).split('\n').slice(2)).toEqual([
    'Story: run-7f2 | fix-tax on 4be91c2 | known from tools only, git does not answer',
    '',
    'Existing Files (3 changed):',
    '  • a.go - deleted outside this agent t4',
    '  • c/go.mod (a4f3e1, 1 bytes) - go module, created from go.mod outside this agent t2',
    '  • b.go - state unknown: read it before editing',
    'Open Tasks (0):',
    'Last updated: never',
  ]);
});

const word = fc.string({
  unit: fc.constantFrom('a', 'Z', '9', '/', '.', ' ', '\n', '•', '😀', '日', '\u202e', '-', '\t'),
  maxLength: 200,
});
const anyState = fc
  .record({
    paths: fc.uniqueArray(
      word.filter((path) => path !== ''),
      { maxLength: 40 },
    ),
    tasks: fc.array(word, { maxLength: 14 }),
    texts: fc.array(word, { maxLength: 8 }),
  })
  .map(
    ({ paths, tasks, texts }): RepoState => ({
      ...sample(),
      files: paths.map((path, n) => file(path, { wrote: by(n), status: n % 5 === 0 ? 'deleted' : 'modified' })),
      openTasks: tasks.map((description, n) => ({ id: `k${n}`, description, priority: n % 3, status: 'pending' })),
      notes: texts.map((text, turn) => ({ turn, text })),
      runs: texts.map((text, turn) => ({ turn, command: text, exit: 0, line: text })),
      openQuestion: { jobId: 'j', question: texts.join(' ') },
      lastFailure: { turn: 1, text: texts.join('\n') },
    }),
  );

verifies('S-11').test('the same state gives the same bytes, whatever the order it is held in', () => {
  fc.assert(
    fc.property(anyState, (state) => {
      const turned = { ...state, files: state.files.toReversed(), openTasks: state.openTasks.toReversed() };
      expect(formatForPrompt(turned, { count })).toBe(formatForPrompt(structuredClone(state), { count }));
    }),
    { numRuns: 60 },
  );
});

verifies('S-12', 'S-14').test('no state exceeds 800 tokens, and none forges a line', () => {
  const OWN =
    /^(--- Repository State ---|Workspace: .*|Story: .*||Existing Files \(.*| {2}• .*| {2}read: .*| {2}… \d+ more: .*|Runs:| {2}t\d+ \$ .*|Checks: .*|Open Tasks \(.*| {2}\d+\. \[.*|Notes: .*|Open question: .*|Last failure t.*|Names:.*|Last updated: .*)$/;
  fc.assert(
    fc.property(anyState, (state) => {
      const text = formatForPrompt(state, { count, names: ['someIdentifier'] });
      expect(count(text)).toBeLessThanOrEqual(800);
      const lines = text.split('\n');
      expect(lines.filter((line) => !OWN.test(line))).toEqual([]);
      const files = state.files.length;
      expect(lines.filter((line) => line.startsWith('  • ')).length).toBeGreaterThanOrEqual(Math.min(12, files));
      expect(lines.filter((line) => /^ {2}\d+\. \[/.test(line))).toHaveLength(Math.min(10, state.openTasks.length));
      expect(lines.filter((line) => line.startsWith('Existing Files'))).toHaveLength(1);
    }),
    { numRuns: 100 },
  );
});

verifies('S-12').test(
  'detail is given up in its order: names, runs, read files, notes, changed files, task text',
  () => {
    const busy = (changed: number): RepoState => ({
      ...sample(),
      files: [
        ...Array.from({ length: changed }, (_, n) => file(`src/module-number-${n}/handler.ts`, { wrote: by(n) })),
        ...Array.from({ length: 9 }, (_, n) => file(`lib/reading-${n}.ts`, { status: 'unchanged', read: by(n) })),
      ],
      runs: Array.from({ length: 8 }, (_, turn) => ({
        turn,
        command: 'npm run check -- --all',
        exit: 0,
        line: 'all is well here',
      })),
    });
    const names = Array.from({ length: 80 }, (_, n) => `identifierNumber${n}`);
    const shown = (changed: number) => {
      const text = formatForPrompt(busy(changed), { count, names });
      const lines = text.split('\n');
      return {
        fits: count(text) <= 500,
        names: text.includes('Names:'),
        runs: lines.filter((line) => line.startsWith('  t')).length,
        files: lines.filter((line) => line.startsWith('  • ')).length,
        rest: lines.find((line) => line.startsWith('  … ')),
      };
    };
    expect([shown(1), shown(10), shown(60)]).toEqual([
      { fits: true, names: true, runs: 6, files: 1, rest: undefined },
      { fits: true, names: false, runs: 2, files: 10, rest: undefined },
      { fits: false, names: false, runs: 2, files: 12, rest: '  … 48 more: repo_state files' },
    ]);
  },
);

verifies('S-14').test('secrets in paths, tasks, commands and names do not reach a prompt', () => {
  const secret = 'hunter2-hunter2';
  const state: RepoState = {
    ...sample(),
    files: [file(`src/${secret}.ts`, { wrote: by(1) })],
    openTasks: [{ id: 'k1', description: `use ${secret}`, priority: 1, status: 'pending' }],
    runs: [{ turn: 1, command: `curl -u ${secret}`, exit: 0, line: secret }],
    notes: [{ turn: 1, text: secret }],
  };
  expect(formatForPrompt(state, { count, redact: createRedactor([secret]), names: [secret] })).not.toContain('hunter2');
});

verifies('S-13').test('names take at most 200 tokens, best first', () => {
  const names = Array.from({ length: 300 }, (_, n) => `identifierNumber${n}`);
  const line =
    formatForPrompt(emptyState('/w', 's'), { count, names })
      .split('\n')
      .find((one) => one.startsWith('Names:')) ?? '';
  expect(count(line)).toBeLessThanOrEqual(200);
  expect(line.split(' ').slice(1, 3)).toEqual(['identifierNumber0', 'identifierNumber1']);
  expect(count(line)).toBeGreaterThan(180);
});
