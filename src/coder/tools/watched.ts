import { Limiter } from '../../base/serial.ts';
import { toReefError } from '../../protocol/errors.ts';
import { RepeatWatch } from '../../repostate/detect/repeat-watch.ts';
import type { Tracker } from '../../repostate/state/tracker.ts';
import type { Tool, ToolContext } from '../../runtime/tools/tool.ts';
import type { CoderDeps } from '../coder-deps.ts';

export type Repeats = Pick<RepeatWatch, keyof RepeatWatch>;

/** `context.guards` off: every call is made and shown whole. */
const UNWATCHED: Repeats = {
  beginTurn: () => {},
  beforeCall: () => {},
  afterCall: () => {},
  afterRead: () => undefined,
  afterCommand: () => undefined,
};

export function repeatWatch({ guards = true, tell }: Pick<CoderDeps, 'guards' | 'tell'>): Repeats {
  return guards ? new RepeatWatch(tell) : UNWATCHED;
}

interface WatchDeps {
  repeats: Repeats;
  tracker: Pick<Tracker, 'persist'>;
  warn(message: string): void;
}

/** Wraps the tools of a coder: they work in one worktree, so one call ends before the next begins. */
export function watchTools(tools: readonly Tool[], { repeats, tracker, warn }: WatchDeps): Tool[] {
  const oneAtATime = new Limiter();
  /** A call that failed three times alike is not made a fourth time. */
  const call = async (tool: Tool, args: unknown, context: ToolContext): Promise<unknown> => {
    repeats.beforeCall(tool.name, args);
    try {
      const result = await tool.run(args, context);
      repeats.afterCall(tool.name, args);
      return result;
    } catch (error) {
      repeats.afterCall(tool.name, args, toReefError(error).message);
      throw error;
    } finally {
      // The result reaches the agent even if the state file cannot be written.
      await tracker.persist().catch((error: unknown) => {
        const { code, message } = toReefError(error);
        warn(`${code}: ${message}`);
      });
    }
  };
  return tools.map((tool) => ({
    ...tool,
    run: (args, context) => oneAtATime.run(() => call(tool, args, context)),
  }));
}
