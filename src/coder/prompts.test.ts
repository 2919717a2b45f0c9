import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, calls, done, openScene, type Scene } from '../../test/support/coder/scene.ts';
import { sceneOfTest } from '../../test/support/coder/scene-of-test.ts';
import { ownTokens } from '../../test/support/own-tokens.ts';
import { verifies } from '../../test/support/verifies.ts';
import { systemClock } from '../base/clock.ts';
import { loadTokenCounter, type TokenCounter } from '../base/tokens.ts';
import { formatForPrompt } from '../repostate/snapshot/format.ts';
import { readState } from '../repostate/state/state-file.ts';
import type { ModelClient } from '../runtime/models/client.ts';
import type { Message } from '../runtime/models/message.ts';

const TURNS = 64;

/** Long enough to roll several times: reads, writes, edits, commands that change files, and a plan. */
function longScript(): unknown[] {
  const steps = Array.from({ length: TURNS }, (_, n): unknown => {
    const path = `src/part-${n % 12}.ts`;
    switch (n % 5) {
      case 0:
        return call('read_file', { path: `lib/file-${n % 9}.ts`, from: 1 + n, to: 90 + n });
      case 1:
        return call('write_file', {
          path: `out/result-${n}.ts`,
          content: `export const result${n} = ${n};\n`.repeat(30),
        });
      case 2:
        return call('run_command', {
          command: `sed -i 's/value 7/value ${n}/' lib/file-${n % 9}.ts; seq ${n} ${n + 400}`,
        });
      case 3:
        return calls(['todo', { op: 'note', text: `note of turn ${n}` }], ['list_files', { path: 'lib' }]);
      default:
        return call('write_file', { path, content: `export const part = ${n};\n`, replace: true });
    }
  });
  const [first, ...rest] = steps;
  return [
    call('todo', { op: 'set', items: ['all of it'] }),
    first,
    ...rest,
    call('todo', { op: 'complete', id: 'k1' }),
    done(),
  ];
}

const FILES = Object.fromEntries(
  Array.from({ length: 9 }, (_, n) => [
    `lib/file-${n}.ts`,
    Array.from({ length: 200 }, (__, line) => `// line ${line} of file ${n}, value ${line}\n`).join(''),
  ]),
);

const serial = (prompt: readonly Message[]): string[] => prompt.map((message) => JSON.stringify(message));

verifies('S-28', 'S-29', 'S-37', 'S-52').test(
  'over a long run every prompt extends the one before it, own text stays under 5,000 tokens, and what was rolled can be read',
  async () => {
    const scene = await sceneOfTest({ files: FILES, task: 'Go through all files.', script: longScript() });
    expect(await scene.work()).toMatchObject({ endedBy: 'done' });
    const epochs = scene.ledgers.map(({ epoch }) => epoch);
    expect([scene.prompts.length >= 60, (epochs.at(-1) ?? 0) >= 3]).toEqual([true, true]);
    expect(scene.ledgers.filter((ledger) => ownTokens(ledger) >= 5_000)).toEqual([]);
    expect(scene.ledgers.filter(({ estimated }) => estimated > 15_000)).toEqual([]);
    for (const [n, prompt] of scene.prompts.entries()) {
      const before = scene.prompts[n - 1];
      if (!before || epochs[n] !== epochs[n - 1]) continue;
      expect(serial(prompt).slice(0, before.length)).toEqual(serial(before));
    }
    const rolled = scene.news.flatMap((one) => (one.kind === 'context.rolled' ? one.dropped : []));
    expect(rolled.length).toBeGreaterThan(40);
    for (const turn of rolled) expect((await scene.artifacts.read(`t${turn}`)).text).toContain(`turn ${turn}\n`);
    // Written at turn 3, dropped long ago, one call away.
    const { text } = await scene.artifacts.read('t3', { grep: 'result1 = 1' });
    expect(text).toContain('export const result1 = 1;');
  },
  120_000,
);

/** Counts every byte of a request as the provider would: with its own vocabulary, and the wire's brackets. */
function countingOtherwise(counter: TokenCounter, reported: number[]) {
  return (client: ModelClient): ModelClient => ({
    ...client,
    async chat(request, sink) {
      const reply = await client.chat(request, sink);
      const input = Math.round(1.3 * counter.count(JSON.stringify([request.messages, request.tools])));
      reported.push(input);
      return { ...reply, usage: { ...reply.usage, input } };
    },
  });
}

verifies('S-41').test(
  'a model that counts otherwise is known from the fifth call on, and still known to the next process',
  async () => {
    const [counter, reported] = [await loadTokenCounter(), [] as number[]];
    const around = countingOtherwise(counter, reported);
    const first = await sceneOfTest({ files: FILES, script: longScript().slice(0, 40), around });
    expect(await first.work()).toBe('script_exhausted');
    const errors = first.ledgers.map(({ estimated }, n) => Math.abs(estimated / (reported[n] ?? 0) - 1));
    const later = errors.slice(4).sort((a, b) => a - b);
    expect([(errors[0] ?? 0) > 0.2, (later[Math.floor(later.length * 0.95)] ?? 1) < 0.05]).toEqual([true, true]);
    const calls = first.ledgers.map((ledger, n) => ({
      ...ledger,
      reported: { input: reported[n] ?? 0, cacheRead: 0, cacheWrite: 0 },
    }));
    await first.tracker.close();
    const next = await sceneOfTest({ root: first.root, turn: 40, script: [done()], around });
    const log = first.news.map((payload) => ({ type: 'progress', payload }));
    next.coder.restore(log, { turn: 40, used: { tokens: 0, usd: 0 }, calls });
    await next.work();
    expect(Math.abs((next.ledgers[0]?.estimated ?? 0) / (reported.at(-1) ?? 1) - 1)).toBeLessThan(0.1);
  },
  60_000,
);

verifies('S-19', 'S-28').test(
  'from the log up to any prompt the very same prompt is built again',
  async () => {
    const logAt: number[] = [];
    const scene: Scene = await sceneOfTest({
      files: FILES,
      script: longScript().slice(0, 26),
      task: 'Go through all files.',
      around: (client) => ({
        ...client,
        chat: (request, sink) => {
          logAt.push(scene.news.length);
          return client.chat(request, sink);
        },
      }),
    });
    expect(await scene.work()).toBe('script_exhausted');
    expect(scene.ledgers.at(-1)?.epoch).toBeGreaterThanOrEqual(1);
    for (const [n, prompt] of scene.prompts.entries()) {
      const log = scene.news.slice(0, logAt[n]).map((payload) => ({ type: 'progress', payload }));
      const again = await replayed(scene, log);
      expect(serial(again)).toEqual(serial(prompt));
    }
  },
  120_000,
);

/** The first prompt of a process that finds this log. */
async function replayed({ root }: Scene, log: { type: string; payload: unknown }[]): Promise<readonly Message[]> {
  const next = await openScene({ root, script: [], task: 'Go through all files.' });
  next.coder.restore(log, { turn: 0, used: { tokens: 0, usd: 0 } });
  await next.work();
  await next.tracker.close();
  return next.prompts[0] ?? [];
}

verifies('S-53').test('a provider that caches nothing is named once, and one that does is not', async () => {
  const runs = Array.from({ length: 8 }, (_, n) => `echo ${n}`);
  const played = async (cached: number) => {
    const usage = { input: 3_000, output: 10, cached };
    const turn = (command: string) => ({
      reply: { tool_calls: [{ name: 'run_command', arguments: { command } }], usage },
    });
    const scene = await sceneOfTest({ script: runs.map(turn) });
    await scene.work();
    return scene.news.filter(({ kind }) => kind === 'context.cache_miss');
  };
  expect([await played(0), await played(2_000)]).toEqual([
    [{ kind: 'context.cache_miss', turn: 4, segment: 'none' }],
    [],
  ]);
});

verifies('S-02', 'S-16', 'S-65').test(
  'after every step hashes are those of git, whoever changed the file',
  async () => {
    const format = `for f in *.txt; do tr a-z A-Z < $f > $f.new && mv $f.new $f; done`;
    const wrong: string[] = [];
    const scene: Scene = await sceneOfTest({
      files: { 'a.txt': 'alpha\n', 'b.txt': 'beta\n', 'c.txt': 'gamma\n' },
      script: [
        call('write_file', { path: 'd.txt', content: 'delta\n' }),
        call('run_command', { command: "sed -i 's/alpha/omega/' a.txt" }),
        call('run_command', { command: format }),
        call('read_file', { path: 'b.txt' }),
        call('edit_file', { path: 'b.txt', old: 'BETA', new: 'zeta' }),
        call('run_command', { command: 'git checkout -- a.txt; mv c.txt e.txt; rm d.txt' }),
        call('todo', { op: 'set', items: ['look'] }),
        call('repo_state', { section: 'files' }),
      ],
      around: (client) => ({
        ...client,
        chat: async (request, sink) => {
          wrong.push(...liesOf(scene), ...(await unwrittenOf(scene)));
          return client.chat(request, sink);
        },
      }),
    });
    expect(await scene.work()).toBe('script_exhausted');
    const { files, openTasks } = scene.tracker.getSnapshot();
    expect([wrong, scene.prompts.length]).toEqual([[], 9]);
    expect(files.map(({ path, status, wrote }) => `${path} ${status} ${wrote?.via}`).sort()).toEqual([
      'b.txt modified tool',
      'c.txt deleted command',
      'e.txt created command',
    ]);
    expect(openTasks.map(({ description }) => description)).toEqual(['look']);
    expect(formatForPrompt(scene.tracker.getSnapshot())).toContain('b.txt (');
  },
);

/** Files whose facts are not in the file yet, though a call has ended since. */
async function unwrittenOf({ tracker, checkout, prompts }: Scene): Promise<string[]> {
  if (prompts.length <= 1) return [];
  const report = await readState({ stateDir: join(checkout, '../state'), workDir: checkout }, systemClock);
  const written = 'state' in report ? report.state.files : [];
  return tracker
    .getSnapshot()
    .files.filter((file) => !written.some(({ path, hash }) => path === file.path && hash === file.hash))
    .map(({ path }) => `${path} is not written`);
}

function liesOf({ tracker, checkout, git }: Scene): string[] {
  return tracker.getSnapshot().files.flatMap(({ path, hash, blob, status }) => {
    if (status === 'deleted') return [];
    const sha256 = createHash('sha256')
      .update(readFileSync(join(checkout, path)))
      .digest('hex');
    return hash === sha256 && blob === git('hash-object', '--', path) ? [] : [path];
  });
}
