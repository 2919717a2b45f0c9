import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../adapter.ts';

/**
 * A script for the scripted agent: a list of steps, or an object with `steps` (played for the task), `onMessage` (for
 * every message after it) and `onResume` (for the first message after a resume). In texts `{answer}` is the last answer,
 * `{task}` and `{message}` what was sent, and `{name}` what `as: name` kept.
 */
const text = z.string();
const count = z.number().int().nonnegative();
const name = text.regex(/^[A-Za-z]\w*$/, 'a name is letters and digits').exactOptional();

const plainSteps = {
  say: text,
  think: text,
  edit: z.strictObject({ path: text.min(1), content: text }),
  /** Program and arguments, run without a shell. */
  shell: z.array(text).min(1),
  /** Without options the answer is text. `wait: false` goes on at once. */
  ask: z.strictObject({
    question: text,
    options: z.array(text).min(1).exactOptional(),
    multi: z.boolean().default(false),
    freeText: z.boolean().default(false),
    secret: z.boolean().default(false),
    header: text.exactOptional(),
    as: name,
    wait: z.boolean().default(true),
  }),
  /** Takes back the last question that is open. */
  withdraw: z.null(),
  sleep: count.max(86_400_000),
  usage: z.strictObject({
    input: count.default(0),
    output: count.default(0),
    cacheRead: count.default(0),
    cacheWrite: count.default(0),
    reasoning: count.default(0),
    costUsd: z.number().nonnegative().exactOptional(),
    scope: z.enum(['more', 'session']).default('more'),
    partial: z.boolean().default(false),
  }),
  /** A line as it is, or any other value as one line of JSON. */
  emit: z.custom<Json>((value) => value !== null, 'emit needs a line'),
  stderr: text,
  /** Ends the turn as failed. */
  fail: z.strictObject({ code: text.default('agent_error'), message: text, retryable: z.boolean().default(false) }),
  /** From now on SIGTERM is ignored. */
  deaf: z.null(),
  /** Dies of a signal. */
  crash: z.enum(['SIGKILL', 'SIGSEGV', 'SIGABRT', 'SIGTERM']).nullable(),
  exit: z.number().int().min(0).max(255),
  /** So many lines, as fast as they are taken. */
  flood: z.strictObject({ events: count.max(10_000_000) }),
};

type Plain = typeof plainSteps;
type PlainStep = { [N in keyof Plain]: { do: N; with: z.infer<Plain[N]> } }[keyof Plain];
/** `do` names the step, `with` is its argument. */
export type Step =
  | PlainStep
  | { do: 'repeat'; with: { times: number; steps: Step[] } }
  | { do: 'choose'; with: { when?: string; steps: Step[] }[] }
  | { do: 'permit'; with: { tool: string; input: Json; diff?: string; as?: string; steps: Step[] } };

const steps: z.ZodType<Step[]> = z.lazy(() => z.array(stepSchema));

const stepArguments = {
  ...plainSteps,
  repeat: z.strictObject({ times: count.max(1_000_000), steps }),
  /** The first whose text occurs in the message; one without `when` always does. */
  choose: z.array(z.strictObject({ when: text.min(1).exactOptional(), steps })).min(1),
  /** The steps are played when it is allowed. The answer is `allow` or `deny`. */
  permit: z.strictObject({
    tool: text,
    input: z.custom<Json>().default({}),
    diff: text.exactOptional(),
    as: name,
    steps: steps.default([]),
  }),
};

const LATER = new Set(['spawn', 'wait']);

const stepSchema: z.ZodType<Step> = z.unknown().transform((value, context): Step => {
  const problem = (message: string, path: PropertyKey[] = []) => {
    context.issues.push({ code: 'custom', message, path, input: value });
    return z.NEVER;
  };
  const entries = typeof value === 'string' ? [[value, null] as const] : Object.entries(value ?? {});
  const [entry, ...others] = entries;
  if (!entry || others.length > 0) return problem('a step has one name');
  const [step, argument] = entry;
  if (LATER.has(step)) return problem(`${step} needs Reef's own tools, which a script cannot use yet`);
  if (!Object.hasOwn(stepArguments, step)) return problem(`there is no step "${step}"`);
  const parsed = stepArguments[step as keyof typeof stepArguments].safeParse(argument ?? null);
  if (parsed.success) return { do: step, with: parsed.data } as Step;
  for (const issue of parsed.error.issues) problem(`${step}: ${issue.message}`, [step, ...issue.path]);
  return z.NEVER;
});

const scriptSchema = z.strictObject({
  steps,
  onMessage: steps.exactOptional(),
  onResume: steps.exactOptional(),
});

export type Script = z.infer<typeof scriptSchema>;

/** Throws `script_invalid`, naming the line. */
export function parseScript(source: string): Script {
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const [broken] = document.errors;
  if (broken) throw invalid(lines.linePos(broken.pos[0]).line, broken.message);
  const value = toValue(document);
  const isList = Array.isArray(value);
  const parsed = scriptSchema.safeParse(isList ? { steps: value } : value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = offsetOf(document, issue?.path.slice(isList ? 1 : 0) ?? []);
  throw invalid(lines.linePos(place).line || 1, issue?.message ?? 'not a script');
}

function toValue(document: Document): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // Aliases that unfold into more than anyone wrote.
    throw new ReefError('script_invalid', `line 1: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}

/** Where the node of a path begins; of what is missing, the nearest around it. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

function invalid(line: number, what: string): ReefError {
  return new ReefError('script_invalid', `line ${line}: ${what}`, { details: { line } });
}
