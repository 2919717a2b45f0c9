import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import { type ExecuteDeps, executingTools } from './execute.ts';
import { type FetchUrlDeps, fetchUrlTool } from './fetch-url.ts';
import { readingTools } from './fs-read.ts';
import { searchingTools } from './fs-search.ts';
import { writingTools } from './fs-write.ts';
import { createLocations } from './location.ts';

export interface BuiltinDeps extends ExecuteDeps, FetchUrlDeps {
  clock: Pick<Clock, 'now'>;
  /** Where outputs that were cut lie: read without asking. */
  outputsDir: string;
}

/** The tools that a scope may enable; `user__*` and `todo__*` are always there. */
export function createBuiltinTools(parts: BuiltinDeps): Tool[] {
  const locations = createLocations([parts.outputsDir]);
  return [
    ...readingTools(locations),
    ...searchingTools(locations),
    ...writingTools(createLocations()),
    ...executingTools(parts),
    timeTool(parts.clock),
    fetchUrlTool(parts),
  ];
}

export function timeTool(clock: Pick<Clock, 'now'>): Tool {
  return defineTool({
    name: 'get_current_time',
    description: 'Tells the date and the time.',
    effect: 'read',
    arguments: z.object({}),
    run: async () => {
      const now = clock.now();
      const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
      return `${now.toISOString()} (${now.toLocaleString('en-GB', { timeZone: zone, timeZoneName: 'short' })})`;
    },
  });
}
