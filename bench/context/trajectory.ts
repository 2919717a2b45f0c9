import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../src/base/safe-json.ts';
import { ReefError } from '../../src/protocol/errors.ts';
import type { Exchange } from '../../src/repostate/prompt/messages.ts';

const text = z.string();
const callSchema = z.strictObject({
  id: text,
  tool: text,
  args: z.record(text, z.unknown()),
  exit: z.number().int().nullable().optional(),
  result: text,
  noop: z.boolean().optional(),
  /** What the call changed on disk: new content, or null where it deleted. */
  files: z.record(text, text.nullable()).optional(),
  /** What somebody else changed before the next turn. */
  outside: z.record(text, text.nullable()).optional(),
});
const turnSchema = z.strictObject({
  assistant: text,
  calls: z.array(callSchema),
  usage: z.strictObject({ input: z.number(), cacheRead: z.number().optional(), output: z.number() }).optional(),
});
export const trajectorySchema = z.strictObject({
  format: z.literal('reef-trajectory/1'),
  id: text,
  system: text,
  task: text,
  repo: z.record(text, text).optional(),
  turns: z.array(turnSchema).min(1),
});
export type Trajectory = z.infer<typeof trajectorySchema>;
export type Turn = Trajectory['turns'][number];

const miniMessage = z.object({
  role: text,
  content: z.union([text, z.null()]),
  extra: z.object({ response: z.object({ usage: z.record(text, z.unknown()).optional() }).optional() }).optional(),
});
const miniSchema = z.object({ messages: z.array(miniMessage).min(3), instance_id: text.optional() });

export type Format = 'reef' | 'mini-swe-agent';
export interface Loaded {
  runs: Trajectory[];
  /** Files that are no trajectory; the others still run (S-60). */
  refused: ReefError[];
}

/** All trajectories below a folder, in order of their paths. */
export function loadTrajectories(dir: string, format: Format): Loaded {
  const isWanted = (name: string) => (format === 'reef' ? /\.jsonl?$/.test(name) : /\.traj\.json$/.test(name));
  const names = readdirSync(dir, { recursive: true }).map(String).filter(isWanted).sort();
  const loaded: Loaded = { runs: [], refused: [] };
  for (const { json, where } of names.flatMap((name) => textsOf(dir, name))) {
    try {
      loaded.runs.push(format === 'reef' ? parseReef(json, where) : parseMini(json, where));
    } catch (error) {
      if (!(error instanceof ReefError)) throw error;
      loaded.refused.push(error);
    }
  }
  return loaded;
}

function textsOf(dir: string, name: string): { json: string; where: string }[] {
  const whole = readFileSync(join(dir, name), 'utf8');
  if (!name.endsWith('.jsonl')) return [{ json: whole, where: name }];
  const lines = whole.split('\n').filter((line) => line !== '');
  return lines.map((json, index) => ({ json, where: `${name}:${index + 1}` }));
}

export function parseReef(json: string, where: string): Trajectory {
  return checked(trajectorySchema, json, where);
}

/** One bash block per reply; the next user message is its result. A reply without one is an exchange without a call. */
export function parseMini(json: string, where: string): Trajectory {
  const { messages, instance_id: id } = checked(miniSchema, json, where);
  const [system, task, ...rest] = messages;
  const turns: Turn[] = [];
  for (const [index, message] of rest.entries()) {
    if (message.role !== 'assistant') continue;
    const next = rest[index + 1];
    turns.push(miniTurn(message.content ?? '', next?.role === 'user' ? (next.content ?? '') : '', turns.length));
  }
  const head = { format: 'reef-trajectory/1' as const, id: id ?? where };
  if (turns.length === 0) throw invalid(where, 'messages', 'holds no reply of an assistant');
  return { ...head, system: system?.content ?? '', task: task?.content ?? '', turns };
}

const BASH_BLOCK = /```(?:bash|mswea_bash_command)\s*\n([\s\S]*?)\n?```/;

function miniTurn(reply: string, result: string, n: number): Turn {
  const block = BASH_BLOCK.exec(reply);
  if (!block) return { assistant: reply, calls: [{ id: `c${n}`, tool: 'reply', args: {}, exit: null, result }] };
  const command = block[1] ?? '';
  const assistant = reply.replace(block[0], () => '').trim();
  const exit = Number(/^<returncode>(-?\d+)<\/returncode>/.exec(result)?.[1] ?? 0);
  return { assistant, calls: [{ id: `c${n}`, tool: 'run_command', args: { command }, exit, result }] };
}

function checked<T>(schema: z.ZodType<T>, json: string, where: string): T {
  const parsed = parseJson(json, { maxDepth: 200 });
  if (!parsed.ok) throw invalid(where, '', parsed.why);
  const result = schema.safeParse(parsed.value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw invalid(where, issue?.path.join('.') ?? '', issue?.message ?? 'is not a trajectory');
}

function invalid(path: string, field: string, why: string): ReefError {
  return new ReefError('trajectory_invalid', `${path}${field && ` at ${field}`}: ${why}.`, {
    details: { path, field },
  });
}

export function exchangesOf(run: Trajectory): Exchange[] {
  return run.turns.map((turn, n) => ({
    turn: n,
    text: turn.assistant,
    calls: turn.calls.map(({ id, tool, args }) => ({ id, tool, args })),
    results: turn.calls.map((call) => ({
      id: call.id,
      text: call.result,
      kind:
        call.tool === 'run_command' || call.tool === 'reply' ? 'command' : call.tool === 'read_file' ? 'read' : 'other',
      ...(call.noop && { noop: true }),
    })),
  }));
}
