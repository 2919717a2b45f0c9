import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { agent, machine, spec } from '../../../test/support/agents/acp-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventBodySchema } from '../../protocol/events.ts';
import type { Effect, Json } from '../adapter.ts';

const SEED = 20_261_115;
const PASSES = 8;
const root = fileURLToPath(new URL('../../../test/fixtures/agents/', import.meta.url));

const streams = globSync('*-acp/*.jsonl', { cwd: root }).map((file) =>
  readFileSync(root + file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { dir: string; line?: string })
    .filter(({ dir, line }) => dir === 'out' && line !== undefined)
    .map(({ line }) => JSON.parse(line ?? '') as Json),
);

type Random = () => number;

function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const STRANGE: Json[] = [null, true, 0, -1, 1e300, '', 'constructor', '__proto__', '\ud800', [], {}, [[[]]], { id: 0 }];
const pick = <T>(random: Random, from: T[]): T | undefined => from[Math.floor(random() * from.length)];

/** One place of the value is dropped, doubled, or something that no agent would send. */
function mutate(random: Random, value: Json): Json {
  const isLeaf = typeof value !== 'object' || value === null || Object.keys(value).length === 0;
  if (isLeaf || random() < 0.15) return pick(random, STRANGE) ?? null;
  const entries = Object.entries(value);
  const at = Math.floor(random() * entries.length);
  const [key, child] = entries[at] ?? ['', null];
  const how = random();
  if (how < 0.2) entries.splice(at, 1);
  else if (how < 0.3) entries.push([`${key}_again`, child]);
  else entries[at] = [key, mutate(random, child)];
  return Array.isArray(value) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries);
}

function play(stream: Json[], random: Random): Effect[] {
  let state = agent.initial(spec, machine);
  const all: Effect[] = [];
  for (const message of stream) {
    const json = random() < 0.5 ? message : mutate(random, message);
    const parsed = agent.parse(state, { stream: 'out', json, skeleton: random() < 0.1 });
    all.push(...parsed.effects);
    const outgoing =
      random() < 0.05
        ? ({ kind: 'interrupt', messageId: 'i' } as const)
        : ({ kind: 'message', messageId: 'm', text: 'x' } as const);
    const encoded = agent.encode(parsed.state, outgoing);
    state = 'state' in encoded ? encoded.state : parsed.state;
    for (const effect of parsed.effects) {
      if (effect.do !== 'ask') continue;
      const answers = [{ kind: 'permission', decision: 'allow_once' } as const];
      const requestLine = JSON.stringify(json);
      const answer = agent.encode(state, { kind: 'answer', requestId: effect.requestId, requestLine, answers });
      if ('state' in answer) state = answer.state;
    }
    expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(64 * 1024);
  }
  return all;
}

verifies('Q-64', 'A-54').test('no line, however strange, throws, and what it says is an event of the contract', () => {
  const random = randomFrom(SEED);
  const effects = Array.from({ length: PASSES }, () => streams.flatMap((stream) => play(stream, random))).flat();
  const events = effects.flatMap((effect) => (effect.do === 'emit' ? [effect.event] : []));
  expect(events.flatMap((event) => eventBodySchema.safeParse(event).error?.issues ?? [])).toEqual([]);
  expect(events.some((event) => event.type === 'error' && event.payload.code === 'bad_line')).toBe(true);
});
