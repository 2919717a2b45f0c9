const TEST_FILE =
  /(^|\/)(tests?|testing|__tests__|specs?|e2e)\/|(^|\/)(test_[^/]*|conftest|tests)\.py$|[._-](test|spec)\.[a-z]+$|_(test|spec)\.(go|py|rb|rs|cc|cpp|exs?)$|Tests?\.(java|kt|cs|swift|scala|php)$|Spec\.(scala|kt)$/;
const TITLE =
  /(?:^|[\s.])(?:test|it|describe|context|specify|suite|bench)(?:\.\w+(?:\([^)\n]*\))?)*\(\s*(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g;
const MOST_BACK = 20_000;

export function isTestFile(path: string): boolean {
  return TEST_FILE.test(path);
}

/** Whether a definition in a file of tests is a test: where tests are calls with a title, what has a name is a helper. */
export function isTestName(path: string, name: string): boolean {
  if (path.endsWith('.py')) return /^(test|Test|setUp|tearDown)/.test(name);
  if (path.endsWith('.go')) return /^(Test|Benchmark|Fuzz|Example)/.test(name);
  return !/\.[cm]?[jt]sx?$/.test(path);
}

/** The title of the test around a place: where tests are calls, the nearest one above. */
export function titleAt(text: string, index: number): string | undefined {
  const lineEnd = text.indexOf('\n', index);
  const before = text.slice(Math.max(0, index - MOST_BACK), lineEnd === -1 ? undefined : lineEnd);
  return [...before.matchAll(TITLE)].at(-1)?.[2];
}
