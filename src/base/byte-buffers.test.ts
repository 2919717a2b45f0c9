import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteStore, ByteTail } from './long-line.ts';

const pieces = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 20 });

test('a store holds all that was pushed, a tail its end', () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 40 }), (all, size) => {
      const store = new ByteStore(1);
      const tail = new ByteTail(size);
      for (const piece of all) {
        store.push(piece);
        tail.push(piece);
      }
      const whole = Buffer.concat(all);
      expect([store.view(), tail.view()]).toEqual([whole, whole.subarray(Math.max(0, whole.length - size))]);
    }),
  );
});
