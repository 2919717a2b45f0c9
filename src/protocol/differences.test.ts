import fc from 'fast-check';
import { expect, test } from 'vitest';
import { differences, withDifferences } from './differences.ts';

const anything = fc.jsonValue({ maxDepth: 4 });

test('what has changed turns any state into any other, after a way through JSON, and leaves the first as it was', () => {
  fc.assert(
    fc.property(anything, anything, (before, after) => {
      const copy = structuredClone(before);
      const told = JSON.parse(JSON.stringify(differences(before, after)));
      // 0 and -0 are the same in JSON.
      expect(JSON.stringify(sorted(withDifferences(before, told)))).toBe(JSON.stringify(sorted(after)));
      expect(before).toEqual(copy);
    }),
    { numRuns: 1_000 },
  );
});

test('a list that grew is told by its new entries, and a field by its name', () => {
  const before = { path: [1, 2], log: { 'a#1': { status: 'active' }, gone: 1 }, same: ['x'] };
  const after = { path: [1, 2, 3], log: { 'a#1': { status: 'complete' }, 'a#2': {} }, same: ['x'] };
  expect(differences(before, after)).toEqual([
    { at: ['path'], keep: 2, value: [3] },
    { at: ['log', 'gone'] },
    { at: ['log', 'a#1', 'status'], value: 'complete' },
    { at: ['log', 'a#2'], value: {} },
  ]);
  expect(differences(after, structuredClone(after))).toEqual([]);
});

test('a field may have any name', () => {
  const after = JSON.parse('{"__proto__": {"constructor": 1}}');
  const made = withDifferences({}, differences({}, after));
  expect([JSON.stringify(made), Object.hasOwn(Object.prototype, 'constructor')]).toEqual([JSON.stringify(after), true]);
});

/** Fields in one order: it has no meaning. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return fields.map(([name, each]) => [name, sorted(each)]);
}
