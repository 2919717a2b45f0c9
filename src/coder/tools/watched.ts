import { toReefError } from '../../protocol/errors.ts';
import type { RepeatWatch } from '../../repostate/detect/repeat-watch.ts';
import type { Tracker } from '../../repostate/state/tracker.ts';
import type { Tool } from '../../runtime/tools/tool.ts';

/** Every call is looked at before and after: one that failed three times alike is not made a fourth time (S-43). */
export function watched(tool: Tool, { repeats, tracker }: { repeats: RepeatWatch; tracker: Tracker }): Tool {
  return {
    ...tool,
    async run(args, context) {
      repeats.beforeCall(tool.name, args);
      try {
        const result = await tool.run(args, context);
        repeats.afterCall(tool.name, args);
        await tracker.persist();
        return result;
      } catch (error) {
        repeats.afterCall(tool.name, args, toReefError(error).message);
        throw error;
      }
    },
  };
}
