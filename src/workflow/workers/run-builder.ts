import { type GateParts, judge } from './run-gate.ts';
import type { Worker } from './worker.ts';

/** `Internal:RunBuilder`: the project's own build, with its whole log when it fails. */
export function runBuilder(parts: GateParts): Worker {
  return (input, context) =>
    judge(
      { input, context, parts },
      { output: 'together', type: 'BUILD_RESULT', tellsSuccess: false, content: ({ log }) => log },
    );
}
