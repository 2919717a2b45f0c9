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
  /** The folder of outputs that were cut. Tools may read it without asking. */
  outputsDir: string;
}

/** The tools that a scope may enable. `user__*` and `todo__*` are added elsewhere. */
export function createBuiltinTools(deps: BuiltinDeps): Tool[] {
  const locations = createLocations([deps.outputsDir]);
  return [
    ...readingTools(locations),
    ...searchingTools(locations),
    ...writingTools(createLocations()),
    ...executingTools(deps),
    timeTool(deps.clock),
    fetchUrlTool(deps),
  ];
}

export function timeTool(clock: Pick<Clock, 'now'>): Tool {
  return defineTool({
    name: 'get_current_time',
    description: 'Gives the date and the time.',
    effect: 'read',
    arguments: z.object({}),
    run: async () => {
      const now = clock.now();
      const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
      return `${now.toISOString()} (${now.toLocaleString('en-GB', { timeZone: zone, timeZoneName: 'short' })})`;
    },
  });
}
