import { answerCases } from './conformance/answers.ts';
import { boundCases } from './conformance/bounds.ts';
import type { ConformanceCase } from './conformance/harness.ts';
import { lifeCases } from './conformance/lives.ts';
import { placeCases } from './conformance/places.ts';
import { stepCases } from './conformance/steps.ts';

/**
 * What every durable engine must do (W-76): the embedded one here, the distributed one of a fleet. A suite without a test
 * runner: whoever implements the port hands in a harness and runs the cases.
 */
export const conformance: readonly ConformanceCase[] = [
  ...stepCases,
  ...placeCases,
  ...answerCases,
  ...lifeCases,
  ...boundCases,
];
