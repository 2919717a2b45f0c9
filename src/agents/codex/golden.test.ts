import { describe, expect, test } from 'vitest';
import {
  compact,
  type Entry,
  type Recording,
  recordings,
  replay,
  toAgentLine,
  type Wire,
} from '../../../test/support/agents/codex-replay.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventBodySchema } from '../../protocol/events.ts';
import type { Adapter, Effect, Json } from '../adapter.ts';
import { codexAdapter } from './adapter.ts';
import { codexExecAdapter } from './exec-adapter.ts';

const STATE_CAP = 64 * 1024;

const agents: { kind: 'app-server' | 'exec'; adapter: Adapter<Json> }[] = [
  { kind: 'app-server', adapter: codexAdapter as unknown as Adapter<Json> },
  { kind: 'exec', adapter: codexExecAdapter as unknown as Adapter<Json> },
];

describe.each(agents)('codex $kind', ({ kind, adapter }) => {
  const all = recordings(kind);

  for (const recording of all) {
    verifies('A-52', 'A-140').test(`${recording.name} reads as its reviewed snapshot`, async () => {
      const { effects } = replay(adapter, recording);
      await expect(compact(effects)).toMatchFileSnapshot(`../../../test/golden/codex/${kind}/${recording.name}.json`);
    });
  }

  verifies('A-52').test('what was sent in each recording is what it would send', () => {
    for (const recording of all) {
      if (recording.name === 'bad-requests') continue;
      const pairs = replay(adapter, recording).sent.map((pair) => comparable(pair, recording.isOwn));
      expect(pairs.map((pair) => pair.ours)).toEqual(pairs.map((pair) => pair.recorded));
    }
  });

  verifies('A-40', 'A-143').test('each typed request of each recording is asked, and nothing else is', () => {
    for (const recording of all) {
      const asked = replay(adapter, recording).effects.flatMap((effect) =>
        effect.do === 'ask' ? [effect.requestId] : [],
      );
      expect({ recording: recording.name, asked }).toEqual({ recording: recording.name, asked: requestIds(recording) });
    }
  });

  test('every event of every recording fits the schema of events', () => {
    const events = all.flatMap((recording) => replay(adapter, recording).effects.flatMap(eventOf));
    const misfits = events.filter((event) => !eventBodySchema.safeParse(event).success);
    expect(misfits).toEqual([]);
  });

  test('every tool call has one result at most, and no result comes without its call', () => {
    for (const recording of all) {
      const open = new Set<string>();
      for (const event of replay(adapter, recording).effects.flatMap(eventOf)) {
        if (event.type === 'tool_call') open.add(event.payload.id);
        if (event.type !== 'progress' || event.payload.kind !== 'tool_result') continue;
        expect({ recording: recording.name, had: open.delete(event.payload.id) }).toEqual({
          recording: recording.name,
          had: true,
        });
      }
    }
  });

  verifies('A-51').test('a restart between any two lines changes nothing, and the state stays small', () => {
    const restart = (state: Json): Json => JSON.parse(JSON.stringify(state));
    for (const recording of all) {
      const straight = replay(adapter, recording);
      expect(replay(adapter, recording, restart)).toEqual(straight);
      expect(straight.largestState).toBeLessThan(STATE_CAP);
    }
  });

  verifies('Q-64').test('no damaged line makes it throw', () => {
    const random = seeded(20_261_115);
    const deadline = Date.now() + 2000;
    const lines = all.flatMap(({ entries }) => entries.filter(({ dir }) => dir === 'out' || dir === 'err'));
    for (let round = 0; round < 3 && Date.now() < deadline; round++) {
      for (const recording of all) fuzz(adapter, recording, { lines, random });
    }
  });
});

function eventOf(effect: Effect) {
  return effect.do === 'emit' ? [effect.event] : [];
}

/** Settings that other recorders tried out and Reef does not use; a lasting yes stays in Reef. */
const TRIED_OUT = ['collaborationMode', 'config', 'approvalPolicy', 'sandbox'];

type Sent = { recorded: Wire; ours: Wire };

/** Ids apart, which are the sender's own. What another recorder said, Reef says too; what Reef itself said, exactly. */
function comparable({ recorded, ours }: Sent, isOwn: boolean): Sent {
  const isReply = recorded.method === undefined;
  const told = Object.keys(recorded.params ?? {}).filter((key) => isOwn || !TRIED_OUT.includes(key));
  const params = (line: Wire) => {
    const all = Object.entries(line.params ?? {});
    return Object.fromEntries(isOwn ? all : all.filter(([key]) => told.includes(key)));
  };
  const shape = (line: Wire): Wire => ({ ...line, params: params(line), id: isReply ? (line.id ?? null) : null });
  const single: Wire = JSON.parse(JSON.stringify(recorded).replace('acceptForSession', 'accept'));
  return { recorded: shape(single), ours: shape(ours) };
}

/** Ids of all requests of the agent. All that were recorded are ones Reef serves. */
function requestIds({ entries }: Recording): string[] {
  const lines = entries.filter(({ dir, line = '' }) => dir === 'out' && line.startsWith('{'));
  const messages = lines.map(({ line = '' }): Record<string, Json> => JSON.parse(line));
  return messages.flatMap(({ id, method }) => (id === undefined || method === undefined ? [] : [JSON.stringify(id)]));
}

function fuzz(adapter: Adapter<Json>, recording: Recording, by: { lines: Entry[]; random: () => number }): void {
  let state = adapter.initial(recording.spec, recording.host);
  for (const entry of recording.entries) {
    if (entry.line === undefined || entry.dir === 'in') continue;
    const line = toAgentLine(
      by.random() < 0.9 ? entry : (by.lines[Math.floor(by.random() * by.lines.length)] ?? entry),
    );
    const damaged = line.stream === 'out' ? { ...line, json: damage(line.json, by.random) } : line;
    state = adapter.parse(state, damaged).state;
  }
  expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(STATE_CAP);
}

const REPLACEMENTS: Json[] = [null, true, 0, -1, 1e308, '', '0', 'x'.repeat(100), [], {}, [null], { type: 'x' }];

/** Replaces, drops or repeats about one value in forty, anywhere in the message. */
function damage(value: Json, random: () => number): Json {
  if (random() < 0.025) return REPLACEMENTS[Math.floor(random() * REPLACEMENTS.length)] ?? null;
  if (Array.isArray(value)) return value.map((child) => damage(child, random));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(() => random() > 0.02);
  return Object.fromEntries(entries.reverse().map(([key, child]) => [key, damage(child, random)]));
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
