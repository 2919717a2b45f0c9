import { Command, CommanderError } from 'commander';
import { version } from '../base/version.ts';
import type { Host } from '../surfaces/terminal/cli.ts';
import type { CommandLine } from '../surfaces/terminal/commands/complete-line.ts';
import { definer, type Run } from '../surfaces/terminal/grammar/define.ts';
import { groupCommands } from '../surfaces/terminal/grammar/help-groups.ts';

/**
 * The command line. Only its grammar is here: the body of a command is imported when it is called, because every command
 * pays for what this file imports.
 */
export async function main(host: Host): Promise<number> {
  const { on: named, argv } = takeOn(host);
  const json = wantsJson(argv);
  const where = named === undefined ? 'here' : (await import('../surfaces/remote/where.ts')).whereRuns(argv.slice(2));
  const on = where === 'here' ? undefined : named;
  if (on !== undefined && where === 'there') {
    const { runThere } = await import('../surfaces/terminal/commands/on.ts');
    return runThere({ ...host, argv }, { json, on });
  }
  let exitCode = 0;
  const program = await createProgram({ ...host, argv }, async (body, id) => {
    const { runCommand } = await import('../surfaces/terminal/run-command.ts');
    exitCode = await runCommand(host, { json, id, on }, body);
  });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    // `reef` and `reef daemon` alone: the help has been shown.
    if (error.code === 'commander.help') return 2;
    return wrongUsage(host, json, error);
  }
}

/** What people type most may leave out its first word. */
const SHORT: Readonly<Record<string, string>> = { diff: 'worktree', accept: 'worktree', discard: 'worktree' };

/** `reef accept ID` is `reef worktree accept ID`. */
export function inFull([node = '', reef = '', first = '', ...rest]: readonly string[]): string[] {
  const left = Object.hasOwn(SHORT, first) ? SHORT[first] : undefined;
  return [node, reef, ...(left === undefined ? [] : [left]), ...(first === '' ? [] : [first]), ...rest];
}

/** `--on` stands before the command; `REEF_ON` says it once for all commands of a shell. */
function takeOn({ argv, env }: Host): { on: string | undefined; argv: string[] } {
  const [node = '', reef = '', first = '', ...rest] = argv;
  if (first.startsWith('--on=')) return { on: first.slice('--on='.length), argv: inFull([node, reef, ...rest]) };
  if (first === '--on') return { on: rest[0] ?? '', argv: inFull([node, reef, ...rest.slice(1)]) };
  return { on: env.REEF_ON || undefined, argv: inFull(argv) };
}

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}

async function wrongUsage(host: Host, json: boolean, { message }: CommanderError): Promise<number> {
  const [{ reportError }, { ReefError }] = await Promise.all([
    import('../surfaces/terminal/run-command.ts'),
    import('../protocol/errors.ts'),
  ]);
  return reportError(host, { json }, new ReefError('bad_request', message.replace(/^error: /, '')).toBody());
}

/** The first words of each part of the grammar: only the part that is needed is read. */
const GRAMMAR = [
  {
    words: 'spawn status ps top send inbox output attach wait interrupt resume kill usage events',
    load: () => import('../surfaces/terminal/grammar/jobs.ts'),
  },
  { words: 'run runs compare workflow calls', load: () => import('../surfaces/terminal/grammar/runs.ts') },
  { words: 'worktree review conflicts state', load: () => import('../surfaces/terminal/grammar/worktrees.ts') },
  { words: 'code', load: () => import('../surfaces/terminal/grammar/code.ts') },
  { words: 'ask chat', load: () => import('../surfaces/terminal/grammar/ask.ts') },
  { words: 'config role rag macro vault agent', load: () => import('../surfaces/terminal/grammar/runtime.ts') },
  { words: 'fleet worker', load: () => import('../surfaces/terminal/grammar/fleet.ts') },
  { words: 'serve open token', load: () => import('../surfaces/terminal/grammar/door.ts') },
  {
    words: 'trust doctor init grants daemon mcp acp host demo',
    load: () => import('../surfaces/terminal/grammar/home.ts'),
  },
];

/** Anything but a known word, such as `--help`, needs the whole grammar. */
function grammarFor(first = ''): typeof GRAMMAR {
  if (first === '--version') return [];
  const found = GRAMMAR.filter(({ words }) => words.split(' ').includes(first));
  return found.length > 0 ? found : GRAMMAR;
}

export async function createProgram(host: Host, run: Run): Promise<Command> {
  const program = new Command('reef')
    .description('Run coding agents on a git repository, side by side.')
    .version(version)
    .commandsGroup('Look after Reef:')
    .helpCommand('help [command]', 'Show what a command does')
    .option('--on <box>', 'a machine with a Reef of its own, as ssh://[user@]machine/folder; or set REEF_ON')
    .addHelpText('after', `\n\`reef worktree\` may be left out of: ${Object.keys(SHORT).join(', ')}.`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => host.stderr.write(text),
      outputError: () => {},
    });
  for (const { load } of grammarFor(host.argv[2])) (await load()).declare(program, run);
  const completions = program.command('completions').description('Print a completion script for your shell');
  const load = async () => {
    const { completions: body } = await import('../surfaces/terminal/commands/completions.ts');
    return { body: body(() => describeAll(program)) };
  };
  const example = 'reef completions bash > ~/.local/share/bash-completion/completions/reef';
  definer(run, load)(
    completions
      .argument('<shell>', 'bash, zsh or fish; or `words`, which is what they ask for')
      .argument('[words...]', 'behind -- the words of a command line, the last of them incomplete'),
    'body',
    example,
  );
  groupCommands(program);
  return program;
}

function describe(command: Command): CommandLine {
  const help = command.createHelp();
  return {
    name: command.name(),
    summary: command.description(),
    options: help.visibleOptions(command).map(({ long, short, description, required, optional }) => ({
      flags: [long, short].flatMap((flag) => flag ?? []),
      summary: description,
      takesValue: required || optional,
    })),
    arguments: command.registeredArguments.map((each) => ({ name: each.name(), isMany: each.variadic })),
    commands: help.visibleCommands(command).map(describe),
  };
}

/** With the commands that may leave out their first word. */
function describeAll(program: Command): CommandLine {
  const root = describe(program);
  const short = Object.entries(SHORT).flatMap(([name, above]) => {
    const below = root.commands.find((each) => each.name === above)?.commands ?? [];
    return below.filter((each) => each.name === name);
  });
  return { ...root, commands: [...root.commands, ...short] };
}
