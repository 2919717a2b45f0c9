import { toReefError } from '../../protocol/errors.ts';
import { RepeatWatch } from '../../repostate/detect/repeat-watch.ts';
import type { Tracker } from '../../repostate/state/tracker.ts';
import type { Tool, ToolContext } from '../../runtime/tools/tool.ts';
import type { CoderParts } from '../coder-parts.ts';

export type RepeatHands = Pick<RepeatWatch, keyof RepeatWatch>;

/** `context.guards` off: every call is made and shown whole (S-66). */
const UNWATCHED: RepeatHands = {
  beginTurn: () => {},
  beforeCall: () => {},
  afterCall: () => {},
  afterRead: () => undefined,
  afterCommand: () => undefined,
};

export function repeatWatch({ guards = true, tell }: Pick<CoderParts, 'guards' | 'tell'>): RepeatHands {
  return guards ? new RepeatWatch(tell) : UNWATCHED;
}

/** What all tools of one coder share: they look at the same worktree, so one call ends before the next begins. */
export class Watch {
  readonly #repeats: RepeatHands;
  readonly #tracker: Pick<Tracker, 'persist'>;
  readonly #warn: (message: string) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(repeats: RepeatHands, tracker: Pick<Tracker, 'persist'>, warn: (message: string) => void) {
    this.#repeats = repeats;
    this.#tracker = tracker;
    this.#warn = warn;
  }

  over(tool: Tool): Tool {
    return {
      ...tool,
      run: (args, context) => {
        const call = this.#last.then(() => this.#call(tool, args, context));
        this.#last = call.catch(() => {});
        return call;
      },
    };
  }

  /** A call that failed three times alike is not made a fourth time (S-43). */
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

  /** The result reaches the agent, whatever becomes of the state file (S-01, S-16). */
  async #persist(): Promise<void> {
    await this.#tracker.persist().catch((error: unknown) => {
      const { code, message } = toReefError(error);
      this.#warn(`${code}: ${message}`);
    });
  }
}
