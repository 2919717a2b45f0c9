import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';

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
