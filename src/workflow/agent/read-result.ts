import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import type { Json } from '../../protocol/workflow.ts';
import { isSegmentType, isSignal, type Signal } from '../language/names.ts';
import type { ContentRule } from './content-rule.ts';

/** What an agent says of its block, in whichever way it said it. */
export interface BlockResult {
  signal: Signal;
  /** The text of the answer, cleaned where a schema asked for it. */
  summary: Json;
  segments: { type: string; content: Json; filePath?: string }[];
  newFiles: string[];
}

export type ReadResult = { ok: true; result: BlockResult } | { ok: false; faults: string[] };

export interface ResultRules {
  signals: readonly string[];
  rule?: ContentRule;
}

export interface Said {
  /** Of the tool `block_result`. */
  toolResult?: Json;
  structured?: Json;
  text: string;
}

const json: z.ZodType<Json> = z.json();

function resultSchema(signals: readonly string[]) {
  return z.object({
    signal: z.enum(signals as [string, ...string[]]),
    summary: z.string(),
    segments: z
      .array(
        z.object({
          type: z.string().refine(isSegmentType, 'is no segment type: capitals, digits and underscores'),
          content: json,
          filePath: z.string().optional(),
        }),
      )
      .optional(),
    newFiles: z.array(z.string()).optional(),
  });
}

/** The JSON Schema that tools and structured output are given. */
export function resultJsonSchema(signals: readonly string[]): Json {
  return z.toJSONSchema(resultSchema(signals), { io: 'input' }) as Json;
}

/** The first valid of tool, structured output, tagged fence and last line; else every fault of each. */
export function readResult(said: Said, rules: ResultRules): ReadResult {
  const faults: string[] = [];
  for (const [from, read] of attempts(said, rules)) {
    const found = read();
    if (found?.ok) return found;
    if (found) faults.push(...found.faults.map((fault) => `${from}: ${fault}`));
  }
  return {
    ok: false,
    faults: faults.length > 0 ? faults : ['there is no result: neither a tool call, a fence nor a signal'],
  };
}

function attempts(said: Said, rules: ResultRules): [from: string, read: () => ReadResult | undefined][] {
  const given = (value: Json | undefined) => () => (value === undefined ? undefined : checkValue(value, rules));
  return [
    ['block_result', given(said.toolResult)],
    ['structured output', given(said.structured)],
    ['reef-result', () => readFence(said.text, rules)],
    ['last line', () => readLastLine(said.text, rules)],
  ];
}

function readFence(text: string, rules: ResultRules): ReadResult | undefined {
  const fence = lastTaggedFence(text);
  if (fence === undefined) return undefined;
  const parsed = parseJson(fence);
  return parsed.ok ? checkValue(parsed.value as Json, rules) : { ok: false, faults: [`is no JSON: ${parsed.why}`] };
}

function lastTaggedFence(text: string): string | undefined {
  let found: string | undefined;
  let open: string[] | undefined;
  for (const line of text.split('\n')) {
    const isEnd = open !== undefined && /^\s*`{3,}\s*$/.test(line);
    if (isEnd) {
      found = open?.join('\n');
      open = undefined;
    } else if (open) open.push(line);
    else if (/^\s*`{3,}reef-result\s*$/.test(line)) open = [];
  }
  return found;
}

/** A signal word anywhere but alone in the last line means nothing. */
function readLastLine(text: string, rules: ResultRules): ReadResult | undefined {
  const lines = text.trimEnd().split('\n');
  const signal = bare(lines.pop() ?? '');
  if (!isSignal(signal)) return undefined;
  const before = lines.join('\n').trim();
  return checkValue({ signal, summary: before }, rules);
}

/** Less surrounding blanks and the signs of emphasis; by hand, because a pattern for it takes quadratic time. */
function bare(line: string): string {
  const isOrnament = (index: number) => ' \t\r*_`'.includes(line[index] ?? 'x');
  let [start, end] = [0, line.length];
  while (start < end && isOrnament(start)) start += 1;
  while (end > start && isOrnament(end - 1)) end -= 1;
  return line.slice(start, end);
}

function checkValue(value: Json, { signals, rule }: ResultRules): ReadResult {
  const parsed = resultSchema(signals).safeParse(value);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
    return { ok: false, faults };
  }
  const { signal, summary, segments = [], newFiles = [] } = parsed.data;
  const contents: Json[] = segments.length > 0 ? segments.map(({ content }) => content) : [summary];
  const cleaned = contents.map((content) => (rule ? rule(content) : { content }));
  const faults = cleaned.flatMap((each) => ('faults' in each ? each.faults : []));
  if (faults.length > 0) return { ok: false, faults };
  const clean = cleaned.map((each) => ('content' in each ? each.content : null));
  return {
    ok: true,
    result: {
      signal: signal as Signal,
      summary: segments.length > 0 ? summary : (clean[0] ?? summary),
      segments: segments.map(({ type, filePath }, index) => ({
        type,
        content: clean[index] ?? null,
        ...(filePath !== undefined && { filePath }),
      })),
      newFiles,
    },
  };
}
