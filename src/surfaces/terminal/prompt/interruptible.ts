import { ReefError } from '../../../protocol/errors.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INTERRUPTED = 130;

/**
 * The first Ctrl-C or ending signal cancels the work, which may still save what it has. The second one ends the process.
 * `onInterrupt` takes the place of that for Ctrl-C.
 */
export async function interruptible(
  work: (signal: AbortSignal) => Promise<number>,
  onInterrupt?: () => void,
): Promise<number> {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort(new ReefError('cancelled', 'Interrupted'));
  };
  // Replaces the listener of the program itself, which would end it at once.
  const others = SIGNALS.map((name) => [name, process.rawListeners(name)] as const);
  const listenerOf = (name: (typeof SIGNALS)[number]) => (name === 'SIGINT' && onInterrupt ? onInterrupt : stop);
  for (const name of SIGNALS) process.removeAllListeners(name).on(name, listenerOf(name));
  try {
    return await work(controller.signal);
  } catch (error) {
    if (controller.signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    for (const [name, listeners] of others) {
      process.removeListener(name, listenerOf(name));
      for (const listener of listeners) process.on(name, listener as () => void);
    }
  }
}
