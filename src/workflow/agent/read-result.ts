import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import type { Json, WorkflowManifest } from '../../protocol/workflow.ts';
import { isSegmentType, isSignal, type Signal } from '../language/names.ts';

/** What an agent reports about its block. */
export interface BlockResult {
  signal: Signal;
  /** The text of the answer, cleaned if a schema asked for it. */
  summary: Json;
  segments: { type: string; content: Json; filePath?: string }[];
  newFiles: string[];
}

export type ReadResult = { ok: true; result: BlockResult } | { ok: false; faults: string[] };

interface ResultRules {
  signals: readonly string[];
  rule?: ContentRule;
}

export interface Said {
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
          type: z.string().refine(isSegmentType, 'is not a segment type: capitals, digits and underscores'),
          content: json,
          filePath: z.string().optional(),
        }),
      )
      .optional(),
    newFiles: z.array(z.string()).optional(),
  });
}

export function resultJsonSchema(signals: readonly string[]): Json {
  return z.toJSONSchema(resultSchema(signals), { io: 'input' }) as Json;
}

/** The only fault of an agent that did its work and reported nothing. */
export const NO_RESULT = 'there is no result: neither a tool call, a fence nor a signal';

/** The first valid of tool call, structured output, tagged fence and last line; else the faults of all. */
export function readResult(said: Said, rules: ResultRules): ReadResult {
  const faults: string[] = [];
  for (const [from, read] of attempts(said, rules)) {
    const found = read();
    if (found?.ok) return found;
    if (found) faults.push(...found.faults.map((fault) => `${from}: ${fault}`));
  }
  return {
    ok: false,
    faults: faults.length > 0 ? faults : [NO_RESULT],
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
  return parsed.ok ? checkValue(parsed.value as Json, rules) : { ok: false, faults: [`is not JSON: ${parsed.why}`] };
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

/** A signal counts only if it stands alone in the last line. */
function readLastLine(text: string, rules: ResultRules): ReadResult | undefined {
  const lines = text.trimEnd().split('\n');
  const signal = bare(lines.pop() ?? '');
  if (!isSignal(signal)) return undefined;
  const before = lines.join('\n').trim();
  return checkValue({ signal, summary: before }, rules);
}

/** Without surrounding blanks and emphasis. By hand, because a pattern for it takes quadratic time. */
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

/** Cleaned content, or everything that is wrong with it. */
type ContentRule = (content: Json) => { content: Json } | { faults: string[] };

/** The rule of a block's `validationSchema`: a built-in one or a JSON Schema of the manifest. */
export function contentRule(name: string | undefined, schemas: WorkflowManifest['schemas']): ContentRule | undefined {
  if (name === undefined) return undefined;
  const own = schemas !== undefined && Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  if (own) return own.type === 'string' ? textRule(z.fromJSONSchema(own)) : jsonRule(z.fromJSONSchema(own));
  const builtIn = name === 'CodeOnly' || name === 'CodeAndExplanation' ? BUILT_IN_SCHEMAS[name] : undefined;
  if (!builtIn) return () => ({ faults: [`there is no schema "${name}"`] });
  return builtIn.form === 'text' ? textRule(builtIn.schema) : jsonRule(builtIn.schema);
}

function textRule(schema: z.ZodType): ContentRule {
  return (content) => {
    // A write segment holds its text beside its path.
    if (typeof content === 'object' && content !== null && !Array.isArray(content) && 'fileContent' in content) {
      const faults = faultsOf(schema, content.fileContent ?? null);
      return faults.length > 0 ? { faults } : { content };
    }
    const text = typeof content === 'string' ? withoutFence(content) : content;
    const faults = faultsOf(schema, text);
    return faults.length > 0 ? { faults } : { content: text };
  };
}

function jsonRule(schema: z.ZodType): ContentRule {
  return (content) => {
    const parsed =
      typeof content === 'string' ? parseJson(withoutFence(content)) : { ok: true as const, value: content };
    if (!parsed.ok) return { faults: [`is not JSON: ${parsed.why}`] };
    const value = parsed.value as Json;
    const faults = faultsOf(schema, value);
    return faults.length > 0 ? { faults } : { content: value };
  };
}

function faultsOf(schema: z.ZodType, value: unknown): string[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
}

/** Models like to put one fence around everything: it is not content. */
export function withoutFence(text: string): string {
  const lines = text.trim().split('\n');
  const mark = /^(`{3,}|~{3,})[^`]*$/.exec(lines[0] ?? '')?.[1];
  const isWhole = mark !== undefined && lines.length > 1 && (lines.at(-1) ?? '').trim() === mark;
  const inner = lines.slice(1, -1);
  return isWhole && !inner.some((line) => line.startsWith(mark)) ? inner.join('\n') : text;
}

/** RoboSmith's schemas: `text` is checked as it is, `json` after parsing. */
export const BUILT_IN_SCHEMAS = {
  CodeOnly: { form: 'text', schema: z.string().min(1, 'the code is empty') },
  CodeAndExplanation: {
    form: 'json',
    schema: z.object({
      code: z.string().min(1, 'the code is empty'),
      explanation: z.string().min(1, 'the explanation is empty'),
    }),
  },
} as const;
