import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ownTokens } from '../../../test/support/own-tokens.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { loadTokenCounter } from '../../base/tokens.ts';
import type { ContextNews, Message, RepoState } from '../../protocol/repostate.ts';
import { emptyState } from '../state/state-file.ts';
import { type CacheProfile, type ContextParameters, parametersFor } from './cache-profile.ts';
import { ContextManager, type ManagerSettings } from './context-manager.ts';
import { countMessages, type Exchange } from './messages.ts';

const counter = await loadTokenCounter();
const PROFILE: CacheProfile = {
  readFactor: 0.1,
  minPrefix: 1_024,
  ttlS: 300,
  reasoning: false,
};

interface Bench {
  manager: ContextManager;
  news: ContextNews[];
  kept: Map<string, string>;
  state: RepoState;
}

function bench(parameters: Partial<ContextParameters> = {}, more: Partial<ManagerSettings> = {}): Bench {
  const news: ContextNews[] = [];
  const kept = new Map<string, string>();
  const state = emptyState('/w', 'run-1');
  const manager = new ContextManager({
    jobId: 'j-1',
    counter,
    profile: PROFILE,
    parameters: { ...parametersFor(PROFILE, 200_000), tailBudget: 4_000, ...parameters },
    redact: (text) => text.replaceAll('s3cret-s3cret', '[redacted]'),
    state: () => state,
    keep: async (text, { name }) => kept.set(name ?? `#${kept.size}`, text),
    tell: (one) => news.push(one),
    tools: [{ name: 'write_file' }, { name: 'read_file' }],
    system: 'You are a coder. Use TOOL CALLS ONLY.',
    task: 'Make the tests pass.',
    ...more,
  });
  return { manager, news, kept, state };
}

const words = (count: number, word = 'alpha beta gamma delta') =>
  Array.from({ length: count }, (_, n) => `${word} ${n}`).join('\n');

function exchange(turn: number, size = 60, more: Partial<Exchange> = {}): Exchange {
  const id = `c${turn}`;
  return {
    turn,
    text: `thinking about handlerNumber${turn}`,
    calls: [{ id, tool: 'run_command', args: { command: `make target_number_${turn}` } }],
    results: [{ id, kind: 'command', text: words(size) }],
    ...more,
  };
}

const bytes = (messages: readonly Message[]) => messages.map((message) => JSON.stringify(message));

const anyExchange = fc.record({
  calls: fc.array(fc.constantFrom('read', 'run', 'write'), { maxLength: 5 }),
  size: fc.integer({ min: 0, max: 400 }),
  text: fc.integer({ min: 0, max: 200 }),
  lost: fc.boolean(),
  orphan: fc.boolean(),
  reasoning: fc.boolean(),
  note: fc.constantFrom('', 'delta', 'reminder'),
});
type AnyExchange = typeof anyExchange extends fc.Arbitrary<infer T> ? T : never;

function toExchange(one: AnyExchange, turn: number): Exchange {
  const calls = one.calls.map((tool, n) => ({ id: `c${turn}.${n}`, tool, args: { what: words(one.text, tool) } }));
  const results = calls
    .slice(one.lost ? 1 : 0)
    .map(({ id }) => ({ id, kind: 'other' as const, text: words(one.size) }));
  return {
    turn,
    text: words(one.text),
    calls,
    results: one.orphan ? [...results, { id: 'nobody', kind: 'other', text: 'orphan' }] : results,
    ...(one.reasoning && { reasoning: [{ data: { opaque: turn }, tokens: 300 }] }),
  };
}

/** Plays exchanges and returns every prompt with the epoch it belongs to. */
function play({ manager }: Bench, all: readonly AnyExchange[]) {
  return all.map((one, turn) => {
    const built = manager.build(turn);
    const prompt = { ...built, epoch: built.ledger.epoch };
    manager.append(toExchange(one, turn));
    if (one.note === 'delta') manager.note(`State delta: file-${turn} changed.`);
    if (one.note === 'reminder') manager.remind(`Next: step ${turn % 3}.`);
    return prompt;
  });
}

verifies('S-28', 'S-29', 'S-32').test(
  'within an epoch each prompt extends the one before; all are bounded and every call has exactly one result',
  () => {
    fc.assert(
      fc.property(fc.array(anyExchange, { minLength: 1, maxLength: 25 }), (all) => {
        const prompts = play(bench(), all);
        for (const [index, prompt] of prompts.entries()) {
          const before = prompts[index - 1];
          if (before?.epoch === prompt.epoch) {
            expect(bytes(prompt.messages).slice(0, before.messages.length)).toEqual(bytes(before.messages));
          }
          const calls = prompt.messages.flatMap((message) =>
            message.role === 'assistant' ? message.calls.map(({ id }) => id) : [],
          );
          const results = prompt.messages.flatMap((message) => (message.role === 'tool' ? [message.id] : []));
          expect(results).toEqual(calls);
          expect(ownTokens(prompt.ledger)).toBeLessThan(5_000);
          expect(countMessages(counter, prompt.messages)).toBeLessThanOrEqual(5_000 + 4_000);
          const reasoning = prompt.messages.flatMap((message) =>
            message.role === 'assistant' ? (message.reasoning ?? []) : [],
          );
          expect(reasoning.every(({ tokens }) => tokens === 300)).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  },
);

verifies('S-19').test(
  'restored from its news after every event, a manager gives the same prompts, byte for byte',
  () => {
    fc.assert(
      fc.property(fc.array(anyExchange, { minLength: 1, maxLength: 16 }), (all) => {
        const first = bench();
        play(first, all);
        const log = first.news.map((payload) => ({ type: 'progress', payload: JSON.parse(JSON.stringify(payload)) }));
        const second = bench({}, { state: () => ({ ...emptyState('/elsewhere', 'run-9') }) });
        second.manager.restore([{ type: 'started', payload: {} }, ...log]);
        if (first.manager.tailTokens > 4_000) return; // the next build rolls, which renders the state of that moment
        const [again, before] = [second.manager.build(99), first.manager.build(99)];
        expect(again.ledger.epoch).toBe(before.ledger.epoch);
        expect(bytes(again.messages)).toEqual(bytes(before.messages));
      }),
      { numRuns: 40 },
    );
  },
);

verifies('S-19').test('a restart at any event goes on as if nothing had happened', () => {
  const whole = bench();
  const all = Array.from({ length: 14 }, (_, turn) => exchange(turn, 200));
  const prompts = all.map((one) => {
    const { messages } = whole.manager.build(0);
    whole.manager.append(one);
    return bytes(messages);
  });
  for (let cut = 1; cut < all.length; cut++) {
    const first = bench();
    for (const one of all.slice(0, cut)) {
      first.manager.build(0);
      first.manager.append(one);
    }
    const second = bench();
    second.manager.restore(first.news.map((payload) => ({ type: 'progress', payload })));
    const rest = all.slice(cut).map((one) => {
      const { messages } = second.manager.build(0);
      second.manager.append(one);
      return bytes(messages);
    });
    expect(rest).toEqual(prompts.slice(cut));
  }
});

verifies('S-15', 'S-30', 'S-31', 'S-33', 'S-37').test(
  'a roll drops all but the last exchanges, says so, and what it dropped is stored',
  async () => {
    const { manager, news, kept } = bench();
    let turn = 0;
    for (; manager.tailTokens <= 4_000; turn++) manager.append(exchange(turn, 120));
    const before = manager.tailTokens;
    const { messages, ledger } = manager.build(0);
    await manager.settle();
    const rolled = news.at(-1);
    expect(rolled).toMatchObject({
      kind: 'context.rolled',
      epoch: 1,
      reason: 'budget',
      dropped: Array.from({ length: turn - 2 }, (_, n) => n),
      tokensBefore: before,
      tokensAfter: manager.tailTokens,
    });
    expect(manager.tailTokens).toBeLessThanOrEqual(2_000);
    const snapshot = messages[2]?.text ?? '';
    expect(snapshot).toContain(`epoch 1, verified t${turn - 1} | earlier turns: artifact_read "t0".."t${turn - 3}"`);
    expect(snapshot).toContain(`target_number_${turn - 3}`);
    expect([...kept.values()]).toContain(snapshot);
    expect(kept.get('t0')).toContain(words(120));
    expect(ledger.exclusions.filter(({ why }) => why === 'rolled')).toEqual([
      { id: `t0..t${turn - 3}`, why: 'rolled' },
    ]);
  },
);

verifies('S-31', 'S-32').test(
  'one exchange that is too long alone keeps its calls; reasoning goes whole, results become references',
  () => {
    const { manager } = bench();
    const reasoning = [{ data: 'opaque', tokens: 3_000 }];
    manager.append(exchange(0, 90, { reasoning }));
    manager.append(exchange(1, 90, { reasoning }));
    const tail = manager.build(0).messages.slice(3);
    expect(tail).toEqual([
      {
        role: 'assistant',
        text: 'thinking about handlerNumber1',
        calls: [{ id: 'c1', tool: 'run_command', args: { command: 'make target_number_1' } }],
      },
      { role: 'tool', id: 'c1', text: '[artifact_read "t1"]' },
    ]);
  },
);

verifies('S-30').test('it rolls when idle longer than the cache lives and half full, and when asked', () => {
  const { manager, news } = bench();
  const reasons = () => news.flatMap((one) => (one.kind === 'context.rolled' ? [one.reason] : []));
  for (let turn = 0; manager.tailTokens <= 2_000; turn++) manager.append(exchange(turn, 100));
  manager.build(0);
  manager.build(300_000);
  expect(reasons()).toEqual([]);
  manager.build(600_001);
  expect(reasons()).toEqual(['idle']);
  manager.build(1_900_000);
  expect(reasons()).toEqual(['idle']);
  manager.append(exchange(50));
  manager.roll('model');
  expect(reasons()).toEqual(['idle', 'model']);
});

verifies('S-34').test('a reminder joins when it changed or eight turns passed, and stays where it is', () => {
  const { manager, news } = bench({ tailBudget: 64_000 });
  for (let turn = 0; turn < 20; turn++) {
    manager.append(exchange(turn, 1));
    manager.remind(turn < 10 ? 'Next: write the test.' : 'Next: make it pass.');
  }
  const said = news.flatMap((one) => (one.kind === 'context.noted' ? [`t${one.turn} ${one.text}`] : []));
  expect(said).toEqual([
    't0 Next: write the test.',
    't8 Next: write the test.',
    't10 Next: make it pass.',
    't18 Next: make it pass.',
  ]);
  expect(() => manager.remind(words(200))).toThrow(expect.objectContaining({ code: 'prompt_too_large' }));
});

verifies('S-27').test('a no-op names nothing; its short result stays beside its call', () => {
  const { manager } = bench();
  manager.append({
    turn: 0,
    text: '',
    calls: [{ id: 'c', tool: 'write_file', args: { path: 'main.go', content: 'onlyInTheNoop' } }],
    results: [{ id: 'c', kind: 'other', text: 'File already exists with identical content', noop: true }],
  });
  const shown = manager.build(0).messages.at(-1);
  for (let turn = 1; turn < 4; turn++) manager.append(exchange(turn, 1));
  manager.roll('asked');
  const snapshot = manager.build(0).messages[2]?.text;
  expect(shown).toEqual({ role: 'tool', id: 'c', text: 'File already exists with identical content' });
  expect(counter.count(shown?.text ?? '')).toBeLessThanOrEqual(20);
  expect(snapshot).not.toContain('onlyInTheNoop');
  expect(snapshot).toContain('target_number_1');
});

verifies('S-36').test(
  'in mode snapshot every prompt is the seed: fresh, the latest exchanges, under 5,000 in all',
  () => {
    const { manager } = bench({ mode: 'snapshot', tailBudget: 50_000 });
    for (let turn = 0; turn < 30; turn++) {
      const { messages, ledger } = manager.build(turn);
      expect(countMessages(counter, messages)).toBeLessThan(5_000);
      expect(ledger.mode).toBe('snapshot');
      manager.append(exchange(turn, 300));
    }
    const last = manager.build(30).messages;
    expect(last.filter(({ role }) => role === 'tool').length).toBeGreaterThanOrEqual(1);
    expect(last[2]?.text).toMatch(/verified t29 \| earlier turns: artifact_read "t0"\.\."t\d+"/);
  },
);

verifies('S-26').test(
  'without snapshots prompts carry the whole history, also after a resume; too long a one is told',
  () => {
    const epochs = bench();
    for (let turn = 0; turn < 30; turn++) {
      epochs.manager.build(0);
      epochs.manager.append(exchange(turn, 100));
    }
    expect(epochs.manager.build(0).ledger.epoch).toBeGreaterThan(0);
    const resumed = bench({ mode: 'full' });
    resumed.manager.restore(epochs.news.map((payload) => ({ type: 'progress', payload })));
    const { messages } = resumed.manager.build(0);
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(30);
    resumed.manager.append(exchange(30, 5_000));
    expect(resumed.manager.build(0).messages.at(-1)?.text).toBe(words(5_000));
    const small = bench({ mode: 'full', window: 6_000 });
    small.manager.append(exchange(0, 2_000));
    expect(() => small.manager.build(0)).toThrow(expect.objectContaining({ code: 'fallback_too_large' }));
  },
);

verifies('S-29').test(
  'tools are sorted and frozen; own text over its limit is refused, a long task shows head and tail',
  async () => {
    const { manager, kept } = bench({}, { task: `first line\n${words(3_000)}\nlast line`, instructions: words(300) });
    const { messages, ledger } = manager.build(0);
    await manager.settle();
    const sorted = bench({}, { tools: [{ name: 'read_file' }, { name: 'write_file' }] });
    expect(ledger.segments[0]).toEqual(sorted.manager.build(0).ledger.segments[0]);
    const task = messages[2]?.text ?? '';
    expect([task.startsWith('first line'), task.endsWith('last line'), task.includes('artifact_read "task"')]).toEqual([
      true,
      true,
      true,
    ]);
    expect(counter.count(task)).toBeLessThanOrEqual(1_800);
    expect(kept.get('task')).toContain(words(3_000));
    expect(ledger.segments.find(({ kind }) => kind === 'instructions')?.provenance).toBe('project');
    for (const wrong of [{ system: words(300) }, { instructions: words(2_000) }, { tools: [{ name: words(400) }] }]) {
      expect(() => bench({}, wrong)).toThrow(expect.objectContaining({ code: 'prompt_too_large' }));
    }
  },
);

verifies('S-37').test('secrets are gone before anything is shown or stored', async () => {
  const { manager, kept } = bench();
  const secret = 's3cret-s3cret';
  manager.append({
    turn: 0,
    text: secret,
    calls: [{ id: 'c', tool: 'run_command', args: { command: `curl ${secret}` } }],
    results: [{ id: 'c', kind: 'command', text: `${secret}\n${words(400)}` }],
  });
  const { messages } = manager.build(0);
  await manager.settle();
  expect(JSON.stringify([messages, [...kept]])).not.toContain(secret);
});

test('a store that fails is told when the prompt is about to be used', async () => {
  const { manager } = bench({}, { keep: () => Promise.reject(new Error('disk full')) });
  manager.append(exchange(0));
  await expect(manager.settle()).rejects.toThrow('disk full');
  await manager.settle();
});
