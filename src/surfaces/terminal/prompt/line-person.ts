import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Cli } from '../cli.ts';
import { isYes, type Person } from './person.ts';

/** The person at the terminal of a command that is no chat. `whole` withdraws every question. */
export function linePerson(cli: Cli, whole?: AbortSignal, onQuestion?: () => void): Person {
  // Ctrl-C has to end the command, as the signal does.
  const onInterrupt = () => void process.kill(process.pid, 'SIGINT');
  const ask = async (text: string, isHidden: boolean, own: AbortSignal | undefined) => {
    onQuestion?.();
    const signals = [whole, own].filter((signal) => signal !== undefined);
    return (await askLine(cli, text, { signal: AbortSignal.any(signals), isHidden, onInterrupt })) ?? '';
  };
  return {
    question: (text, signal) => ask(text, false, signal),
    secret: (text, signal) => ask(text, true, signal),
    tell: (text) => cli.talk(text),
  };
}

/** Only an exact y or yes agrees. */
export async function agrees(cli: Pick<Cli, 'host'>, question: string): Promise<boolean> {
  return isYes((await askLine(cli, `${question} [y/N] `)) ?? '', false);
}

interface Asking {
  /** Withdraws the question. */
  signal?: AbortSignal | undefined;
  /** What is typed is not shown. */
  isHidden?: boolean;
  /** Called at Ctrl-C. Without it, Ctrl-C gives no answer. */
  onInterrupt?: () => void;
}

/** Reads one line from the terminal. Undefined: nobody is there, or no line was given. */
export async function askLine(
  { host }: Pick<Cli, 'host'>,
  prompt: string,
  { signal, isHidden = false, onInterrupt }: Asking = {},
): Promise<string | undefined> {
  const { stdin: input, stderr } = host;
  const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface(isHidden ? { input, output: nowhere(), terminal: true } : { input, output: stderr });
  if (onInterrupt) lines.on('SIGINT', onInterrupt);
  const closed = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
  let typed: string | undefined;
  try {
    if (isHidden) stderr.write(prompt);
    typed = await Promise.race([lines.question(isHidden ? '' : prompt, signal ? { signal } : {}), closed]);
  } catch (error) {
    // Ctrl-C and Ctrl-D end the question as a signal does.
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
  } finally {
    lines.close();
    if (isHidden || typed === undefined) stderr.write('\n');
  }
  signal?.throwIfAborted();
  return typed;
}
