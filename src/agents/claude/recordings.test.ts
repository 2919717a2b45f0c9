import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { parseJson } from '../../base/safe-json.ts';
import { eventBodySchema } from '../../protocol/events.ts';
import type { Answer, Effect, Json, Outgoing } from '../adapter.ts';
import { claudeAdapter } from './adapter.ts';
import type { ClaudeState } from './state.ts';

const here = import.meta.dirname;
const fixtures = join(here, '../../../test/fixtures/agents');

/** The first two were made without session states; those of this folder, of 2.1.325, as Reef starts Claude. */
const folders = [
  { name: 'claude', path: join(fixtures, 'claude'), version: '2.1.325' },
  { name: 'claude-2.1.197', path: join(fixtures, 'claude-2.1.197'), version: '2.1.197' },
  { name: 'recordings', path: join(fixtures, 'claude-recorded'), version: '2.1.325' },
];

interface Step {
  dir: 'in' | 'out' | 'err' | 'exit' | 'sig' | 'note';
  line?: string;
  code?: number;
}

interface Recording {
  name: string;
  version: string;
  steps: Step[];
}

const recordings: Recording[] = folders.flatMap(({ name, path, version }) =>
  readdirSync(path)
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => ({
      name: `${name}/${file.slice(0, -'.jsonl'.length)}`,
      version,
      steps: readFileSync(join(path, file), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Step),
    })),
);

const request = {
  jobId: 'job',
  cwd: '/repo',
  freshSessionId: 'fresh',
  prompt: '',
  clientVersion: '0.0.0',
};

function start({ version }: { version: string }): ClaudeState {
  return claudeAdapter.initial(request, { command: ['/bin/claude'], version, agentSandbox: true, settings: {} });
}

/** Feeds a recording to the adapter as the job manager would, from the first line to the exit. */
class Replay {
  readonly effects: ({ at: number } & Record<string, unknown>)[] = [];
  readonly sent: { recorded: Json; made: Json }[] = [];
  largestState = 0;
  #state: ClaudeState;
  #stderrTail = '';
  readonly #requests = new Map<string, string>();

  constructor(recording: Recording, between: (state: ClaudeState) => ClaudeState = (state) => state) {
    this.#state = start(recording);
    for (const [at, step] of recording.steps.entries()) {
      this.#step(at, step);
      this.largestState = Math.max(this.largestState, Buffer.byteLength(JSON.stringify(this.#state)));
      this.#state = between(this.#state);
    }
  }

  #step(at: number, { dir, line, code }: Step): void {
    if (dir === 'out' && line !== undefined) this.#read(at, line);
    if (dir === 'err' && line !== undefined) this.#hear(line);
    if (dir === 'in' && line !== undefined) this.#write(at, line);
    if (dir === 'exit') this.#exit(at, code ?? null);
  }

  #read(at: number, line: string): void {
    const json = JSON.parse(line);
    if (json.type === 'control_request') this.#requests.set(json.request_id, line);
    const { state, effects } = claudeAdapter.parse(this.#state, { stream: 'out', json, skeleton: false });
    this.#state = state;
    for (const effect of effects) this.effects.push({ at, ...effect });
  }

  #hear(text: string): void {
    this.#stderrTail += `${text}\n`;
    const heard = claudeAdapter.parse(this.#state, { stream: 'err', text });
    expect(heard).toEqual({ state: this.#state, effects: [] });
  }

  #write(at: number, line: string): void {
    const recorded = parseJson(line);
    const outgoing = recorded.ok ? toOutgoing(recorded.value, { at, requests: this.#requests }) : undefined;
    const encoded = outgoing && claudeAdapter.encode(this.#state, outgoing);
    if (!encoded || !('lines' in encoded)) return;
    this.#state = encoded.state;
    this.sent.push({ recorded: JSON.parse(line), made: JSON.parse(encoded.lines.join('')) });
  }

  #exit(at: number, code: number | null): void {
    const exit = code === 143 ? { code: null, signal: 'SIGTERM' } : { code, signal: null };
    const told = claudeAdapter.finish(this.#state, { ...exit, stderrTail: this.#stderrTail });
    if (told) this.effects.push({ at, finish: told });
  }
}

function replay(recording: Recording, between?: (state: ClaudeState) => ClaudeState): Replay {
  return new Replay(recording, between);
}

// biome-ignore lint/suspicious/noExplicitAny: recorded lines, checked by what the adapter makes of them
function toOutgoing(line: any, { at, requests }: { at: number; requests: Map<string, string> }): Outgoing | undefined {
  if (line.type === 'user') {
    return { kind: 'message', messageId: line.uuid ?? `message-${at}`, text: line.message.content[0].text };
  }
  if (line.type === 'control_request') {
    return line.request.subtype === 'interrupt' ? { kind: 'interrupt', messageId: line.request_id } : undefined;
  }
  const { request_id: id, response } = line.response;
  const requestLine = requests.get(id) ?? '';
  return { kind: 'answer', requestId: JSON.stringify(id), requestLine, answers: toAnswers(response) };
}

function toAnswers(response: {
  behavior: string;
  message?: string;
  updatedInput?: { answers?: Record<string, string> };
}): Answer[] {
  if (response.behavior === 'deny') {
    return [{ kind: 'permission', decision: 'deny', ...(response.message ? { reason: response.message } : {}) }];
  }
  const given = response.updatedInput?.answers;
  if (given === undefined) return [{ kind: 'permission', decision: 'allow_once' }];
  return Object.values(given).map((label) => ({ kind: 'choice', labels: [label], ids: [label] }));
}

for (const recording of recordings) {
  verifies('A-52', 'A-140').test(`${recording.name} gives the effects that were reviewed`, async () => {
    const lines = replay(recording).effects.map((effect) => JSON.stringify(effect));
    const golden = `[\n${lines.join(',\n')}\n]\n`;
    await expect(golden).toMatchFileSnapshot(`../../../test/golden/claude/${recording.name}.json`);
  });
}

verifies('A-01').test('every event of every recording fits the schema of its type', () => {
  for (const recording of recordings) {
    for (const effect of replay(recording).effects) {
      if (effect.do === 'emit')
        expect(eventBodySchema.safeParse(effect.event), recording.name).toMatchObject({ success: true });
    }
  }
});

verifies('A-55', 'A-92').test('no recording has a line that is unknown or does not fit', () => {
  for (const recording of recordings) {
    const strange = replay(recording).effects.filter(
      (effect) => effect.do === 'unknown' || JSON.stringify(effect).includes('"bad_line"'),
    );
    expect({ name: recording.name, strange }).toEqual({ name: recording.name, strange: [] });
  }
});

verifies('A-52', 'A-150', 'A-90').test('what was written to Claude is what the adapter writes', () => {
  const { made, recorded } = Object.groupBy(
    recordings.flatMap((recording) => {
      const { sent } = replay(recording);
      return sent.flatMap((line) => [
        { side: 'made' as const, name: recording.name, line: withoutChance(line.made) },
        { side: 'recorded' as const, name: recording.name, line: withoutChance(line.recorded) },
      ]);
    }),
    ({ side }) => side,
  );
  expect(made?.length).toBeGreaterThan(60);
  expect(made?.map(({ name, line }) => ({ name, line }))).toEqual(recorded?.map(({ name, line }) => ({ name, line })));
});

/** Leaves out ids, A-90's echo, and what Reef never sends: rules of Claude's own, and a denial that ends the turn. */
// biome-ignore lint/suspicious/noExplicitAny: recorded lines of several shapes
function withoutChance(line: any): unknown {
  const { uuid: _, ...rest } = line;
  if (rest.type !== 'control_response') return rest;
  const { updatedInput, updatedPermissions: _rules, interrupt: _ends, ...reply } = rest.response.response;
  const answers = updatedInput?.answers === undefined ? {} : { updatedInput };
  return { ...rest, response: { ...rest.response, response: { ...reply, ...answers } } };
}

verifies('A-90').test('before 2.1.325 an allow repeats the arguments, from there on it does not', () => {
  const allows = recordings.flatMap((recording) =>
    replay(recording)
      .sent.map(({ made }) => JSON.stringify(made))
      .filter((line) => line.includes('"behavior":"allow"') && !line.includes('"answers"'))
      .map((line) => ({ version: recording.version, isEchoed: line.includes('updatedInput') })),
  );
  expect(new Set(allows.map((allow) => JSON.stringify(allow)))).toEqual(
    new Set([
      JSON.stringify({ version: '2.1.325', isEchoed: false }),
      JSON.stringify({ version: '2.1.197', isEchoed: true }),
    ]),
  );
});

verifies('A-40', 'A-143').test('each recorded request is asked, and nothing else is', () => {
  for (const recording of recordings) {
    const requested = recording.steps.flatMap((step, at) =>
      step.dir === 'out' && JSON.parse(step.line ?? '').type === 'control_request' ? [at] : [],
    );
    const asked = replay(recording).effects.flatMap((effect) => (effect.do === 'ask' ? [effect.at] : []));
    expect({ name: recording.name, asked }).toEqual({ name: recording.name, asked: requested });
  }
});

verifies('A-44').test(
  'every message, answer and interrupt that a recording shows was taken is acknowledged once',
  () => {
    for (const recording of recordings.filter(({ name }) => name.startsWith('recordings/'))) {
      const { effects } = replay(recording);
      const acks = effects
        .filter((effect) => effect.do === 'ack')
        .map((effect) => effect.messageId ?? effect.requestId);
      const sent = recording.steps.flatMap(({ dir, line }) => {
        if (dir !== 'in' || line === undefined) return [];
        const json = JSON.parse(line);
        return [json.uuid ?? (json.response ? JSON.stringify(json.response.request_id) : json.request_id)];
      });
      expect({ name: recording.name, acks: acks.sort() }).toEqual({ name: recording.name, acks: sent.sort() });
    }
  },
);

verifies('A-30').test('turns begin and end in turn, and every idle recording ends with its turn over', () => {
  for (const recording of recordings) {
    const turns = replay(recording).effects.filter((effect) => effect.do === 'turn' || effect.do === 'limit');
    const words = turns.map((effect) => (effect.is === 'begun' ? 'begun' : 'ended'));
    const expected = words.map((_, index) => (index % 2 === 0 ? 'begun' : 'ended'));
    expect({ name: recording.name, words }).toEqual({ name: recording.name, words: expected });
  }
});

verifies('A-51').test('a restart behind any line gives the same effects, from a state of at most 64 KiB', () => {
  for (const recording of recordings) {
    const restarted = replay(recording, (state) => JSON.parse(JSON.stringify(state)));
    expect(restarted.effects).toEqual(replay(recording).effects);
    expect(restarted.sent).toEqual(replay(recording).sent);
    expect(restarted.largestState).toBeLessThanOrEqual(64 * 1024);
  }
});

verifies('A-51').test('reading a line leaves the state it was read from as it was', () => {
  for (const recording of recordings) {
    replay(recording, (state) => deepFreeze(state));
  }
});

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}

verifies('Q-64', 'A-54').test('no damaged line makes the adapter throw, or its state grow beyond 64 KiB', () => {
  const random = seeded(20_261_115);
  const pick = <T>(list: T[]): T => list[Math.floor(random() * list.length)] as T;
  const lines = recordings.flatMap(({ steps }) =>
    steps.flatMap(({ dir, line }) => (dir === 'out' && line !== undefined && line.length < 20_000 ? [line] : [])),
  );
  let state = start({ version: '2.1.197' });
  for (let round = 0; round < 4000; round++) {
    const parsed = parseJson(mutate(pick(lines), { random, other: pick(lines) }));
    if (!parsed.ok) continue;
    const next = claudeAdapter.parse(state, { stream: 'out', json: parsed.value as Json, skeleton: false });
    for (const effect of next.effects as Effect[]) {
      if (effect.do === 'emit') expect(eventBodySchema.safeParse(effect.event)).toMatchObject({ success: true });
    }
    state = next.state;
    expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThanOrEqual(64 * 1024);
    if (round % 50 === 0) state = start({ version: '2.1.325' });
  }
});

/** Swaps, drops and repeats values of one line, or puts those of another in their place. */
function mutate(line: string, { random, other }: { random: () => number; other: string }): string {
  const values = ['null', '0', '-1', '""', '[]', '{}', 'true', '"x"', '1e308', `"${'é\\u0000'.repeat(3000)}"`];
  const spare = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?/g;
  const mine = [...line.matchAll(spare)];
  const theirs = [...other.matchAll(spare)];
  const at = mine[Math.floor(random() * mine.length)];
  if (at === undefined || random() < 0.1) return values[Math.floor(random() * values.length)] ?? '';
  const from = random() < 0.5 ? values : theirs.map(([text]) => text);
  const put = from[Math.floor(random() * from.length)] ?? 'null';
  return line.slice(0, at.index) + put + line.slice(at.index + at[0].length);
}

function seeded(seed: number): () => number {
  let value = seed;
  return () => {
    value = (value + 0x6d2b79f5) | 0;
    let mixed = Math.imul(value ^ (value >>> 15), 1 | value);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
