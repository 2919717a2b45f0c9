import { parseJson } from '../../base/safe-json.ts';

/** How many tests ran, those skipped left out; undefined for a report that is neither JUnit XML nor JSON we know. */
export function countTests(report: string): number | undefined {
  const text = report.trimStart();
  return text.startsWith('<') ? countJunit(text) : countJson(text);
}

/** Tags are counted outside comments and CDATA: a test may print `<testcase` as it likes. */
function countJunit(text: string): number | undefined {
  let cases = 0;
  let skipped = 0;
  let isJunit = false;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at)) {
    const end = endOf(text, at);
    const name = /^<([A-Za-z]+)/.exec(text.slice(at, at + 16))?.[1];
    if (name === 'testsuite' || name === 'testsuites') isJunit = true;
    if (name === 'testcase') cases += 1;
    if (name === 'skipped') skipped += 1;
    at = end;
  }
  return isJunit ? Math.max(0, cases - skipped) : undefined;
}

function endOf(text: string, at: number): number {
  const [open, close] = text.startsWith('<!--', at)
    ? [4, '-->']
    : text.startsWith('<![CDATA[', at)
      ? [9, ']]>']
      : [1, '>'];
  const end = text.indexOf(close, at + open);
  return end < 0 ? text.length : end + close.length;
}

interface JsonReport {
  numTotalTests?: unknown;
  numPendingTests?: unknown;
  numTodoTests?: unknown;
  stats?: { tests?: unknown; pending?: unknown; skipped?: unknown };
}

/** Jest and vitest count `numTotalTests`, mocha `stats.tests`. */
function countJson(text: string): number | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const { numTotalTests, numPendingTests, numTodoTests, stats } = parsed.value as JsonReport;
  if (typeof numTotalTests === 'number') return numTotalTests - number(numPendingTests) - number(numTodoTests);
  return typeof stats?.tests === 'number' ? stats.tests - number(stats.pending ?? stats.skipped) : undefined;
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
