import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Cli } from '../cli.ts';

interface Asking {
  /** Takes the question back. */
  signal?: AbortSignal | undefined;
  /** What is typed is not shown. */
  isHidden?: boolean;
  /** Ctrl-C, which is a key like others here; without it, it is no answer. */
  onInterrupt?: () => void;
}

/** One line of whoever sits at this terminal, which is theirs again afterwards. Undefined: there is nobody, or they gave none. */
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
