import { test } from 'vitest';
import type { RequirementId } from '../requirements.ts';

declare module 'vitest' {
  interface TaskMeta {
    verifies?: readonly RequirementId[];
    missing?: string;
  }
}

type Body = () => Promise<void> | void;

function citing(ids: readonly RequirementId[], missing?: string) {
  return {
    /** Without what it needs the test does not run and its ids show as unproved, with the reason. */
    needs: (available: boolean, reason: string) => citing(ids, missing ?? (available ? undefined : reason)),
    test: (sentence: string, body: Body, timeoutMs?: number) => {
      const meta = missing === undefined ? { verifies: ids } : { verifies: ids, missing };
      const options = { meta, skip: missing !== undefined, ...(timeoutMs !== undefined && { timeout: timeoutMs }) };
      test(`${sentence} [${ids.join(', ')}]`, options, body);
    },
  };
}

/** Names the requirements a test proves. The ids also end its title, so that `vitest -t Q-24` finds it. */
export function verifies(...ids: readonly [RequirementId, ...RequirementId[]]) {
  return citing(ids);
}
