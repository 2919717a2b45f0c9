import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { parseJson } from './safe-json.ts';

verifies('Q-62', 'X-60').test('ten thousand levels, and sixteen million, are refused and not parsed', () => {
  const texts = ['['.repeat(10_000), `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, '['.repeat(16 * 1024 * 1024)];
  expect(texts.map((text) => parseJson(text))).toEqual(
    texts.map(() => ({ ok: false, why: 'nested deeper than 64 levels' })),
  );
});

verifies('X-60').test('exactly 64 levels are taken, 65 are not; brackets in strings are no levels', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const quoted = JSON.stringify({ text: `${'['.repeat(100)}"\\"{{{{` });
  expect({
    at: parseJson(nested(64)).ok,
    over: parseJson(nested(65)).ok,
    wide: parseJson(`[${'[],'.repeat(1_000)}1]`).ok,
    quoted: parseJson(quoted),
    own: parseJson(nested(3), { maxDepth: 2 }),
  }).toEqual({
    at: true,
    over: false,
    wide: true,
    quoted: { ok: true, value: { text: `${'['.repeat(100)}"\\"{{{{` } },
    own: { ok: false, why: 'nested deeper than 2 levels' },
  });
});

verifies('Q-62').test('keys that pollute prototypes are gone, however they are spelt and wherever they are', () => {
  const text = `{"a":[{"__proto__":{"admin":true}}],"\\u005f_proto__":{"admin":true},"x":{"constructor":{"prototype":{"admin":true}}},
    "con\\u0073tructor":{"prototype":1},"ok":1}`;
  const parsed = parseJson(text);
  expect(parsed).toEqual({ ok: true, value: { a: [{}], x: {}, ok: 1 }, dropped: true });
  const target: Record<string, unknown> = {};
  if (parsed.ok) Object.assign(target, parsed.value);
  expect([Object.getPrototypeOf(target), (target as { admin?: boolean }).admin]).toEqual([Object.prototype, undefined]);
});

test('a field named constructor in data about code stays', () => {
  expect(
    parseJson('{"constructor":"Widget(name)","prototype":{"a":1},"list":[{"constructor":{"kind":"method"}}]}'),
  ).toEqual({
    ok: true,
    value: { constructor: 'Widget(name)', prototype: { a: 1 }, list: [{ constructor: { kind: 'method' } }] },
  });
});

test('what is not JSON is an answer with a reason, not an exception', () => {
  const texts = [
    '',
    '{',
    'hello',
    '{"a":1}}',
    '{"a":"\u0000"}',
    '\ufeff{}',
    '["unterminated',
    `["${'unterminated'.repeat(20)}`,
    "{'a':1}",
    '{"a":"\\',
  ];
  const results = texts.map((text) => parseJson(text));
  expect(results.map((result) => !result.ok && result.why.length > 0)).toEqual(texts.map(() => true));
});

verifies('Q-62').test('for every JSON value and every text it agrees with JSON.parse', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      if (text.includes('__proto__')) return;
      expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0019ae ') }), (text) => {
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      expect(parseJson(text).ok).toBe(valid);
    }),
    { numRuns: 2_000 },
  );
});
