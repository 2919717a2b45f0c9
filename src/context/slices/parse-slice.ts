import { parseJson } from '../../base/safe-json.ts';
import { whyUnsafe } from '../../base/safe-path.ts';
import {
  CONTEXT_BUDGET,
  isSliceKind,
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
const OPTIONS = ['limit', 'depth', 'lines', 'budget', 'required'];
const NUMBER = /^[1-9][0-9]{0,6}$/;
const LINES = /^([1-9][0-9]{0,6})-([1-9][0-9]{0,6})$/;
const PLACEHOLDER = /^\{(.*)\}$/s;
const KIND_LIST = Object.keys(SLICE_KINDS).join(', ');

class SliceSyntaxError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** One item of `context`: `kind:argument option…`, or the same as a mapping. */
export function parseSlice(item: unknown): Slice | SliceProblem {
  try {
    if (typeof item === 'string') return parseText(item);
    if (typeof item === 'object' && item !== null && !Array.isArray(item)) return parseMapping(Object.entries(item));
    throw new SliceSyntaxError('is neither a text nor a mapping');
  } catch (error) {
    if (!(error instanceof SliceSyntaxError)) throw error;
    const { message, hint } = error;
    return { code: 'wf_context', message, ...(hint !== undefined && { hint }) };
  }
}

export function isProblem(parsed: Slice | SliceProblem): parsed is SliceProblem {
  return 'code' in parsed;
}

export function checkContextBudget(budget: number): SliceProblem | undefined {
  const { least, most } = CONTEXT_BUDGET;
  if (budget >= least && budget <= most) return undefined;
  return { code: 'wf_context', message: `context_budget is ${budget}, not ${least} to ${most} tokens` };
}

/** The hint for items that YAML has split against their author's intention. */
function quoting(text: string): string {
  return `YAML cuts a plain item at ": ", at " #" and, inside […], at a comma: put it in quotes, as in '${text.replaceAll("'", "''")}'`;
}

function parseText(text: string): Slice {
  if (text.length > LONGEST) throw new SliceSyntaxError(`is longer than ${LONGEST} characters`);
  const colon = text.indexOf(':');
  if (colon === -1) throw withoutColon(text);
  const kind = text.slice(0, colon);
  if (!isSliceKind(kind)) throw new SliceSyntaxError(`"${shown(kind)}" is not a kind of slice; there are ${KIND_LIST}`);
  const start = colon + 1;
  const { argument, end } = text[start] === '"' ? quoted(text, start) : plain(text, start);
  checkArgument(kind, argument);
  return { kind, argument, ...parseOptions(kind, text, end), text: text.trim() };
}

/** An item without a colon may be a remnant of one that YAML has cut. */
function withoutColon(text: string): SliceSyntaxError {
  if (isSliceKind(text)) return new SliceSyntaxError(`"${text}" has no argument`);
  const hint = /["\])}]$/.test(text) ? quoting(`search:"…, ${text}`) : undefined;
  return new SliceSyntaxError(
    `"${shown(text)}" has no kind: write one of ${KIND_LIST}, a colon and its argument`,
    hint,
  );
}

interface ReadArgument {
  argument: SliceArgument;
  end: number;
}

function quoted(text: string, start: number): ReadArgument {
  let end = start + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  if (end >= text.length) throw new SliceSyntaxError('has a quote that is not closed', quoting(`${text}"`));
  const after = text[end + 1] ?? ' ';
  if (after !== ' ') throw new SliceSyntaxError('goes on after its closing quote without a blank');
  const json = parseJson(text.slice(start, end + 1));
  if (!json.ok) throw new SliceSyntaxError('is quoted, but not as JSON quotes a text');
  return { argument: { text: String(json.value) }, end: end + 1 };
}

function plain(text: string, start: number): ReadArgument {
  const blank = text.indexOf(' ', start);
  if (blank === start) throw new SliceSyntaxError('has a blank after its colon: leave it out, or quote the argument');
  const end = blank === -1 ? text.length : blank;
  const word = text.slice(start, end);
  if (word === '') throw new SliceSyntaxError('has no argument');
  if (word.includes('"')) throw new SliceSyntaxError('has a quote inside its argument: quote all of it');
  return { argument: argumentOf(word), end };
}

function argumentOf(word: string): SliceArgument {
  const [, name] = PLACEHOLDER.exec(word) ?? [];
  if (name === undefined) return { text: word };
  if (name === 'task' || name === 'plan' || name === 'changed') return { from: name };
  const [, argument] = /^args\.([A-Za-z_][A-Za-z0-9_-]{0,63})$/.exec(name) ?? [];
  if (argument !== undefined) return { from: 'args', name: argument };
  throw new SliceSyntaxError(`knows no ${shown(word)}: there are {task}, {plan}, {changed} and {args.name}`);
}

function checkArgument(kind: SliceKind, argument: SliceArgument): void {
  const takes = SLICE_KINDS[kind].argument;
  if ('from' in argument) {
    if (PLACEHOLDERS[takes].includes(argument.from)) return;
    const wanted = { path: 'a path', name: 'a name', words: 'words' }[takes];
    throw new SliceSyntaxError(`gives ${kind} {${argument.from}}, which takes ${wanted}`);
  }
  if (argument.text.trim() === '') throw new SliceSyntaxError('has an empty argument');
  const why = takes === 'path' ? whyUnsafe(argument.text) : undefined;
  if (why !== undefined) throw new SliceSyntaxError(`names the path "${shown(argument.text)}", which ${why}`);
}

function parseOptions(kind: SliceKind, text: string, start: number): Fields {
  const fields: Fields = { required: false };
  for (const [word] of text.slice(start).matchAll(/[^ ]+/g)) {
    const [name = '', value, ...rest] = word.split('=');
    if (value === undefined && name !== 'required')
      throw new SliceSyntaxError(`has "${shown(word)}", which is not an option`, strayHint(text));
    if (rest.length > 0 || (name === 'required' && value !== undefined))
      throw new SliceSyntaxError(`has a malformed "${shown(word)}"`);
    setOption(fields, kind, name, value ?? 'true');
  }
  return fields;
}

/** Most often the author forgot that words need quotes. */
function strayHint(text: string): string {
  const colon = text.indexOf(':');
  return `An argument with blanks is quoted: ${text.slice(0, colon)}:${JSON.stringify(text.slice(colon + 1))}`;
}

function setOption(fields: Fields, kind: SliceKind, name: string, value: string): void {
  const bounds: Partial<Record<string, number>> = SLICE_KINDS[kind].options;
  if (!OPTIONS.includes(name)) throw new SliceSyntaxError(`has "${shown(name)}", which is not an option`);
  if (name !== 'budget' && name !== 'required' && bounds[name] === undefined)
    throw new SliceSyntaxError(`gives ${kind} ${name}, which it does not take`);
  const isSet = name === 'required' ? fields.required : name in fields;
  if (isSet) throw new SliceSyntaxError(`has ${name} twice`);
  if (name === 'required') fields.required = true;
  else if (name === 'lines') fields.lines = lineRange(value);
  else if (name === 'budget') fields.budget = whole(name, value, LEAST_BUDGET, CONTEXT_BUDGET.most);
  else fields[name === 'limit' ? 'limit' : 'depth'] = whole(name, value, 1, bounds[name] ?? 1);
}

function whole(name: string, value: string, least: number, most: number): number {
  const number = NUMBER.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new SliceSyntaxError(`has ${name}=${shown(value)}, not ${least} to ${most}`);
}

function lineRange(value: string): { from: number; to: number } {
  const [, from, to] = LINES.exec(value) ?? [];
  if (from === undefined || Number(from) > Number(to))
    throw new SliceSyntaxError(`has lines=${shown(value)}, not as in lines=10-20`);
  return { from: Number(from), to: Number(to) };
}

/** `{ kind: argument, option: value, … }`. */
function parseMapping(entries: [string, unknown][]): Slice {
  for (const [key, value] of entries) {
    const [head = '', ...rest] = key.split(':');
    if (rest.length > 0 && isSliceKind(head))
      throw new SliceSyntaxError(`"${shown(key)}" is not a kind of slice`, quoting(`${key}: ${String(value)}`));
  }
  const kinds = entries.flatMap(([key, given]) => (isSliceKind(key) ? [{ kind: key, given }] : []));
  const [first] = kinds;
  if (first === undefined || kinds.length > 1) {
    const found = first === undefined ? 'no kind' : 'several kinds';
    throw new SliceSyntaxError(`names ${found} of slice; there are ${KIND_LIST}`);
  }
  const { kind, given } = first;
  const argument = mappedArgument(kind, given);
  checkArgument(kind, argument);
  const fields: Fields = { required: false };
  const options = entries.filter(([key, value]) => key !== kind && !(key === 'required' && value === false));
  for (const [name, value] of options) setOption(fields, kind, name, mappedValue(name, value));
  return { kind, argument, ...fields, text: heading(kind, argument, options) };
}

function mappedArgument(kind: SliceKind, given: unknown): SliceArgument {
  if (typeof given === 'string') return argumentOf(given);
  if (typeof given === 'number') return { text: String(given) };
  const [name] = typeof given === 'object' && given !== null ? Object.keys(given) : [];
  const hint = name === undefined ? undefined : `YAML takes {${name}} for a mapping: write "{${name}}" in quotes`;
  throw new SliceSyntaxError(`gives ${kind} no argument`, hint);
}

function mappedValue(name: string, value: unknown): string {
  const isFlag = name === 'required' && value === true;
  if (isFlag || typeof value === 'string' || typeof value === 'number') return String(value);
  const given = shown(JSON.stringify(value) ?? '');
  throw new SliceSyntaxError(`has ${shown(name)}: ${given}, which is not a value of an option`);
}

function heading(kind: SliceKind, argument: SliceArgument, options: [string, unknown][]): string {
  const words = options.map(([name, value]) => (name === 'required' ? name : `${name}=${String(value)}`));
  return [`${kind}:${argumentText(argument)}`, ...words].join(' ');
}

function argumentText(argument: SliceArgument): string {
  if ('text' in argument) return quotedIfNeeded(argument.text);
  return argument.from === 'args' ? `{args.${argument.name}}` : `{${argument.from}}`;
}

export function quotedIfNeeded(word: string): string {
  return /[\s"]/.test(word) ? JSON.stringify(word) : word;
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
