import { expect, onTestFinished } from 'vitest';
import { factRows, readFacts } from '../../../test/support/context/rows.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Language } from './contract.ts';
import { ParserPool, type ParserPoolOptions } from './parser-pool.ts';

function open(options: Partial<ParserPoolOptions> = {}): ParserPool {
  const pool = new ParserPool({ workers: 1, parseMs: 60_000, ...options });
  onTestFinished(() => pool.close());
  return pool;
}

const FUNCTION = Buffer.from('function f() {}\n');
const FUNCTION_ROW = '1:9-1:15 function f | function f()';

verifies('C-042', 'C-015').test(
  'NULs, broken UTF-8, lone surrogates and a byte order mark cost no other definition',
  async () => {
    const pool = open();
    const around = (middle: Uint8Array | string) =>
      Buffer.concat([Buffer.from('function f() {}\n'), Buffer.from(middle), Buffer.from('\nclass C {}\n')]);
    const names = async (source: Uint8Array) => {
      const facts = await pool.extract(source, 'javascript');
      return 'skipped' in facts
        ? [facts.skipped]
        : readFacts(facts).definitions.map(({ name, line, column }) => `${name} ${line}:${column}`);
    };
    expect({
      nul: await names(around('"a\0b"')),
      broken: await names(around(new Uint8Array([0x22, 0xff, 0xfe, 0x22]))),
      surrogate: await names(around(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]))),
      wide: await names(Buffer.from('"𝒳é"; function f() {}\n')),
      mark: await names(Buffer.from('\ufefffunction f() {}\n')),
    }).toEqual({
      nul: ['f 1:9', 'C 3:6'],
      broken: ['f 1:9', 'C 3:6'],
      surrogate: ['f 1:9', 'C 3:6'],
      wide: ['f 1:16'],
      mark: ['f 1:10'],
    });
  },
);

verifies('C-042').test('a tree with syntax errors gives what it has, marked partial', async () => {
  const source = Buffer.from('class A {\n  m() { return }\n}\nconst = ;\nfunction f( {\n');
  const rows = factRows(await open().extract(source, 'typescript'));
  expect(rows).toContain('1:6-3:1 class A | class A');
  expect(rows).toContain('2:2-2:16 method A > m | m()');
  expect(rows.at(-1)).toBe('partial');
});

verifies('C-015').test('files too large and lines too long are skipped before any worker starts', async () => {
  const pool = open();
  const long = Buffer.from(`function f() {}\nvar s = "${'x'.repeat(1024 * 1024 - 100)}";\n`);
  const large = Buffer.from('var a = 1;\n'.repeat(100_000));
  expect(await pool.extract(long, 'javascript')).toEqual({ skipped: 'long_line' });
  expect(await pool.classify({ source: large, language: 'javascript', hits: [{ line: 1, column: 4 }] })).toEqual({
    skipped: 'too_large',
  });
  expect(pool.counts).toEqual({ started: 0, crashed: 0 });
});

verifies('C-015').test(
  'what is nested ten thousand deep is parsed',
  async () => {
    const pool = open();
    const nested: [Language, string, string][] = [
      ['typescript', 'f(\n', ')\n'],
      ['python', '(\n', ')\n'],
      ['java', 'class A {\n', '}\n'],
      ['rust', 'mod a {\n', '}\n'],
      ['swift', 'class A {\n', '}\n'],
      ['kotlin', 'class A {\n', '}\n'],
      ['scala', 'class A {\n', '}\n'],
      ['cpp', 'class A {\n', '};\n'],
    ];
    const counts: Record<string, number | string> = {};
    for (const [language, before, after] of nested) {
      const source = Buffer.from(before.repeat(10_000) + after.repeat(10_000));
      const facts = await pool.extract(source, language);
      counts[language] = 'skipped' in facts ? facts.skipped : readFacts(facts).definitions.length;
      const hits = [{ line: 10_000, column: 0 }];
      expect(await pool.classify({ source, language, hits })).toHaveLength(1);
    }
    const all = 10_000;
    expect(counts).toEqual({
      ...{ typescript: 0, python: 0, java: all, rust: all, swift: all },
      ...{ kotlin: all, scala: all, cpp: all },
    });
    expect(pool.counts).toEqual({ started: 1, crashed: 0 });
  },
  120_000,
);

verifies('C-015').test('a parse past its bound is abandoned, and the worker goes on', async () => {
  const pool = open({ parseMs: 0 });
  const source = Buffer.from('const a = { b: [1, 2, 3] };\n'.repeat(30_000));
  expect(await pool.extract(source, 'javascript')).toEqual({ skipped: 'timeout' });
  expect(await pool.extract(Buffer.from('let a\n'), 'swift')).toMatchObject({ partial: true });
  expect(pool.counts).toEqual({ started: 1, crashed: 0 });
});

verifies('C-043').test('a worker is replaced once it has read its share', async () => {
  const pool = open({ maxSourceBytes: 3 * FUNCTION.byteLength });
  for (let times = 0; times < 7; times++) {
    expect(factRows(await pool.extract(FUNCTION, 'javascript'))).toEqual([FUNCTION_ROW]);
  }
  expect(pool.counts).toEqual({ started: 3, crashed: 0 });
});

verifies('C-043').test('a worker is replaced once its memory has grown', async () => {
  const pool = open({ maxMemoryBytes: 1 });
  for (let times = 0; times < 3; times++) await pool.extract(FUNCTION, 'javascript');
  expect(pool.counts).toEqual({ started: 3, crashed: 0 });
});

verifies('C-043', 'C-078').test(
  'renewed, a pool ends workers that have grown after the file each reads, and starts others',
  async () => {
    const pool = open({ grownBytes: 0 });
    const extract = () => pool.extract(FUNCTION, 'javascript');
    const under = extract();
    await pool.renew('grown');
    const [first, second] = [await under, await extract()];
    await pool.renew('grown');
    const third = await extract();
    expect([first, second, third].map(factRows)).toEqual([[FUNCTION_ROW], [FUNCTION_ROW], [FUNCTION_ROW]]);
    expect(pool.counts).toEqual({ started: 3, crashed: 0 });
  },
);

verifies('C-043', 'C-078').test(
  'renewed, a pool ends all workers or those that have grown, and others come when they are needed',
  async () => {
    const pool = open();
    await pool.extract(FUNCTION, 'javascript');
    await pool.renew('grown');
    await pool.extract(FUNCTION, 'javascript');
    const { started } = pool.counts;
    await pool.renew('all');
    await pool.extract(FUNCTION, 'javascript');
    expect([started, pool.counts.started]).toEqual([1, 2]);
  },
);

verifies('C-043', 'C-078').test('what is asked for while a worker ends is read by the next one', async () => {
  const pool = open();
  await pool.extract(FUNCTION, 'javascript');
  const renewed = pool.renew('all');
  expect(factRows(await pool.extract(FUNCTION, 'javascript'))).toEqual([FUNCTION_ROW]);
  await renewed;
});

verifies('C-043').test('no more workers than allowed, however many files wait', async () => {
  const pool = open({ workers: 2 });
  const answers = await Promise.all(Array.from({ length: 40 }, () => pool.extract(FUNCTION, 'javascript')));
  expect(new Set(answers.flatMap(factRows))).toEqual(new Set([FUNCTION_ROW]));
  expect(pool.counts).toEqual({ started: 2, crashed: 0 });
});

verifies('C-012').test('a question goes ahead of the files that wait, also of those handed over', async () => {
  const pool = open();
  const order: string[] = [];
  await pool.extract(FUNCTION, 'javascript'); // the thread runs
  // The first takes the thread so long that the question comes before its end.
  const files = [25_000, 2_000, 2_000, 2_000, 2_000].map(async (lines, at) => {
    await pool.extract(Buffer.from('function f() {}\n'.repeat(lines)), 'javascript');
    order.push(`file ${at}`);
  });
  const question = pool.classify({ source: FUNCTION, language: 'javascript', hits: [{ line: 1, column: 9 }] });
  await Promise.all([...files, question.then(() => order.push('question'))]);
  expect(order.slice(0, 2)).toContain('question'); // one file has been begun
});

verifies('C-015').test('a file that ends its worker harms none of those handed over with it', async () => {
  const pool = open({ heapMb: 24 });
  const tooMany = Buffer.from('var a = 1\n'.repeat(100_000)); // every match of its query is held at once
  const all = [FUNCTION, tooMany, FUNCTION, FUNCTION].map((source) =>
    pool.extract(source, source === tooMany ? 'go' : 'javascript'),
  );
  const [before, poison, ...after] = await Promise.all(all);
  expect(poison).toEqual({ skipped: 'crash' });
  expect([before, ...after].map((facts) => facts && factRows(facts))).toEqual([
    [FUNCTION_ROW],
    [FUNCTION_ROW],
    [FUNCTION_ROW],
  ]);
  expect(pool.counts).toEqual({ started: 2, crashed: 1 });
});

verifies('C-012').test('a cancelled request rejects at once, waiting or running, and harms no other', async () => {
  const pool = open();
  const running = new AbortController();
  const waiting = new AbortController();
  const reason = new Error('no longer wanted');
  const first = pool.extract(FUNCTION, 'javascript', running.signal);
  const second = pool.extract(FUNCTION, 'javascript', waiting.signal);
  const third = pool.extract(FUNCTION, 'javascript');
  running.abort(reason);
  waiting.abort(reason);
  expect(await Promise.allSettled([first, second])).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
  await expect(pool.extract(FUNCTION, 'javascript', running.signal)).rejects.toBe(reason);
  expect(factRows(await third)).toEqual([FUNCTION_ROW]);
});

verifies('C-012').test('a closed pool refuses what comes and what waits', async () => {
  const pool = open();
  const asked = [pool.extract(FUNCTION, 'javascript'), pool.extract(FUNCTION, 'javascript')];
  const settled = Promise.allSettled(asked);
  await pool.close();
  const codes = (await settled).map((one) => (one.status === 'rejected' ? one.reason.code : 'answered'));
  expect(codes).toEqual(['parser_unavailable', 'parser_unavailable']);
  await expect(pool.extract(FUNCTION, 'javascript')).rejects.toMatchObject({ code: 'parser_unavailable' });
});

verifies('C-015', 'C-043').test(
  'a file that takes more memory than a worker has ends that worker alone, and is a fact',
  async () => {
    const pool = open({ heapMb: 24 });
    const tooMany = Buffer.from('var a = 1\n'.repeat(100_000)); // every match of its query is held at once
    const tooLarge = Buffer.from('a;\n'.repeat(349_000)); // a million nodes: more than the parser's own memory holds
    expect(await pool.extract(tooMany, 'go')).toEqual({ skipped: 'crash' });
    expect(await pool.extract(tooLarge, 'typescript')).toEqual({ skipped: 'crash' });
    expect(factRows(await pool.extract(FUNCTION, 'javascript'))).toEqual([FUNCTION_ROW]);
    expect(pool.counts).toEqual({ started: 3, crashed: 2 });
  },
  120_000,
);
