import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { createRedactor, redactDeep } from './redact.ts';

const SECRET = 'p/ss "w+rd"\\é*1';

function formsOf(secret: string): Record<string, string> {
  const json = JSON.stringify(secret).slice(1, -1);
  return {
    plain: secret,
    json,
    'json in json': JSON.stringify(json).slice(1, -1),
    'ascii json': json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    url: encodeURIComponent(secret),
    'url in small letters': encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
    form: new URLSearchParams({ '': secret }).toString().slice(1),
    base64: Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    base64url: Buffer.from(secret).toString('base64url'),
  };
}

verifies('X-50').test('a secret is found as it is and in its JSON, URL and base64 forms', () => {
  const redact = createRedactor([SECRET]);
  const shown = Object.entries(formsOf(SECRET)).map(([form, text]) => [form, redact(`before ${text} after`)]);
  // Up to two last characters of base64 hold bits of what follows the secret; alone they tell nothing.
  const expected = shown.map(([form]) => [form, expect.stringMatching(/^before \[redacted\]\S{0,2} after$/)]);
  expect(shown).toEqual(expected);
});

verifies('X-50').test('base64 of a text around the secret does not show it, in any of the three alignments', () => {
  const redact = createRedactor(['hunter2hunter2']);
  const leaks = ['', 'a', 'ab', 'user:', 'x-token:']
    .flatMap((before) => [Buffer.from(`${before}hunter2hunter2 tail`).toString('base64')])
    .map((text) => redact(text))
    .map((text) => Buffer.from(text.replace('[redacted]', ''), 'base64').toString('latin1'))
    .filter((text) => text.includes('hunter'));
  expect(leaks).toEqual([]);
});

const secret = fc.string({ unit: fc.constantFrom(...'abcXYZ09+/=?&%*~! "\\\né日'), minLength: 8, maxLength: 24 });

verifies('X-50').test('no form of any secret survives anywhere in any text', () => {
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 4 }),
      fc.string(),
      fc.string(),
      (secrets, before, after) => {
        const redact = createRedactor(secrets);
        for (const one of secrets) {
          for (const form of Object.values(formsOf(one))) {
            expect(redact(before + form + after)).not.toContain(form);
          }
          const written = JSON.stringify(redactDeep(redact, { [one]: [one, { deep: `${before}${one}` }], n: 1 }));
          expect(written).not.toContain(JSON.stringify(one).slice(1, -1));
        }
      },
    ),
    { numRuns: 500 },
  );
});

verifies('X-50').test('overlapping secrets leave no rest of either', () => {
  const redact = createRedactor(['abcdefgh', 'efghijkl', 'aaaaaaaa', 'abcdefghijklmnop']);
  expect([redact('xabcdefghijklx'), redact('a'.repeat(30)), redact('-abcdefghijklmnop-')]).toEqual([
    'x[redacted]x',
    '[redacted]',
    '-[redacted]-',
  ]);
});

verifies('X-50').test('tokens of known shape go without being named, words like them stay', () => {
  const redact = createRedactor([]);
  const fake = (prefix: string, length: number) => prefix + 'aB3'.repeat(length).slice(0, length);
  const tokens = [
    fake('sk-ant-api03-', 40),
    fake('sk-', 48),
    fake('sk-proj-', 40),
    fake('ghp_', 36),
    fake('gho_', 36),
    fake('github_pat_', 60),
    fake('glpat-', 20),
    fake('xoxb-', 30),
    fake('npm_', 36),
    'AKIAIOSFODNN7EXAMPLE',
    fake('AIza', 35),
    `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`,
  ];
  expect(tokens.map((token) => redact(`key="${token}"`))).toEqual(tokens.map(() => 'key="[redacted]"'));
  expect(redact('Authorization: Bearer abc.DEF-123_456~789==')).toBe('Authorization: Bearer [redacted]');
  const words = 'task-force-of-the-whole-company, desk-lamp, sk-short, AKIA, Bearer of news, ghp_x, eyJ.eyJ.x';
  expect(redact(words)).toBe(words);
});

test('values under eight characters are not looked for: they would redact everything', () => {
  expect(createRedactor(['', 'yes', '1234567'])('yes 1234567')).toBe('yes 1234567');
});

test('a payload comes back in its own shape', () => {
  const redact = createRedactor(['topsecret1']);
  const payload = { a: [null, 1, true, 'x topsecret1'], 'k-topsecret1': { b: '' } };
  expect(redactDeep(redact, payload)).toEqual({ a: [null, 1, true, 'x [redacted]'], 'k-[redacted]': { b: '' } });
  expect(payload.a[3]).toBe('x topsecret1');
});

test('half a megabyte of near misses takes linear time', () => {
  const redact = createRedactor([`${'a'.repeat(40)}b`, 'sk-sk-sk-sk-no']);
  const worst = ['a', 'sk-', 'sk-a', 'eyJ', 'eyJaaaaaaaa.', 'Bearer ', 'AKIA', 'ghp_', 'github_pat_', 'xoxb-'].map(
    (unit) => unit.repeat(500_000 / unit.length),
  );
  expect(worst.map((text) => redact(text).length > 0)).toEqual(worst.map(() => true));
});
