import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const HALF = 2 ** 40;

function encode(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text;
  return text;
}

/** Makes ids: 48 bits of time, then 80 random bits. Each is greater than the one before, even if the clock was set back. */
export function createIds(clock: Pick<Clock, 'now'>, random: (size: number) => Buffer = randomBytes): () => string {
  let time = -1;
  let high = 0;
  let low = 0;

  const fresh = (at: number) => {
    const bytes = random(10);
    time = at;
    high = bytes.readUIntBE(0, 5);
    low = bytes.readUIntBE(5, 5);
  };
  const increment = () => {
    low += 1;
    if (low === HALF) {
      low = 0;
      high += 1;
    }
    if (high === HALF) fresh(time + 1);
  };

  return () => {
    const now = clock.now().getTime();
    if (now > time) fresh(now);
    else increment();
    return encode(time, 10) + encode(high, 8) + encode(low, 8);
  };
}

export function isId(text: string): boolean {
  return ID.test(text);
}
