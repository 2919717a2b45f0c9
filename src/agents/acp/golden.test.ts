import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { eventBodySchema } from '../../protocol/events.ts';
import type { Adapter, AgentLine, Answer, Effect, Json, LaunchRequest, MachineFacts, Outgoing } from '../adapter.ts';
import { acpAdapter } from './adapter.ts';
import type { AcpState } from './state.ts';

/** Plays recordings of real agents to the adapter, for its tests. */
const root = new URL('../../../test/fixtures/agents/', import.meta.url);

const adapters: Record<string, Adapter<AcpState>> = {
  'gemini-acp': acpAdapter('gemini'),
  'opencode-acp': acpAdapter('opencode'),
  'claude-acp': acpAdapter('acp:claude', { command: ['claude-agent-acp'] }),
  'codex-acp': acpAdapter('acp:codex', { command: ['codex-acp'] }),
};

const recordings = Object.keys(adapters).flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, root))
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => `${folder}/${file.slice(0, -'.jsonl'.length)}`),
);

interface Recorded {
  dir: 'in' | 'out' | 'err' | 'exit' | 'sig' | 'note';
  line?: string;
}

function readRecording(name: string): Recorded[] {
  const lines = readFileSync(new URL(`${name}.jsonl`, root), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Recorded);
}

type Message = { [key: string]: Json };

const toMessage = (line: string): Message | undefined => {
  try {
    return JSON.parse(line) as Message;
  } catch {
    return undefined;
  }
};

/** Effects in their order, and between them what was sent: `{ send: line }`. */
type Step = Effect | { send: Json };

class Replay {
  readonly steps: Step[] = [];
  readonly adapter: Adapter<AcpState>;
  state: AcpState;
  /** Recorded ids of our requests, by the ids this replay gives them. */
  private readonly ids = new Map<Json, Json>();
  private readonly written: string[] = [];
  private readonly requests = new Map<string, string>();
  private readonly betweenLines: (state: AcpState) => AcpState;
  private messages = 0;
  private interrupts = 0;
  private readonly name: string;

  constructor(name: string, betweenLines: (state: AcpState) => AcpState = (state) => state) {
    this.name = name;
    this.betweenLines = betweenLines;
    const adapter = adapters[name.split('/')[0] ?? ''];
    if (!adapter) throw new Error(`no adapter for ${name}`);
    this.adapter = adapter;
    const { spec, machine } = launchOf(name);
    this.state = adapter.initial(spec, machine);
    this.written.push(...adapter.command(spec, machine).greeting);
  }

  play(): this {
    for (const { dir, line } of readRecording(this.name)) {
      if (line === undefined) continue;
      if (dir === 'err') this.feed({ stream: 'err', text: line });
      const message = toMessage(line);
      if (dir === 'out' && message) this.hear(message);
      if (dir === 'in' && message) this.say(message);
    }
    return this;
  }

  private hear(message: Message): void {
    const id = message.id ?? null;
    const isResponse = message.method === undefined && id !== null;
    if (!isResponse && id !== null) this.requests.set(JSON.stringify(id), JSON.stringify(message));
    const json = isResponse ? { ...message, id: this.ids.get(id) ?? `foreign-${id}` } : message;
    this.feed({ stream: 'out', json, skeleton: false });
  }

  private feed(line: AgentLine): void {
    const { state, effects } = this.adapter.parse(this.betweenLines(this.state), line);
    this.state = state;
    this.steps.push(...effects);
    for (const effect of effects) if (effect.do === 'write') this.written.push(effect.line);
  }

  private say(message: Message): void {
    if (message.method === 'session/prompt') this.prompt(message);
    else if (message.method === 'session/cancel') this.interrupt(message);
    else if (message.method === undefined) this.answer(message);
    else if (['initialize', 'authenticate', 'session/new', 'session/load'].includes(String(message.method))) {
      this.expectWritten(message);
    }
  }

  private prompt(message: Message): void {
    const { sessionId, prompt } = message.params as { sessionId?: string; prompt: [{ text: string }] };
    this.messages += 1;
    const text = prompt[0].text;
    const sent = this.send({ kind: 'message', messageId: `message-${this.messages}`, text });
    // The recorder also tried prompts to sessions there are not.
    if (sent && sessionId === this.state.sessionId) this.expectWritten(message);
    else if (sent) this.ids.set(message.id ?? null, toMessage(this.written.pop() ?? '')?.id ?? null);
  }

  private interrupt(message: Message): void {
    this.interrupts += 1;
    this.send({ kind: 'interrupt', messageId: `interrupt-${this.interrupts}` });
    this.expectWritten(message);
  }

  private answer(message: Message): void {
    const requestId = JSON.stringify(message.id);
    const requestLine = this.requests.get(requestId) ?? '';
    const { outcome } = message.result as { outcome: { outcome: string; optionId?: string } };
    if (outcome.outcome === 'selected') {
      const { options } = (toMessage(requestLine)?.params ?? {}) as { options: { optionId: string; kind: string }[] };
      const kind = options.find((option) => option.optionId === outcome.optionId)?.kind ?? '';
      const decision = kind.startsWith('allow') ? 'allow_session' : 'deny';
      this.send({
        kind: 'answer',
        requestId,
        requestLine,
        answers: [{ kind: 'permission', decision }] satisfies Answer[],
      });
      // The recorder once chose "always"; Reef always allows once.
      outcome.optionId = options.find((option) => option.kind === kind.replace('always', 'once'))?.optionId ?? '';
    }
    this.expectWritten(message);
  }

  private send(outgoing: Outgoing): boolean {
    const encoded = this.adapter.encode(this.betweenLines(this.state), outgoing);
    if (!('lines' in encoded)) {
      this.steps.push({ send: encoded });
      return false;
    }
    this.state = encoded.state;
    this.written.push(...encoded.lines);
    this.steps.push(...encoded.lines.map((line) => ({ send: JSON.parse(line) as Json })));
    return true;
  }

  /** The next line we wrote is the recorded one, but for the number of the request and what we offer in the greeting. */
  private expectWritten(recorded: Message): void {
    // Requests the recorder left without an answer got one from us.
    const refused = this.written.findIndex((line) => !line.includes('"error"'));
    const message = toMessage(this.written.splice(0, refused + 1).at(-1) ?? '') ?? {};
    if (recorded.method !== undefined && recorded.id !== undefined) this.ids.set(recorded.id, message.id ?? null);
    const expected =
      recorded.method === undefined
        ? recorded
        : { ...recorded, ...(message.id === undefined ? {} : { id: message.id }) };
    if (recorded.method === 'initialize') {
      const { clientCapabilities } = expected.params as { clientCapabilities: Message };
      Object.assign(clientCapabilities, { elicitation: { form: {}, url: {} }, session: { compaction: {} } });
    }
    expect(message).toEqual(expected);
  }
}

function launchOf(name: string): { spec: LaunchRequest; machine: MachineFacts } {
  const load = readRecording(name)
    .map(({ dir, line }) => (dir === 'in' && line ? toMessage(line) : undefined))
    .find((message) => message?.method === 'session/load');
  const { sessionId } = (load?.params ?? {}) as { sessionId?: string };
  return {
    spec: {
      jobId: 'job',
      cwd: '/repo',
      freshSessionId: 'fresh',
      prompt: '',
      clientVersion: '0.0.1',
      ...(sessionId === undefined ? {} : { sessionId }),
    },
    machine: { command: ['/bin/agent'], agentSandbox: true, settings: {} },
  };
}

const MAX_STATE_BYTES = 64 * 1024;
const isQuestion = (step: Step) => 'do' in step && step.do === 'ask';
const asText = (steps: Step[]) => `[\n${steps.map((step) => JSON.stringify(step)).join(',\n')}\n]\n`;

const freeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) {
    for (const child of Object.values(value)) freeze(child);
    Object.freeze(value);
  }
  return value;
};

describe.each(recordings)('the recording %s', (name) => {
  verifies('A-52').test('gives the events that were reviewed, and our lines are the recorded ones', async () => {
    await expect(asText(new Replay(name).play().steps)).toMatchFileSnapshot(`../../../test/golden/acp/${name}.json`);
  });

  verifies('A-51').test(
    'gives the same after a restart at any line, from a state that is small and left as it was',
    () => {
      const throughJson = (state: AcpState) => {
        const text = JSON.stringify(state);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_STATE_BYTES);
        return freeze(JSON.parse(text) as AcpState);
      };
      expect(new Replay(name, throughJson).play().steps).toEqual(new Replay(name).play().steps);
    },
  );

  test('gives only events of the contract', () => {
    const events = new Replay(name)
      .play()
      .steps.flatMap((step) => ('do' in step && step.do === 'emit' ? [step.event] : []));
    expect(events.flatMap((event) => eventBodySchema.safeParse(event).error?.issues ?? [])).toEqual([]);
  });
});

verifies('A-40', 'A-143').test('every request of a recording that asks is a question, and nothing else is', () => {
  const asked = recordings.map((name) => [name, new Replay(name).play().steps.filter(isQuestion).length]);
  const expected = new Map([
    ['gemini-acp/permission', 2],
    ['gemini-acp/shell', 2],
    ['gemini-acp/write', 2],
    ['opencode-acp/multi', 1],
    ['opencode-acp/permission', 2],
    ['opencode-acp/permission-cancelled', 1],
    ['opencode-acp/write', 2],
    ['claude-acp/permission', 2],
    ['claude-acp/shell', 1],
    ['claude-acp/write', 2],
    ['codex-acp/permission', 2],
    ['codex-acp/write', 2],
  ]);
  expect(asked).toEqual(recordings.map((name) => [name, expected.get(name) ?? 0]));
});

test('there are recordings of four agents', () => {
  expect(recordings.length).toBeGreaterThanOrEqual(50);
});
