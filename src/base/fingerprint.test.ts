import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, fingerprint } from './fingerprint.ts';

test('canonical JSON has its keys in order at every level and no white space', () => {
  const value = { b: [1, { z: null, y: 'é"\n' }], a: true, 10: -0, 9: 1e21 };
  expect(canonicalJson(value)).toBe('{"10":0,"9":1e+21,"a":true,"b":[1,{"y":"é\\"\\n","z":null}]}');
  expect(fingerprint({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
});

test('the order of keys does not matter, any other change does', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (value, key) => {
      const turned = Object.fromEntries(Object.entries(value).reverse());
      expect(fingerprint(turned)).toBe(fingerprint(value));
      const changed = { ...value, [key]: `${JSON.stringify(value[key])}!` };
      expect(fingerprint(changed)).not.toBe(fingerprint(value));
    }),
  );
});

test('canonical JSON says the same as the value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('what JSON cannot say is refused rather than taken for something else', () => {
  const values = [Number.NaN, Infinity, 1n, undefined, () => 1, Symbol('s'), new Date(0), new Map(), [undefined]];
  const refused = values.map((value) => {
    try {
      return fingerprint({ value: [value] });
    } catch (error) {
      return (error as Error).name;
    }
  });
  expect(refused).toEqual(values.map(() => 'TypeError'));
  expect(fingerprint({ a: 1, b: undefined })).toBe(fingerprint({ a: 1 }));
  expect(fingerprint(Object.assign(Object.create(null), { a: 1 }))).toBe(fingerprint({ a: 1 }));
});
