import { canonicalJson } from '../../base/fingerprint.ts';
import type { LoopGuard } from '../config/reef-block.ts';
import type { ToolCallTracker } from '../tools/tool.ts';

/** Notices a model that repeats a call and gets the same result. A result that changes is progress. */
export function createToolCallTracker({ max_repeats, window }: Readonly<LoopGuard>): ToolCallTracker {
  let step = 0;
  let recent: { step: number; key: string }[] = [];
  let warned = new Set<string>();
  return {
    reset() {
      step = 0;
      recent = [];
      warned = new Set();
    },
    nextStep() {
      step += 1;
      recent = recent.filter((entry) => entry.step > step - window);
    },
    record({ name, arguments: input, output }) {
      // Two spellings of the same arguments are the same call.
      const key = JSON.stringify([name, input === undefined ? '' : canonicalJson(input), output]);
      if (warned.has(key)) return 'stop';
      recent.push({ step, key });
      if (recent.filter((entry) => entry.key === key).length <= max_repeats) return 'ok';
      warned.add(key);
      return 'alert';
    },
  };
}

export const loopAlert = (name: string): string =>
  JSON.stringify({
    tool_call_loop_alert: `${name} was called again and again with the same arguments and gave the same result. Do something else, or answer with what you know: the next repetition ends the turn.`,
  });
