import { parseJson } from '../../base/safe-json.ts';
import { whyUnsafe } from '../../base/safe-path.ts';
import {
  CONTEXT_BUDGET,
  isSliceKind,
  OPTION_NAMES,
  PLACEHOLDERS,
  SLICE_KINDS,
  type Slice,
  type SliceArgument,
  type SliceKind,
  type SliceProblem,
} from './slice.ts';

type Fields = Omit<Slice, 'kind' | 'argument' | 'text'>;

const LONGEST = 4_096;
const LEAST_BUDGET = 20;
const NUMBER = /^[1-9][0-9]{0,6}$/;
const LINES = /^([1-9][0-9]{0,6})-([1-9][0-9]{0,6})$/;
const HELD_OPEN = /^\{(.*)\}$/s;
const KIND_LIST = Object.keys(SLICE_KINDS).join(', ');

class SliceSyntaxError extends Error {
  readonly at: number;
  readonly hint: string | undefined;

  constructor(message: string, at: number, hint?: string) {
    super(message);
    this.at = at;
    this.hint = hint;
  }
}

/** One item of `context`: `kind:argument option…`, or the same as a mapping. */
export function parseSlice(item: unknown): Slice | SliceProblem {
  try {
    if (typeof item === 'string') return parseText(item);
    if (typeof item === 'object' && item !== null && !Array.isArray(item)) return parseMapping(Object.entries(item));
    throw new SliceSyntaxError('is neither a text nor a mapping', 0);
  } catch (error) {
    if (!(error instanceof SliceSyntaxError)) throw error;
    const { message, at, hint } = error;
    return { code: 'wf_context', message, at, ...(hint !== undefined && { hint }) };
  }
}

export function isProblem(parsed: Slice | SliceProblem): parsed is SliceProblem {
  return 'code' in parsed;
}

/** `context_budget` of a block. */
export function checkContextBudget(budget: number): SliceProblem | undefined {
  const { least, most } = CONTEXT_BUDGET;
  if (budget >= least && budget <= most) return undefined;
  return { code: 'wf_context', at: 0, message: `context_budget is ${budget}, not ${least} to ${most} tokens` };
}

/** YAML takes a plain item apart where its author did not mean it to; said where its traces are seen. */
function quoting(text: string): string {
  return `YAML cuts a plain item at ": ", at " #" and, inside […], at a comma: put it in quotes, as in '${text.replaceAll("'", "''")}'`;
}

function parseText(text: string): Slice {
  if (text.length > LONGEST) throw new SliceSyntaxError(`is longer than ${LONGEST} characters`, LONGEST);
  const colon = text.indexOf(':');
  const kind = kindOf(colon === -1 ? text : text.slice(0, colon), colon === -1 ? text : undefined);
  const start = colon + 1;
  const argument = text[start] === '"' ? quoted(text, start) : plain(text, start);
  checkArgument(kind, argument.value, start);
  return { kind, argument: argument.value, ...parseOptions(kind, text, argument.end), text: text.trim() };
}

/** `whole` is set when there is no colon: a remnant of what YAML has cut. */
function kindOf(word: string, whole?: string): SliceKind {
  if (isSliceKind(word) && whole === undefined) return word;
  const hint = whole !== undefined && /["\])}]$/.test(whole) ? quoting(`search:"…, ${whole}`) : undefined;
  if (whole !== undefined && !isSliceKind(word)) {
    throw new SliceSyntaxError(
      `"${shown(word)}" has no kind: write one of ${KIND_LIST}, a colon and its argument`,
      0,
      hint,
    );
  }
  if (whole !== undefined) throw new SliceSyntaxError(`"${word}" has no argument`, word.length);
  throw new SliceSyntaxError(`"${shown(word)}" is no kind of slice; there are ${KIND_LIST}`, 0);
}

interface Read<T> {
  value: T;
  end: number;
}

function quoted(text: string, start: number): Read<SliceArgument> {
  let end = start + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  if (end >= text.length) {
    throw new SliceSyntaxError('has a quote that is not closed', start, quoting(`${text}"`));
  }
  const after = text[end + 1];
  if (after !== undefined && after !== ' ')
    throw new SliceSyntaxError('goes on after its closing quote without a blank', end + 1);
  const json = parseJson(text.slice(start, end + 1));
  if (!json.ok) throw new SliceSyntaxError('is quoted, but not as JSON quotes a text', start);
  return { value: { text: String(json.value) }, end: end + 1 };
}

function plain(text: string, start: number): Read<SliceArgument> {
  const blank = text.indexOf(' ', start);
  const end = blank === -1 ? text.length : blank;
  const word = text.slice(start, end);
  if (word === '') {
    const why =
      end < text.length ? 'has a blank after its colon: leave it out, or quote the argument' : 'has no argument';
    throw new SliceSyntaxError(why, start);
  }
  const quote = word.indexOf('"');
  if (quote !== -1) throw new SliceSyntaxError('has a quote inside its argument: quote all of it', start + quote);
  return { value: argumentOf(word, start), end };
}

function argumentOf(word: string, at: number): SliceArgument {
  const [, name] = HELD_OPEN.exec(word) ?? [];
  if (name === undefined) return { text: word };
  if (name === 'task' || name === 'plan' || name === 'changed') return { from: name };
  const [, argument] = /^args\.([A-Za-z_][A-Za-z0-9_-]{0,63})$/.exec(name) ?? [];
  if (argument !== undefined) return { from: 'args', name: argument };
  throw new SliceSyntaxError(`knows no ${shown(word)}: there are {task}, {plan}, {changed} and {args.name}`, at);
}

function checkArgument(kind: SliceKind, argument: SliceArgument, at: number): void {
  const takes = SLICE_KINDS[kind].argument;
  if ('from' in argument) {
    if (PLACEHOLDERS[takes].includes(argument.from)) return;
    const wanted = { path: 'a path', name: 'a name', words: 'words' }[takes];
    throw new SliceSyntaxError(`gives ${kind} {${argument.from}}, which takes ${wanted}`, at);
  }
  if (argument.text.trim() === '') throw new SliceSyntaxError('has an empty argument', at);
  const why = takes === 'path' ? whyUnsafe(argument.text) : undefined;
  if (why !== undefined) throw new SliceSyntaxError(`names the path "${shown(argument.text)}", which ${why}`, at);
}

function parseOptions(kind: SliceKind, text: string, start: number): Fields {
  const fields: Fields = { required: false };
  for (const { 0: word, index } of text.slice(start).matchAll(/[^ ]+/g)) {
    const at = start + index;
    const [name = '', value, ...rest] = word.split('=');
    if (value === undefined && name !== 'required')
      throw new SliceSyntaxError(`has "${shown(word)}", which is no option`, at, strayHint(text));
    if (rest.length > 0 || (name === 'required' && value !== undefined))
      throw new SliceSyntaxError(`has a malformed "${shown(word)}"`, at);
    setOption(fields, { kind, name, value: value ?? 'true', at });
  }
  return fields;
}

/** Most often the author forgot that words need quotes. */
function strayHint(text: string): string {
  const colon = text.indexOf(':');
  return `An argument with blanks is quoted: ${text.slice(0, colon)}:${JSON.stringify(text.slice(colon + 1))}`;
}

function setOption(fields: Fields, option: { kind: SliceKind; name: string; value: string; at: number }): void {
  const { kind, name, value, at } = option;
  const bounds: Partial<Record<string, number>> = SLICE_KINDS[kind].options;
  if (!OPTION_NAMES.some((known) => known === name))
    throw new SliceSyntaxError(`has "${shown(name)}", which is no option`, at);
  if (name !== 'budget' && name !== 'required' && bounds[name] === undefined)
    throw new SliceSyntaxError(`gives ${kind} ${name}, which it does not take`, at);
  if (name in fields && !(name === 'required' && !fields.required)) throw new SliceSyntaxError(`has ${name} twice`, at);
  if (name === 'required') fields.required = true;
  else if (name === 'lines') fields.lines = lineRange(value, at);
  else if (name === 'budget')
    fields.budget = whole(value, { name, at, least: LEAST_BUDGET, most: CONTEXT_BUDGET.most });
  else if (name === 'limit') fields.limit = whole(value, { name, at, least: 1, most: bounds.limit ?? 1 });
  else fields.depth = whole(value, { name, at, least: 1, most: bounds.depth ?? 1 });
}

function whole(
  value: string,
  { name, at, least, most }: { name: string; at: number; least: number; most: number },
): number {
  const number = NUMBER.test(value) ? Number(value) : Number.NaN;
  if (!(number >= least && number <= most))
    throw new SliceSyntaxError(`has ${name}=${shown(value)}, not ${least} to ${most}`, at);
  return number;
}

function lineRange(value: string, at: number): { from: number; to: number } {
  const [, from, to] = LINES.exec(value) ?? [];
  if (from === undefined || Number(from) > Number(to))
    throw new SliceSyntaxError(`has lines=${shown(value)}, not as in lines=10-20`, at);
  return { from: Number(from), to: Number(to) };
}

/** `{ kind: argument, option: value, … }`. */
function parseMapping(entries: [string, unknown][]): Slice {
  for (const [key, value] of entries) {
    const [head = ''] = key.split(':');
    if (key.includes(':') && isSliceKind(head)) {
      throw new SliceSyntaxError(`"${shown(key)}" is no kind of slice`, 0, quoting(`${key}: ${String(value)}`));
    }
  }
  const kinds = entries.filter(([key]) => isSliceKind(key));
  const [first] = kinds;
  if (first === undefined || kinds.length > 1) {
    throw new SliceSyntaxError(
      `names ${kinds.length === 0 ? 'no kind' : 'several kinds'} of slice; there are ${KIND_LIST}`,
      0,
    );
  }
  const [kind, given] = first as [SliceKind, unknown];
  const argument = mappedArgument(kind, given);
  checkArgument(kind, argument, 0);
  const fields: Fields = { required: false };
  const options = entries.filter(
    ([key]) => key !== kind && !(key === 'required' && entries.some(([k, v]) => k === key && v === false)),
  );
  for (const [name, value] of options) setOption(fields, { kind, name, value: mappedValue(name, value), at: 0 });
  return { kind, argument, ...fields, text: heading(kind, argument, options) };
}

function mappedArgument(kind: SliceKind, given: unknown): SliceArgument {
  if (typeof given === 'string') return argumentOf(given, 0);
  if (typeof given === 'number') return { text: String(given) };
  const [name] = typeof given === 'object' && given !== null ? Object.keys(given) : [];
  const hint = name === undefined ? undefined : `YAML takes {${name}} for a mapping: write "{${name}}" in quotes`;
  throw new SliceSyntaxError(`gives ${kind} no argument`, 0, hint);
}

function mappedValue(name: string, value: unknown): string {
  const isFlag = name === 'required' && value === true;
  if (isFlag || typeof value === 'string' || typeof value === 'number') return String(value);
  throw new SliceSyntaxError(
    `has ${shown(name)}: ${shown(JSON.stringify(value) ?? '')}, which is no value of an option`,
    0,
  );
}

function heading(kind: SliceKind, argument: SliceArgument, options: [string, unknown][]): string {
  const word =
    'text' in argument ? argument.text : argument.from === 'args' ? `{args.${argument.name}}` : `{${argument.from}}`;
  const isPlain = !/[\s"]/.test(word) && word !== '';
  const words = options.map(([name, value]) => (name === 'required' ? name : `${name}=${String(value)}`));
  return [`${kind}:${isPlain ? word : JSON.stringify(word)}`, ...words].join(' ');
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
