import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ChatReply, ChatRequest, Usage } from './client.ts';
import { type AssistantPart, type Message, textOf } from './message.ts';
import { type Attempt, kindOfStatus, type Provider, ProviderFailure } from './provider.ts';
import { parseScript, type ScriptEntry, type ScriptReply } from './script.ts';

/** Reads the script of a model. */
type ReadScript = (model: string) => Promise<{ text: string; path: string }>;

interface Reel {
  entries: ScriptEntry[];
  used: number[];
  calls: number;
}

/** Answers from a script: the first entry that fits and is not used up. */
export function createScriptedProvider(clock: Clock, read: ReadScript): Provider {
  const reels = new Map<string, Promise<Reel>>();
  const reelOf = (model: string) => {
    const reel = reels.get(model) ?? load(read, model);
    reels.set(model, reel);
    return reel;
  };
  const none = () =>
    Promise.reject(new ReefError('client_unsupported', 'A scripted client answers chats only', { details: {} }));
  return {
    async chat(request, attempt) {
      const reel = await reelOf(request.model.name);
      const entry = take(reel, request);
      if (entry.error) {
        const { status, message, retry_after } = entry.error;
        const retryAfterMs = retry_after === undefined ? undefined : retry_after * 1000;
        throw new ProviderFailure(kindOfStatus(status), message, { status, retryAfterMs });
      }
      return play(reel, entry.reply, { request, sink: attempt.sink, clock });
    },
    embed: none,
    rerank: none,
  };
}

async function load(read: ReadScript, model: string): Promise<Reel> {
  const { text, path } = await read(model);
  const entries = parseScript(text, path);
  return { entries, used: entries.map(() => 0), calls: 0 };
}

type Taken = ScriptEntry & ({ error: NonNullable<ScriptEntry['error']> } | { error?: never; reply: ScriptReply });

function take(reel: Reel, request: ChatRequest): Taken {
  const seen = sight(request);
  const users = request.messages.filter(({ role }) => role === 'user').map(textOf);
  const at = reel.entries.findIndex(({ when, times }, index) => {
    const isLeft = times === 'always' || (reel.used[index] ?? 0) < times;
    return isLeft && fits(when, seen, users);
  });
  const entry = reel.entries[at];
  if (!entry) {
    const { last_result: _, ...told } = seen;
    throw new ReefError('script_exhausted', `The script of ${request.model.id} has no answer left for this request`, {
      details: { model: request.model.id, ...told, entries: reel.entries.length },
    });
  }
  reel.used[at] = (reel.used[at] ?? 0) + 1;
  return entry as Taken;
}

/** `last_tool` and `last_result` are '' if a user spoke last. */
function sight({ messages, agent = '' }: ChatRequest) {
  const last = messages.at(-1);
  const user = messages.findLast(({ role }) => role === 'user');
  const result = last?.role === 'tool' ? last.content.at(-1) : undefined;
  return {
    agent,
    last_user: user ? textOf(user) : '',
    last_tool: result?.name ?? '',
    last_result: result?.output ?? '',
  };
}

function fits(when: ScriptEntry['when'], seen: ReturnType<typeof sight>, users: readonly string[]): boolean {
  if (when.agent !== undefined && when.agent !== seen.agent) return false;
  if (when.last_tool !== undefined && when.last_tool !== seen.last_tool) return false;
  if (when.any_user !== undefined && !users.some((text) => new RegExp(when.any_user ?? '', 's').test(text)))
    return false;
  if (when.last_result !== undefined && !new RegExp(when.last_result, 's').test(seen.last_result)) return false;
  return when.last_user === undefined || new RegExp(when.last_user, 's').test(seen.last_user);
}

async function play(
  reel: Reel,
  reply: ScriptReply,
  { request, sink, clock }: { request: ChatRequest; sink: Attempt['sink']; clock: Clock },
): Promise<Omit<ChatReply, 'cost'>> {
  const pause = async (ms: number) => {
    try {
      // Also without a delay: a cancel between two pieces must be noticed.
      if (ms > 0) await clock.sleep(ms, request.signal);
      request.signal?.throwIfAborted();
    } catch (cause) {
      throw new ProviderFailure('aborted', 'cancelled', { cause });
    }
  };
  const chunk = request.stream ? reply.chunk : Number.MAX_SAFE_INTEGER;
  await pause(reply.delay_ms);
  for (const text of pieces(reply.reasoning, chunk)) {
    sink({ type: 'reasoning', text });
    await pause(reply.chunk_delay_ms);
  }
  for (const text of pieces(reply.text.slice(0, reply.break_after), chunk)) {
    sink({ type: 'text', text });
    await pause(reply.chunk_delay_ms);
  }
  if (reply.break_after !== undefined) throw new ProviderFailure('broken', 'the script breaks the stream here');
  const content = contentOf(reel, reply);
  const finish = reply.finish ?? (reply.tool_calls.length > 0 ? 'tool_calls' : 'stop');
  return { content, finish, usage: reply.usage ?? estimate(request.messages, content) };
}

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size));
}

function contentOf(reel: Reel, reply: ScriptReply): AssistantPart[] {
  return [
    ...(reply.reasoning === '' ? [] : [{ type: 'reasoning' as const, text: reply.reasoning }]),
    ...(reply.text === '' ? [] : [{ type: 'text' as const, text: reply.text }]),
    ...reply.tool_calls.map((call) => {
      reel.calls += 1;
      const id = call.id ?? `call_${reel.calls}`;
      return { type: 'tool_call' as const, id, name: call.name, arguments: call.arguments };
    }),
  ];
}

/** Four characters per token: all a script needs is the same count for the same conversation. */
function estimate(messages: readonly Message[], content: readonly AssistantPart[]): Usage {
  const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4);
  return { input: tokens(messages), output: tokens(content), cached: 0, reasoning: 0 };
}
