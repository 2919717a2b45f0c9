import { canonicalJson } from '../../base/fingerprint.ts';
import type { Json } from '../../protocol/workflow.ts';
import { isSegmentType } from './names.ts';

/** A path into what a transition can see: `last(TYPE)`, `here(TYPE)`, `count(TYPE)`, `visits`, `args`, `returned`. */
interface Path {
  root: 'last' | 'here' | 'count' | 'visits' | 'args' | 'returned';
  type?: string;
  steps: (string | number)[];
}
export type Value = { literal: Json } | { path: Path };
type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'contains';
export type Guard =
  | { op: 'or' | 'and'; of: Guard[] }
  | { op: 'not'; of: Guard }
  | { op: 'is'; value: Value }
  | { op: 'compare'; by: Comparison; left: Value; right: Value };

export type Parsed<T> = { ok: true; value: T } | { ok: false; error: string; at: number };

const LONGEST = 1024;
const OPERATORS = ['==', '!=', '<=', '>=', '<', '>', 'contains'] as const;
const TYPED_ROOTS = ['last', 'here', 'count'] as const;
const PLAIN_ROOTS = ['visits', 'args', 'returned'] as const;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /[A-Za-z0-9][A-Za-z0-9_-]*/y;
const INDEX = /[0-9]{1,9}/y;

export function parseGuard(text: string): Parsed<Guard> {
  return parseWith(text, (reader) => reader.guard());
}

/** The `from` of an argument: a value, not a comparison. */
export function parseValue(text: string): Parsed<Value> {
  return parseWith(text, (reader) => reader.value());
}

function parseWith<T>(text: string, read: (reader: Reader) => T): Parsed<T> {
  if (Buffer.byteLength(text) > LONGEST) return { ok: false, error: `is longer than ${LONGEST} bytes`, at: LONGEST };
  const reader = new Reader(text);
  try {
    const value = read(reader);
    reader.end();
    return { ok: true, value };
  } catch (error) {
    if (error instanceof GuardSyntaxError) return { ok: false, error: error.message, at: error.at };
    throw error;
  }
}

class GuardSyntaxError extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** Recursive descent over at most 1 KiB, so its depth is bounded too. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  guard(): Guard {
    return this.#chain('||', 'or', () => this.#chain('&&', 'and', () => this.#not()));
  }

  value(): Value {
    this.#blanks();
    const first = this.#text[this.#at] ?? '';
    if (first === '"') return { literal: this.#string() };
    if (first === '-' || (first >= '0' && first <= '9')) return { literal: this.#number() };
    const start = this.#at;
    const word = this.#match(WORD) ?? this.#fail('expected a value');
    if (word === 'true' || word === 'false') return { literal: word === 'true' };
    if (word === 'null') return { literal: null };
    const typed = TYPED_ROOTS.find((root) => root === word);
    if (typed) return { path: { root: typed, type: this.#type(), steps: this.#steps() } };
    const plain = PLAIN_ROOTS.find((root) => root === word);
    if (plain) return { path: { root: plain, steps: this.#steps() } };
    throw new GuardSyntaxError(
      `"${word}" is not a value: expected last(), here(), count(), visits, args, returned or JSON`,
      start,
    );
  }

  end(): void {
    this.#blanks();
    if (this.#at < this.#text.length) this.#fail(`unexpected "${this.#text.slice(this.#at, this.#at + 12)}"`);
  }

  #chain(sign: string, op: 'or' | 'and', item: () => Guard): Guard {
    const of = [item()];
    while (this.#takes(sign)) of.push(item());
    return of.length === 1 && of[0] ? of[0] : { op, of };
  }

  #not(): Guard {
    this.#blanks();
    const isNegated = this.#text[this.#at] === '!' && this.#text[this.#at + 1] !== '=';
    if (isNegated) this.#at += 1;
    const inner = this.#takes('(') ? this.#group() : this.#comparison();
    return isNegated ? { op: 'not', of: inner } : inner;
  }

  #group(): Guard {
    const inner = this.guard();
    if (!this.#takes(')')) this.#fail('expected ")"');
    return inner;
  }

  #comparison(): Guard {
    const left = this.value();
    const by = OPERATORS.find((operator) => this.#takes(operator));
    return by ? { op: 'compare', by, left, right: this.value() } : { op: 'is', value: left };
  }

  #type(): string {
    if (!this.#takes('(')) this.#fail('expected "(" and a segment type');
    this.#blanks();
    const type = this.#match(WORD) ?? '';
    if (!isSegmentType(type)) this.#fail(`"${type}" is not a segment type`);
    if (!this.#takes(')')) this.#fail('expected ")"');
    return type;
  }

  #steps(): (string | number)[] {
    const steps: (string | number)[] = [];
    for (;;) {
      const sign = this.#text[this.#at];
      if (sign !== '.' && sign !== '[') return steps;
      this.#at += 1;
      if (sign === '.') steps.push(this.#match(WORD) ?? this.#fail('expected a name after "."'));
      else {
        steps.push(Number(this.#match(INDEX) ?? this.#fail('expected a whole number after "["')));
        if (!this.#takes(']')) this.#fail('expected "]"');
      }
    }
  }

  #string(): string {
    const start = this.#at;
    for (let at = start + 1; at < this.#text.length; at++) {
      if (this.#text[at] === '\\') at += 1;
      else if (this.#text[at] === '"') return this.#jsonString(start, at + 1);
    }
    throw new GuardSyntaxError('a string does not end', start);
  }

  #jsonString(start: number, end: number): string {
    this.#at = end;
    try {
      return String(JSON.parse(this.#text.slice(start, end)));
    } catch (cause) {
      throw Object.assign(new GuardSyntaxError('is not a JSON string', start), { cause });
    }
  }

  #number(): number {
    const digits = this.#match(NUMBER) ?? this.#fail('is not a JSON number');
    return Number.isFinite(Number(digits)) ? Number(digits) : this.#fail('is too large a number');
  }

  #takes(sign: string): boolean {
    this.#blanks();
    if (!this.#text.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #blanks(): void {
    while (this.#text[this.#at] === ' ') this.#at += 1;
  }

  #fail(message: string): never {
    throw new GuardSyntaxError(message, this.#at);
  }
}

/** What a guard or an argument can see: segments as JSON, null where there is none of the type. */
export interface Scope {
  last(type: string): Json;
  here(type: string): Json;
  count(type: string): number;
  visits: number;
  args: Record<string, Json>;
  returned: Record<string, Json>;
}

/** Every guard has an answer in every scope. */
export function holds(guard: Guard, scope: Scope): boolean {
  switch (guard.op) {
    case 'or':
      return guard.of.some((part) => holds(part, scope));
    case 'and':
      return guard.of.every((part) => holds(part, scope));
    case 'not':
      return !holds(guard.of, scope);
    case 'is':
      return Boolean(valueIn(guard.value, scope));
    case 'compare':
      return compare(valueIn(guard.left, scope), guard.by, valueIn(guard.right, scope));
  }
}

/** A missing path is null. */
export function valueIn(value: Value, scope: Scope): Json {
  if ('literal' in value) return value.literal;
  let found = rootOf(value.path, scope);
  for (const step of value.path.steps) found = childOf(found, step);
  return found;
}

function rootOf({ root, type = '' }: Path, scope: Scope): Json {
  switch (root) {
    case 'last':
      return scope.last(type);
    case 'here':
      return scope.here(type);
    case 'count':
      return scope.count(type);
    case 'visits':
      return scope.visits;
    case 'args':
      return scope.args;
    case 'returned':
      return scope.returned;
  }
}

function childOf(value: Json, step: string | number): Json {
  if (Array.isArray(value)) return typeof step === 'number' ? (value[step] ?? null) : null;
  if (typeof value !== 'object' || value === null || typeof step === 'number') return null;
  return Object.hasOwn(value, step) ? (value[step] ?? null) : null;
}

function compare(left: Json, by: Comparison, right: Json): boolean {
  if (by === '==') return isSame(left, right);
  if (by === '!=') return !isSame(left, right);
  if (by === 'contains') return contains(left, right);
  if (typeof left !== 'number' || typeof right !== 'number') return false;
  if (by === '<') return left < right;
  if (by === '<=') return left <= right;
  return by === '>' ? left > right : left >= right;
}

function isSame(left: Json, right: Json): boolean {
  return canonicalJson(left) === canonicalJson(right);
}

function contains(whole: Json, part: Json): boolean {
  if (typeof whole === 'string') return typeof part === 'string' && whole.includes(part);
  if (Array.isArray(whole)) return whole.some((item) => isSame(item, part));
  return typeof whole === 'object' && whole !== null && typeof part === 'string' && Object.hasOwn(whole, part);
}
