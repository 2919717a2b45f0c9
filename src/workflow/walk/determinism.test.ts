import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isTest, ROOT, sourceFiles } from '../../../test/support/source-files.ts';
import { verifies } from '../../../test/support/verifies.ts';

/** What a replay would see differently: clocks, chance, ids, I/O, and anything awaited. */
const FORBIDDEN = [
  /\bDate\b/,
  /\bMath\.random\b/,
  /\bperformance\b/,
  /\bprocess\./,
  /\bsetTimeout|setInterval|setImmediate|queueMicrotask\b/,
  /\brandom(UUID|Bytes|Int)\b/,
  /\basync\b|\bawait\b|\bPromise\b/,
  /from 'node:/,
  /from '(?:\.\.\/)+(?:process|git|store|agents|worktrees|base\/(?!fingerprint))/,
];

function offences(code: string): string[] {
  const bare = code.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
  return FORBIDDEN.filter((pattern) => pattern.test(bare)).map(String);
}

const rooms = ['src/workflow/walk/', 'src/workflow/language/'];
const files = sourceFiles('src').filter((path) => rooms.some((room) => path.startsWith(room)) && !isTest(path));

verifies('W-71').test('the walk and the language it reads know no clock, no chance, no id and no I/O', () => {
  expect(files.length).toBeGreaterThan(8);
  const found = files.flatMap((path) =>
    offences(readFileSync(join(ROOT, path), 'utf8')).map((offence) => `${path}: ${offence}`),
  );
  expect(found).toEqual([]);
});

verifies('W-71').test('the check knows what it looks for', () => {
  const bad = [
    'new Date()',
    'Math.random()',
    'performance.now()',
    'process.pid',
    'setTimeout(x)',
    'randomUUID()',
    'await x',
    "import { readFileSync } from 'node:fs';",
    "import { systemClock } from '../../base/clock.ts';",
  ];
  expect(bad.filter((code) => offences(code).length === 0)).toEqual([]);
  expect(offences('// await Date\n/* Math.random() */ const startDates = 1;')).toEqual([]);
});
