import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Cli } from '../cli/cli.ts';
import type { Person } from './person.ts';

/** A person beside a command that is no chat: each question opens the terminal for itself. */
export function linePerson(cli: Cli): Person {
  const { stdin, stderr } = cli.host;
  const ask = async (text: string, output: NodeJS.WritableStream, signal?: AbortSignal) => {
    const prompt = createInterface({ input: stdin, output, terminal: true });
    try {
      return await prompt.question(text, signal ? { signal } : {});
    } finally {
      prompt.close();
    }
  };
  return {
    question: (text, signal) => ask(text, stderr, signal),
    async secret(text, signal) {
      stderr.write(text);
      const typed = await ask('', new Writable({ write: (_chunk, _encoding, done) => done() }), signal);
      stderr.write('\n');
      return typed;
    },
    tell: (text) => cli.talk(text),
  };
}
