import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { readJobLog } from './job-log.ts';

const SECRETS = ['hunter2-hunter2'];
const TOKEN = `ghp_${'a'.repeat(36)}`;

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

function wrote(launch: string, out: string | Buffer, err?: string): void {
  mkdirSync(join(folder, launch), { recursive: true });
  writeFileSync(join(folder, launch, 'out'), out);
  if (err !== undefined) writeFileSync(join(folder, launch, 'err'), err);
}

const ASKED = { stream: 'out', launch: undefined, from: 0, bytes: 65_536 } as const;

/** Page after page, as a reader does who goes on at `next`. */
async function readAll(bytes: number, from = 0): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let at = from; ; ) {
    const page = await readJobLog(folder, { ...ASKED, from: at, bytes }, SECRETS);
    expect(page.from <= at && (page.next > at || page.next === page.size)).toBe(true);
    parts.push(Buffer.from(page.text, page.encoding));
    at = page.next;
    if (at >= page.size) return Buffer.concat(parts);
  }
}

verifies('A-175', 'U-25').test('pages of any size give every byte, and no part of a secret', async () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom('hunter2-hunter2', TOKEN, '\n', '\u001b[31m', 'ä', '👩‍💻'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), fc.integer({ min: 1, max: 60 }), async (pieces, size) => {
      const text = pieces.join(' ');
      wrote('1', text);
      const whole = text.replaceAll('hunter2-hunter2', '[redacted]').replaceAll(TOKEN, '[redacted]');
      expect((await readAll(size)).toString()).toBe(whole);
    }),
    { numRuns: 150 },
  );
});

verifies('A-175').test('bytes that are no text come as they are', async () => {
  const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, n) => (n * 37) % 256));
  wrote('1', bytes);
  expect((await readAll(7)).equals(bytes)).toBe(true);
  expect(await readJobLog(folder, { ...ASKED, bytes: 3 }, [])).toMatchObject({
    encoding: 'utf8',
    next: 3,
    size: 1_000,
  });
  expect(await readJobLog(folder, { ...ASKED, from: 5, bytes: 9 }, [])).toMatchObject({ encoding: 'base64' });
});

verifies('X-50').test('a range that begins or ends in a secret shows nothing of it', async () => {
  wrote('1', `key=hunter2-hunter2 and more`);
  for (let from = 0; from < 28; from += 1) {
    const { text } = await readJobLog(folder, { ...ASKED, from, bytes: 4 }, SECRETS);
    expect([from, /hun|ter2|-hu/.test(text)]).toEqual([from, false]);
  }
});

test('a negative start is counted from the end, and one behind the end reads nothing', async () => {
  wrote('1', 'one\ntwo\nthree\n');
  expect(await readJobLog(folder, { ...ASKED, from: -6 }, [])).toMatchObject({ text: 'three\n', from: 8, next: 14 });
  expect(await readJobLog(folder, { ...ASKED, from: 99 }, [])).toMatchObject({
    text: '',
    from: 14,
    next: 14,
    size: 14,
  });
  expect(await readJobLog(folder, { ...ASKED, from: -99, bytes: 3 }, [])).toMatchObject({ text: 'one', from: 0 });
});

test('the newest launch is meant; another one is named, and one that is not there is refused', async () => {
  wrote('2', 'early', 'oops');
  wrote('10', 'late');
  writeFileSync(join(folder, 'question.json'), 'no launch');
  expect(await readJobLog(folder, ASKED, [])).toMatchObject({ launches: [2, 10], launch: 10, text: 'late' });
  expect(await readJobLog(folder, { ...ASKED, launch: 2, stream: 'err' }, [])).toMatchObject({ text: 'oops' });
  expect(await readJobLog(folder, { ...ASKED, stream: 'err' }, [])).toMatchObject({ text: '', size: 0 });
  await expect(readJobLog(folder, { ...ASKED, launch: 3 }, [])).rejects.toMatchObject({ code: 'no_output' });
  await expect(readJobLog(join(folder, 'gone'), ASKED, [])).rejects.toMatchObject({ code: 'no_output' });
});

verifies('X-50').test('a link in the place of the file is not followed', async () => {
  mkdirSync(join(folder, '1'));
  symlinkSync('/etc/hostname', join(folder, '1', 'out'));
  await expect(readJobLog(folder, ASKED, [])).rejects.toThrow();
});
