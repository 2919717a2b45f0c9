import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { costOf, PrefixCache } from '../../bench/context/cache-model.ts';
import { checkRows } from '../../bench/context/check.ts';
import { makeSet } from '../../bench/context/generate/make-set.ts';
import { measureRun, Reader } from '../../bench/context/measure-run.ts';
import { type Row, rowOf, tableOf } from '../../bench/context/report.ts';
import { statesOf } from '../../bench/context/states.ts';
import { STRATEGIES } from '../../bench/context/strategies.ts';
import { exchangesOf, loadTrajectories, parseMini, type Trajectory } from '../../bench/context/trajectory.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { loadTokenCounter } from '../base/tokens.ts';
import { createArtifactStore } from './artifacts/artifact-store.ts';

const SHIPPED = 'bench/context/trajectories';
const counter = await loadTokenCounter();

const shipped = loadTrajectories(SHIPPED, 'reef');

verifies('S-62').test(
  'the shipped set is what its seeds make, of the promised size, with every hard case in it',
  () => {
    const files = makeSet();
    expect(readdirSync(SHIPPED).sort()).toEqual([...files.keys()]);
    for (const [name, text] of files) expect(readFileSync(join(SHIPPED, name), 'utf8') === text, name).toBe(true);
    const bytes = readdirSync(SHIPPED).reduce((sum, name) => sum + statSync(join(SHIPPED, name)).size, 0);
    const { runs, refused } = shipped;
    const lengths = runs.map(({ turns }) => turns.length).sort((a, b) => a - b);
    const texts = runs.flatMap(({ turns }) =>
      turns.flatMap(({ assistant, calls }) => [assistant, ...calls.map(({ result }) => result)]),
    );
    const calls = runs.flatMap(({ turns }) => turns.flatMap((turn) => turn.calls));
    const rewrites = calls.filter(({ tool, args }) => tool === 'write_file' && args.path === 'src/report/summary.ts');
    expect({
      refused,
      isEnough: runs.length >= 24 && bytes <= 8_000_000,
      lengths: [lengths[0], lengths[lengths.length >> 1], lengths.at(-1)],
      hugeMessage: texts.some((text) => counter.count(text) > 60_000),
      hugeLine: texts.some((text) => text.split('\n').some((line) => line.length >= 200_000)),
      longTask: runs.some(({ task }) => counter.count(task) > 7_000),
      rewrites: rewrites.length,
      noops: calls.some(({ noop }) => noop),
      outside: calls.some(({ outside }) => outside !== undefined),
    }).toEqual({
      refused: [],
      isEnough: true,
      lengths: [13, 36, 145],
      hugeMessage: true,
      hugeLine: true,
      longTask: true,
      rewrites: 9,
      noops: true,
      outside: true,
    });
  },
);

verifies('S-60').test('a malformed file is named with its field, and the others still run', () => {
  const dir = temporaryFolder();
  const good: Trajectory = {
    format: 'reef-trajectory/1',
    id: 'x',
    system: '',
    task: '',
    turns: [{ assistant: 'hi', calls: [] }],
  };
  writeFileSync(join(dir, 'a.json'), JSON.stringify(good));
  writeFileSync(join(dir, 'b.json'), '{"format":"reef-trajectory/1"');
  writeFileSync(
    join(dir, 'c.jsonl'),
    `${JSON.stringify(good)}\n${JSON.stringify({ ...good, turns: [{ assistant: 7, calls: [] }] })}\n`,
  );
  const { runs, refused } = loadTrajectories(dir, 'reef');
  expect(runs).toHaveLength(2);
  expect(refused.map(({ code, details }) => [code, details])).toEqual([
    ['trajectory_invalid', { path: 'b.json', field: '' }],
    ['trajectory_invalid', { path: 'c.jsonl:2', field: 'turns.0.assistant' }],
  ]);
});

verifies('S-60').test('a bash-only run of another agent is read as thought, command and result', () => {
  const messages = [
    { role: 'system', content: 'You can run commands.' },
    { role: 'user', content: 'Fix it.' },
    {
      role: 'assistant',
      content: 'THOUGHT: look\n\n```bash\nls -l\n```',
      extra: { response: { usage: { prompt_tokens: 9 } } },
    },
    { role: 'user', content: '<returncode>2</returncode>\n<output>\nno such file\n</output>' },
    { role: 'assistant', content: 'no command here' },
    { role: 'user', content: 'Please give one command.' },
  ];
  expect(parseMini(JSON.stringify({ messages, instance_id: 'case-1' }), 'x')).toEqual({
    format: 'reef-trajectory/1',
    id: 'case-1',
    system: 'You can run commands.',
    task: 'Fix it.',
    turns: [
      {
        assistant: 'THOUGHT: look',
        calls: [{ id: 'c0', tool: 'run_command', args: { command: 'ls -l' }, exit: 2, result: messages[3]?.content }],
      },
      {
        assistant: 'no command here',
        calls: [{ id: 'c1', tool: 'reply', args: {}, exit: null, result: 'Please give one command.' }],
      },
    ],
  });
});

verifies('S-61').test(
  'the cache reads what two prompts share from the first message on, if that is the minimum; nothing after a change',
  () => {
    const block = (key: string, tokens: number) => ({ key, tokens });
    const cache = new PrefixCache();
    const [a, b, c] = [block('a', 1_000), block('b', 500), block('c', 4_000)];
    const charges = [[a], [a, b], [a, b, c], [a, c, b], [a, c, b, b]].map((prompt) => cache.charge(prompt));
    expect(charges).toEqual([
      { tokens: 1_000, read1024: 0, read4096: 0 },
      { tokens: 1_500, read1024: 0, read4096: 0 },
      { tokens: 5_500, read1024: 1_500, read4096: 0 },
      { tokens: 5_500, read1024: 0, read4096: 0 },
      { tokens: 6_000, read1024: 5_500, read4096: 5_500 },
    ]);
    const last = charges[4] ?? { tokens: 0, read1024: 0, read4096: 0 };
    expect([costOf(last, { minimum: 1_024, write: 1 }), costOf(last, { minimum: 4_096, write: 1.25 })]).toEqual([
      1_050, 1_175,
    ]);
  },
);

async function rowsFor(
  run: Trajectory,
  names: readonly string[],
): Promise<{ rows: Row[]; checked: number; wrong: string[] }> {
  const scratch = temporaryFolder();
  const { at: states, checked, wrong } = await statesOf(run, scratch);
  const store = createArtifactStore({ dir: join(scratch, 'a'), rootId: run.id, jobId: run.id, redact: (text) => text });
  const input = { run, exchanges: exchangesOf(run), states, counter, reader: new Reader(counter), store };
  const measure = async (name: string) => ({
    at1024: [await measureRun(name, 1_024, input)],
    at4096: [await measureRun(name, 4_096, input)],
  });
  const full = await measure('full');
  const rows: Row[] = [];
  for (const name of names) rows.push(rowOf(name, name === 'full' ? full : await measure(name), full));
  return { rows, checked, wrong };
}

verifies('S-60', 'S-61').test(
  'every strategy plays a shipped run; the product is bounded, true, and loses nothing',
  async () => {
    const run = shipped.runs.find(({ id, turns }) => id.startsWith('outside-changes') && turns.length > 30);
    if (!run) throw new Error('the run with outside changes is missing');
    const { rows, checked, wrong } = await rowsFor(run, Object.keys(STRATEGIES));
    expect(rows.map(({ strategy }) => strategy)).toEqual([
      'full',
      'mask-10',
      'last-1',
      'last-3',
      'epoch-8k',
      'epoch-10k',
      'epoch-12k',
    ]);
    expect([checked > 100, wrong]).toEqual([true, []]);
    const [full, , , last3, , ours] = rows;
    expect(full).toMatchObject({ recall: 1, cost: { 'write 1.0': 1, 'write 1.25': 1, 'minimum 4096': 1 } });
    expect(ours?.recallWithArtifacts).toBe(1);
    expect((ours?.cost['write 1.0'] ?? 1) < (last3?.cost['write 1.0'] ?? 0)).toBe(true);
    expect([(ours?.ownText ?? 9_999) < 5_000, (ours?.snapshot?.max ?? 999) <= 800]).toEqual([true, true]);
    expect(tableOf(rows).split('\n')).toHaveLength(9);
  },
  60_000,
);

verifies('S-62', 'S-63').test(
  'a promise that is broken, and a corpus unlike the reference runs, are told with their figures',
  () => {
    const good = (strategy: string, cost: number, more: Partial<Row> = {}): Row => ({
      strategy,
      tokensPerTurn: 1,
      p95: 1,
      slope: strategy === 'full' ? 400 : 0,
      hit: 1,
      cost: { 'write 1.0': cost, 'write 1.25': cost, 'minimum 4096': cost },
      recall: 0.95,
      recallWithoutNames: 0.9,
      recallWithArtifacts: 1,
      snapshot: { p50: 1, p90: 400, max: 500 },
      ownText: 4_000,
      ...more,
    });
    const plain = [good('full', 1), good('last-1', 0.49), good('last-3', 0.99), good('mask-10', 2.3)];
    const facts = { checked: 9, wrong: [], isShipped: true };
    expect(checkRows({ ...facts, rows: [...plain, good('epoch-10k', 0.55)] })).toEqual({ failures: [], drift: [] });
    const bad = good('epoch-10k', 0.8, { recall: 0.8, recallWithArtifacts: 0.99, slope: 9, ownText: 5_000 });
    const { failures, drift } = checkRows({
      ...facts,
      wrong: ['x'],
      rows: [good('full', 1), good('last-1', 0.9), bad],
    });
    expect(failures).toHaveLength(7);
    expect(failures[0]).toBe('cost, writes 1.0, minimum 1,024, at most 0.60: 0.800');
    expect(drift.map((line) => line.split(' ')[0])).toEqual(['last-1', 'last-3', 'mask-10']);
  },
);
