import type { Clock } from '../../../base/clock.ts';
import type { Tool } from '../tool.ts';
import { type ExecuteParts, executingTools } from './execute.ts';
import { type FetchUrlParts, fetchUrlTool } from './fetch-url.ts';
import { readingTools } from './fs-read.ts';
import { searchingTools } from './fs-search.ts';
import { writingTools } from './fs-write.ts';
import { createPlaces } from './place.ts';
import { timeTool } from './time.ts';

export interface BuiltinParts extends ExecuteParts, FetchUrlParts {
  clock: Pick<Clock, 'now'>;
  /** Where outputs that were cut lie: read without asking. */
  outputsDir: string;
}

/** The tools of §10 that a scope may enable; `user__*` and `todo__*` come by themselves. */
export function createBuiltinTools(parts: BuiltinParts): Tool[] {
  const places = createPlaces([parts.outputsDir]);
  return [
    ...readingTools(places),
    ...searchingTools(places),
    ...writingTools(createPlaces()),
    ...executingTools(parts),
    timeTool(parts.clock),
    fetchUrlTool(parts),
  ];
}
