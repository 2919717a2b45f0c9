import { ReefError } from '../../protocol/errors.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INTERRUPTED = 130;

/**
 * Ctrl-C, and whoever else wants us gone, cancels the work and lets it keep what it has; the second time there is no
 * waiting. Where Ctrl-C is a key like others, `onInterrupt` is told of it instead.
 */
export async function interruptible(
  work: (signal: AbortSignal) => Promise<number>,
  onInterrupt?: () => void,
): Promise<number> {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort(new ReefError('cancelled', 'It was interrupted'));
  };
  // Ours takes the place of the program's own, which ends at once.
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
