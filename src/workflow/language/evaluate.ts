import { canonicalJson } from '../../base/fingerprint.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { Comparison, Guard, Path, Value } from './guard.ts';

/** What a guard or an argument can see. A segment is its fields as JSON; none of the type is null. */
export interface Scope {
  last(type: string): Json;
  here(type: string): Json;
  count(type: string): number;
  visits: number;
  args: Record<string, Json>;
  returned: Record<string, Json>;
}

/** Total: every guard has an answer for every scope. */
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
