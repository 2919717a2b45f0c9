import { expect, test } from 'vitest';
import { lazily } from './lazily.ts';

test('nothing is made before somebody wants it, and then once for all who want it', async () => {
  let makings = 0;
  const thing = lazily(async () => {
    makings += 1;
    return { nth: makings };
  });
  expect(thing.made()).toBeUndefined();
  const [one, other] = await Promise.all([thing.get(), thing.get()]);
  expect(one).toBe(other);
  expect(await thing.made()).toBe(one);
  expect(makings).toBe(1);
});

test('a failed making is forgotten: the next who wants it gets a new one', async () => {
  let isBroken = true;
  const thing = lazily(async () => {
    if (isBroken) throw new Error('the disk is full');
    return 'made';
  });
  await expect(thing.get()).rejects.toThrow('the disk is full');
  isBroken = false;
  expect(await thing.get()).toBe('made');
});
