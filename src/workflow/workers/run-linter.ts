import { parseJson } from '../../base/safe-json.ts';
import type { Json } from '../../protocol/workflow.ts';
import { type Ended, type GateParts, judge } from './run-gate.ts';
import type { Worker } from './worker.ts';

/** `Internal:RunLinter`: what it found is data, so that a block can mend it. */
export function runLinter(parts: GateParts): Worker {
  return (input, context) =>
    judge({ input, context, parts }, { output: 'apart', type: 'LINT_RESULT', tellsSuccess: false, content: findings });
}

function findings({ stdout, log }: Ended): Json {
  const parsed = parseJson(stdout);
  return parsed.ok ? (parsed.value as Json) : { raw: log, parseError: parsed.why };
}
