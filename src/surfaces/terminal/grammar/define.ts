import { type Command, InvalidArgumentError } from 'commander';
import type { Command as Body, Cli } from '../cli.ts';
import { exampleText } from './help-groups.ts';

/** Every command that takes a task takes each of these. */
export const TASK_ID = 'id of the task (of its run, worktree or job), a beginning of it or of the title, or @last';

/** `id` is the task that the command names. */
export type Run = (body: (cli: Cli) => Promise<number>, id?: string) => Promise<void>;

type BodyName<Module> = { [Name in keyof Module]: Module[Name] extends Body<never> ? Name : never }[keyof Module];

/** Gives commands a body, `--json` and an example. The module of the bodies is loaded when one of them is called. */
export function definer<Module>(run: Run, load: () => Promise<Module>) {
  return (command: Command, name: BodyName<Module>, example = exampleOf(command)): void => {
    command
      .option('--json', 'print JSON')
      .addHelpText('after', exampleText(example))
      .action(() =>
        run(
          async (cli) => {
            const { json, ...options } = command.opts();
            const body = (await load())[name] as Body<object>;
            return body(cli, command.args, options);
          },
          takesTask(command) ? command.args[0] : undefined,
        ),
      );
  };
}

/** The command alone. Where it takes the id of a job, run or worktree, the newest one is the example. */
function exampleOf(command: Command): string {
  const words = takesTask(command) ? [command.name(), '@last'] : [command.name()];
  for (let above = command.parent; above; above = above.parent) words.unshift(above.name());
  return words.join(' ');
}

function takesTask(command: Command): boolean {
  return command.registeredArguments[0]?.name() === 'id';
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('expected a whole number above 0');
  return Number(text);
}

export function byteNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('expected a whole number');
  return Number(text);
}

export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
