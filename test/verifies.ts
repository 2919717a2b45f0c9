import { test } from 'vitest';

/** Names the requirement ids a test proves; the reporter reads them from the title. */
export function verifies(...ids: string[]) {
  const title = (sentence: string) => `${sentence} [${ids.join(', ')}]`;
  return {
    test: (sentence: string, body: () => Promise<void> | void, timeoutMs?: number) =>
      test(title(sentence), body, timeoutMs),
  };
}
