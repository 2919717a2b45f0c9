import { type Command, InvalidArgumentError } from 'commander';
import type { Command as Body } from '../cli.ts';

export type Run = (body: (cli: Parameters<Body<never>>[0]) => Promise<number>) => Promise<void>;

interface Definition<Options> {
  does: string;
  example: string;
  load(): Promise<Body<Options>>;
}
export type Define = <Options>(command: Command, definition: Definition<Options>) => void;

/** What every command has: --json, an example, and a body that is loaded when it is called. */
export function definer(run: Run): Define {
  return (command, { does, example, load }) => {
    command
      .description(does)
      .option('--json', 'print JSON')
      .addHelpText('after', `\nExample:\n  $ ${example}`)
      .action(() =>
        run(async (cli) => {
          const { json, ...options } = command.opts();
          return (await load())(cli, command.args, options as never);
        }),
      );
  };
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('expected a whole number above 0');
  return Number(text);
}

export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
