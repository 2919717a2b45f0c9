import type { Cli } from '../cli/cli.ts';
import { askLine } from '../cli/commands/ask-line.ts';
import type { Person } from './person.ts';

/** A person beside a command that is no chat: each question opens the terminal for itself, and is over when `whole` is. */
export function linePerson(cli: Cli, whole?: AbortSignal): Person {
  // The key means to the command what the signal means.
  const onInterrupt = () => void process.kill(process.pid, 'SIGINT');
  const ask = async (text: string, isHidden: boolean, own: AbortSignal | undefined) => {
    const signals = [whole, own].filter((signal) => signal !== undefined);
    return (await askLine(cli, text, { signal: AbortSignal.any(signals), isHidden, onInterrupt })) ?? '';
  };
  return {
    question: (text, signal) => ask(text, false, signal),
    secret: (text, signal) => ask(text, true, signal),
    tell: (text) => cli.talk(text),
  };
}
