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

/** Wraps the tools of a coder: they work in one worktree, so one call ends before the next begins. */
export class Watch {
  readonly #repeats: Repeats;
  readonly #tracker: Pick<Tracker, 'persist'>;
  readonly #warn: (message: string) => void;
  readonly #oneAtATime = new Limiter();

  constructor(repeats: Repeats, tracker: Pick<Tracker, 'persist'>, warn: (message: string) => void) {
    this.#repeats = repeats;
    this.#tracker = tracker;
    this.#warn = warn;
  }

  over(tool: Tool): Tool {
    return {
      ...tool,
      run: (args, context) => this.#oneAtATime.run(() => this.#call(tool, args, context)),
    };
  }

  /** A call that failed three times alike is not made a fourth time. */
  async #call(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
    this.#repeats.beforeCall(tool.name, args);
    try {
      const result = await tool.run(args, context);
      this.#repeats.afterCall(tool.name, args);
      return result;
    } catch (error) {
      this.#repeats.afterCall(tool.name, args, toReefError(error).message);
      throw error;
    } finally {
      await this.#persist();
    }
  }

  /** The result reaches the agent even if the state file cannot be written. */
  async #persist(): Promise<void> {
    await this.#tracker.persist().catch((error: unknown) => {
      const { code, message } = toReefError(error);
      this.#warn(`${code}: ${message}`);
    });
  }
}
