import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  Adapter,
  AgentLine,
  Answer,
  AskedQuestion,
  Effect,
  Json,
  LaunchRequest,
  MachineFacts,
} from '../../../src/agents/adapter.ts';

/** Recorded conversations with the real Codex, replayed through an adapter as if Reef had held them. */
export interface Entry {
  dir: 'in' | 'out' | 'err' | 'sig' | 'exit';
  line?: string;
}

export type Wire = { [key: string]: Json };

export interface Recording {
  name: string;
  entries: Entry[];
  /** Held by this adapter itself, so that every recorded word must be its own. */
  isOwn: boolean;
  spec: LaunchRequest;
  host: MachineFacts;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export function recordings(kind: 'app-server' | 'exec'): Recording[] {
  const shared = here(`../../fixtures/agents/${kind === 'exec' ? 'codex' : 'codex-app-server'}`);
  return [...load(shared, false), ...load(here(`../../fixtures/agents/codex-recorded/${kind}`), true)];
}

function load(folder: string, isOwn: boolean): Recording[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
  return files.sort().map((file) => {
    const entries = readFileSync(join(folder, file), 'utf8').trim().split('\n');
    const meta = JSON.parse(readFileSync(join(folder, file.replace('.jsonl', '.meta.json')), 'utf8'));
    const parsed = entries.map((entry): Entry => JSON.parse(entry));
    const sessionId: string | undefined = meta.sessionId ?? resumedThread(parsed);
    return {
      name: file.replace('.jsonl', ''),
      entries: parsed,
      isOwn,
      spec: { ...baseSpec, ...(sessionId === undefined ? {} : { sessionId }), ...(meta.mcp ? { mcp: meta.mcp } : {}) },
      host: { ...baseHost, agentSandbox: meta.sandbox ?? true },
    };
  });
}

export const baseSpec: LaunchRequest = {
  jobId: 'job',
  cwd: '/repo',
  freshSessionId: '00000000-0000-4000-8000-000000000000',
  prompt: '',
  clientVersion: '0.0.1',
};
export const baseHost: MachineFacts = { command: ['/opt/codex'], agentSandbox: true, settings: {} };

function resumedThread(entries: Entry[]): string | undefined {
  const line = entries.find(({ dir, line = '' }) => dir === 'in' && line.includes('"thread/resume"'))?.line;
  return line === undefined ? undefined : JSON.parse(line).params.threadId;
}

export const toAgentLine = ({ dir, line = '' }: Entry): AgentLine =>
  dir === 'err' ? { stream: 'err', text: line } : { stream: 'out', json: JSON.parse(line), skeleton: false };

export interface Replayed {
  effects: Effect[];
  /** What was recorded as sent, and what the adapter sends in its place. */
  sent: { recorded: Wire; ours: Wire }[];
  largestState: number;
}

/** `between` stands for what happens to the state from one line to the next: nothing, or a restart. */
export function replay<S extends Json>(
  adapter: Adapter<S>,
  recording: Recording,
  between: (state: S) => S = (state) => state,
): Replayed {
  const { spec, host } = recording;
  let state = adapter.initial(spec, host);
  let largestState = 0;
  const effects: Effect[] = [];
  const sent: Replayed['sent'] = [];
  const unsent = adapter.command(spec, host).greeting.map((line): Wire => JSON.parse(line));
  const asked = new Map<string, { line: string; questions: AskedQuestion[] }>();
  // Recorded ids are the recorder's; an answer must name the request that this adapter made instead.
  const ourIds = new Map<Json, Json>();

  const tell = (line: AgentLine, text: string) => {
    const { state: next, effects: news } = adapter.parse(between(state), line);
    state = next;
    largestState = Math.max(largestState, Buffer.byteLength(JSON.stringify(state)));
    for (const effect of news) {
      if (effect.do === 'write') unsent.push(JSON.parse(effect.line));
      if (effect.do === 'ask') asked.set(effect.requestId, { line: text, questions: effect.questions });
    }
    effects.push(...news);
  };

  const match = (recorded: Wire, ours: Wire) => {
    sent.push({ recorded, ours });
    if (recorded.id !== undefined) ourIds.set(recorded.id, ours.id ?? null);
  };

  const send = (recorded: Wire) => {
    const prepared = unsent.findIndex((line) => line.method === recorded.method && line.method !== undefined);
    const [line] = prepared === -1 ? [] : unsent.splice(prepared, 1);
    if (line) return match(recorded, line);
    const outgoing = toOutgoing(recorded, asked);
    if (!outgoing) return;
    const encoded = adapter.encode(between(state), outgoing);
    // A client that behaved worse than Reef would: [bad-requests] goes on without a conversation.
    if (!('state' in encoded)) return;
    state = encoded.state;
    match(recorded, JSON.parse(encoded.lines.join('')));
  };

  for (const entry of recording.entries) {
    if (entry.line === undefined) continue;
    if (entry.dir === 'in') {
      if (entry.line.startsWith('{')) send(JSON.parse(entry.line));
      continue;
    }
    const line = toAgentLine(entry);
    tell(line.stream === 'out' ? { ...line, json: withOurId(line.json, ourIds) } : line, entry.line);
  }
  return { effects, sent, largestState };
}

function withOurId(json: Json, ourIds: Map<Json, Json>): Json {
  const message = json as Wire;
  if (message.method !== undefined || message.id === undefined) return json;
  return { ...message, id: ourIds.get(message.id) ?? `not ours: ${message.id}` };
}

function toOutgoing(recorded: Wire, asked: Map<string, { line: string; questions: AskedQuestion[] }>) {
  const params = (recorded.params ?? {}) as Wire;
  if (recorded.method === 'turn/start' || recorded.method === 'turn/steer') {
    const [input] = params.input as [Wire];
    const messageId = String(params.clientUserMessageId ?? `message ${recorded.id}`);
    return { kind: 'message', messageId, text: String(input.text) } as const;
  }
  if (recorded.method === 'turn/interrupt')
    return { kind: 'interrupt', messageId: `interrupt ${recorded.id}` } as const;
  if (recorded.method !== undefined || recorded.result === undefined) return undefined;
  const requestId = JSON.stringify(recorded.id);
  const request = asked.get(requestId);
  if (!request) return undefined;
  const answers = toAnswers(recorded.result as Wire, request);
  return { kind: 'answer', requestId, requestLine: request.line, answers } as const;
}

/** The answers a person must have given for this reply to be sent. */
function toAnswers(reply: Wire, request: { line: string; questions: AskedQuestion[] }): Answer[] {
  const [first] = request.questions;
  if (first?.kind === 'permission') {
    const isAllowed =
      String(reply.decision).startsWith('accept') ||
      reply.action === 'accept' ||
      Object.keys(reply.permissions ?? {}).length > 0;
    return [{ kind: 'permission', decision: isAllowed ? 'allow_once' : 'deny' }];
  }
  const { questions = [], requestedSchema = { properties: {} } } = JSON.parse(request.line).params;
  const names: string[] = reply.answers
    ? questions.map(({ id }: { id: string }) => id)
    : Object.keys(requestedSchema.properties);
  return request.questions.map((question, index): Answer => {
    const name = names[index] ?? '';
    const given = reply.answers ? ((reply.answers as Wire)[name] as Wire).answers : (reply.content as Wire)[name];
    const words = [given ?? []].flat().map(String);
    if (question.kind === 'text') return { kind: 'text', text: words.join('') };
    const chosen = (question.choices ?? []).filter(({ id }) => words.includes(id));
    const text = words.find((word) => !chosen.some(({ id }) => id === word));
    return {
      kind: 'choice',
      labels: chosen.map(({ label }) => label),
      ids: chosen.map(({ id }) => id),
      ...(text === undefined ? {} : { text }),
    };
  });
}

/** One effect a line, for reading and for diffs. */
export const compact = (effects: Effect[]): string =>
  `[\n${effects.map((effect) => JSON.stringify(effect)).join(',\n')}\n]\n`;
