import { execFile } from 'node:child_process';
import { appendFile, open, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scale } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { LINE_LIMITS, type Line, LineReader, readLineAt } from './line-reader.ts';
import { parseJson } from './safe-json.ts';

const MIB = 1024 * 1024;
const dir = temporaryFolder();
let made = 0;

async function fileOf(content: string | Uint8Array): Promise<string> {
  const path = join(dir, `f${made++}`);
  await writeFile(path, content);
  return path;
}

async function readAll(reader: LineReader, batch = 1_000): Promise<Line[]> {
  const lines: Line[] = [];
  for (let next = await reader.readBatch(batch, MIB); next.length > 0; next = await reader.readBatch(batch, MIB)) {
    lines.push(...next);
  }
  return lines;
}

async function linesOf(content: string | Uint8Array): Promise<Line[]> {
  const reader = new LineReader({ path: await fileOf(content), offset: 0 });
  const lines = await readAll(reader);
  const last = reader.finish();
  await reader.close();
  return last ? [...lines, last] : lines;
}

verifies('Q-62').test(
  'lines carry their place; CRLF and empty lines vanish; the last comes only at the end',
  async () => {
    const reader = new LineReader({ path: await fileOf('{"a":1}\r\n\n\r\n\u0000é\nrest'), offset: 0 });
    const batch = await readAll(reader);
    const before = reader.offset;
    const last = reader.finish();
    expect({ batch, before, last, after: reader.offset, again: reader.finish() }).toEqual({
      batch: [
        { offset: 0, bytes: 9, text: '{"a":1}' },
        { offset: 12, bytes: 4, text: '\u0000é' },
      ],
      before: 16,
      last: { offset: 16, bytes: 4, text: 'rest' },
      after: 20,
      again: undefined,
    });
    await reader.close();
  },
);

verifies('Q-62').test('a line written byte by byte, characters split, comes once and whole', async () => {
  const path = await fileOf('');
  const reader = new LineReader({ path, offset: 0 });
  const seen: unknown[] = [];
  for (const byte of Buffer.from('"日本😀"\r\n"x"\n')) {
    await appendFile(path, Buffer.of(byte));
    seen.push(...(await reader.readBatch(10, MIB)).map(({ offset, text }) => [offset, text]));
  }
  await reader.close();
  expect(seen).toEqual([
    [0, '"日本😀"'],
    [14, '"x"'],
  ]);
});

verifies('Q-62').test('invalid UTF-8 becomes U+FFFD and harms no neighbour', async () => {
  const lines = await linesOf(Buffer.from([0x61, 0xff, 0x62, 0x0a, 0xe6, 0x97, 0x0a, 0x63, 0x0a]));
  expect(lines.map((line) => [line.offset, line.text])).toEqual([
    [0, 'a\ufffdb'],
    [4, '\ufffd'],
    [7, 'c'],
  ]);
});

verifies('Q-62').test('a million empty lines are passed over, and the offset with them', async () => {
  const reader = new LineReader({
    path: await fileOf(`${'\n'.repeat(1_000_000)}${'\r\n'.repeat(1_000)}{}\n\n`),
    offset: 0,
  });
  const lines = await readAll(reader);
  await reader.close();
  expect({ lines, offset: reader.offset }).toEqual({
    lines: [{ offset: 1_002_000, bytes: 3, text: '{}' }],
    offset: 1_002_004,
  });
});

const SMALL = { whole: 12, line: 40, string: 8, keep: 6 };
const line = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom('a', 'é', '😀', '"', '\\', '\0', ' '), maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom('b', '日', '"'), minLength: 12, maxLength: 60 }) },
);

verifies('Q-62').test('a reader made again at any committed offset goes on as if it had never stopped', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 5 })),
      async (texts, batches) => {
        const path = await fileOf(texts.map((text) => `${text}\n`).join(''));
        const whole = new LineReader({ path, offset: 0, limits: SMALL });
        const expected = await readAll(whole);
        await whole.close();
        const got: Line[] = [];
        let offset = 0;
        for (const size of [...batches, 1_000]) {
          const reader = new LineReader({ path, offset, limits: SMALL });
          got.push(...(await reader.readBatch(size, 30)));
          if (size === 1_000) got.push(...(await readAll(reader)));
          offset = reader.offset;
          await reader.close();
        }
        await rm(path);
        expect(got).toEqual(expected);
        expect(expected.map((found) => found.offset)).toEqual([...new Set(expected.map((found) => found.offset))]);
      },
    ),
    { numRuns: 200 },
  );
});

verifies('Q-60').test(
  'what is short stays whole, what is long becomes a skeleton, what is huge keeps its ends',
  async () => {
    const path = await fileOf(
      `${'a'.repeat(12)}\n"${'b'.repeat(20)}"\n${'c'.repeat(20)}日${'d'.repeat(30)}日e\r\n"last"\n`,
    );
    const reader = new LineReader({ path, offset: 0, limits: SMALL });
    const lines = await readAll(reader);
    await reader.close();
    expect(lines).toEqual([
      { offset: 0, bytes: 13, text: 'a'.repeat(12) },
      { offset: 13, bytes: 23, text: `"${'b'.repeat(8)}…[cut 12 bytes]"`, skeleton: true },
      {
        offset: 36,
        bytes: 59,
        text: 'cccccc…[cut 46 bytes]…d日e',
        truncated: true,
      },
      { offset: 95, bytes: 7, text: '"last"' },
    ]);
  },
);

verifies('Q-60', 'A-53', 'X-60').test(
  'at the real limits: 256 KiB are whole, 2 MiB a skeleton, over 16 MiB two ends of 32 KiB',
  async () => {
    const message = (size: number) => JSON.stringify({ type: 'xy', text: 'é'.repeat(size / 2), usage: { n: 1 } });
    const exact = JSON.stringify('w'.repeat(MIB / 4 - 2));
    const texts = [exact, message(2 * MIB), message(17 * MIB), '{"next":1}'];
    const path = await fileOf(texts.map((text) => `${text}\n`).join(''));
    const reader = new LineReader({ path, offset: 0 });
    const [first, second, third, fourth, ...more] = await readAll(reader);
    await reader.close();
    const echo = second && (await readLineAt(path, second));
    expect({
      more,
      first: first?.text === exact && first.skeleton === undefined,
      second: parseJson(second?.text ?? ''),
      echo: echo === texts[1],
      third: third?.truncated && third.text.split(/…\[cut \d+ bytes\]…/).map((end) => Buffer.byteLength(end)),
      fourth: fourth && { ...fourth, offset: fourth.offset - Buffer.byteLength(texts.slice(0, 3).join('\n')) },
    }).toEqual({
      more: [],
      first: true,
      second: {
        ok: true,
        value: { type: 'xy', text: `${'é'.repeat(16 * 1024)}…[cut ${2 * MIB - 32 * 1024} bytes]`, usage: { n: 1 } },
      },
      echo: true,
      third: [LINE_LIMITS.keep - 1, LINE_LIMITS.keep],
      fourth: { offset: 1, bytes: 11, text: '{"next":1}' },
    });
  },
);

test('a batch ends at its number of lines or its size, and always has one line', async () => {
  const reader = new LineReader({ path: await fileOf('aaaa\nbbbb\ncccc\ndddd\n'), offset: 5 });
  const sizes = [await reader.readBatch(2, 100), await reader.readBatch(10, 1), await reader.readBatch(10, 1)];
  await reader.close();
  expect(sizes.map((batch) => batch.map(({ text }) => text))).toEqual([['bbbb', 'cccc'], ['dddd'], []]);
});

verifies('X-43').test('a link in the place of the file is not followed', async () => {
  const path = join(dir, 'planted');
  await symlink(await fileOf('secret\n'), path);
  const reader = new LineReader({ path, offset: 0 });
  await expect(reader.readBatch(1, 1)).rejects.toMatchObject({ code: 'ELOOP' });
  await expect(readLineAt(path, { offset: 0, bytes: 3 })).rejects.toMatchObject({ code: 'ELOOP' });
  await reader.close();
});

const MEASURE = `
const { LineReader } = await import(process.argv[1]);
const reader = new LineReader({ path: process.argv[2], offset: 0 });
const lines = [];
for (let batch = await reader.readBatch(10, 1e6); batch.length > 0; batch = await reader.readBatch(10, 1e6)) {
  lines.push(...batch.map((line) => ({ bytes: line.bytes, length: line.text.length, tail: line.text.slice(-9) })));
}
await reader.close();
console.log(JSON.stringify({ lines, maxRss: process.resourceUsage().maxRSS }));
`;

/** One JSON string of NUL bytes: a hole in the file, so that a gigabyte costs no disk. Then a second line. */
async function measure(size: number): Promise<{ lines: unknown[]; maxRss: number }> {
  const path = await fileOf('{"type":"big","text":"');
  const file = await open(path, 'r+');
  await file.write('"}\n{"next":1}\n', size - 3);
  await file.close();
  const module = join(import.meta.dirname, 'line-reader.ts');
  const args = ['--expose-gc', '--input-type=module', '-e', MEASURE, module, path];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  await rm(path);
  return JSON.parse(stdout);
}

verifies('Q-60').test(
  'a huge line needs at most 1.5 times the memory of one of 16 MiB, and the next line is read',
  async () => {
    const huge = scale('Q-60', { test: 256, faults: 1_024, soak: 1_024 }) * MIB;
    const [base, other] = [await measure(16 * MIB), await measure(huge)];
    const next = { bytes: 11, length: 10, tail: '"next":1}' };
    expect(other.lines).toEqual([
      { bytes: huge, length: 2 * 32 * 1024 + `…[cut ${huge - 1 - 65_536} bytes]…`.length, tail: '\0\0\0\0\0\0\0"}' },
      next,
    ]);
    expect(base.lines).toEqual([
      { bytes: 16 * MIB, length: expect.any(Number), tail: expect.stringMatching(/\]"\}$/) },
      next,
    ]);
    expect(other.maxRss / base.maxRss).toBeLessThanOrEqual(1.5);
  },
  120_000,
);
