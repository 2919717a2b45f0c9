import { Command, CommanderError, InvalidArgumentError } from 'commander';
import type { Command as Body, Host } from './surfaces/cli/cli.ts';
import { version } from './version.ts';

/**
 * The command line. Only its grammar is here: the body of each command is imported when it is called, because every
 * command pays for what this file imports (U-05).
 */
export async function main(host: Host): Promise<number> {
  const json = wantsJson(host.argv);
  let exitCode = 0;
  const program = createProgram(host, async (body) => {
    const { runCommand } = await import('./surfaces/cli/run-command.ts');
    exitCode = await runCommand(host, json, body);
  });
  try {
    await program.parseAsync(host.argv);
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    // `reef` and `reef daemon` alone: the help has been shown.
    if (error.code === 'commander.help') return 2;
    return wrongUsage(host, json, error);
  }
}

type Run = (body: (cli: Parameters<Body<never>>[0]) => Promise<number>) => Promise<void>;

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}

async function wrongUsage(host: Host, json: boolean, { message }: CommanderError): Promise<number> {
  const [{ reportError }, { ReefError }] = await Promise.all([
    import('./surfaces/cli/run-command.ts'),
    import('./protocol/errors.ts'),
  ]);
  return reportError(host, json, new ReefError('bad_request', message.replace(/^error: /, '')).toBody());
}

function createProgram(host: Host, run: Run): Command {
  const program = new Command('reef')
    .description('Runs coding agents on a git repository side by side.')
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => host.stderr.write(text),
      outputError: () => {},
    });
  const define = definer(run);
  startCommands(program, define);
  talkCommands(program, define);
  endCommands(program, define);
  homeCommands(program, define);
  define(program.command('completions').argument('<shell>', 'bash, zsh or fish'), {
    does: 'Print a completion script',
    example: 'reef completions bash > ~/.local/share/bash-completion/completions/reef',
    load: async () => {
      const { completions } = await import('./surfaces/cli/commands/completions.ts');
      return completions(describe(program));
    },
  });
  return program;
}

interface Definition<Options> {
  does: string;
  example: string;
  load(): Promise<Body<Options>>;
}
type Define = <Options>(command: Command, definition: Definition<Options>) => void;

/** What every command has: --json, an example (U-01), and a body that is loaded when it is called. */
function definer(run: Run): Define {
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

function startCommands(program: Command, define: Define): void {
  const spawn = program
    .command('spawn')
    .argument('<agent>', 'claude, codex, codex-exec, acp:<name> or scripted:<file>')
    .argument('<task>', 'what it is to do; - reads it from standard input')
    .option('--cwd <folder>', 'folder to work in (default: the root of the repository)')
    .option('--model <model>', 'model the agent is to use')
    .option('--mode <mode>', 'headless or headful')
    .option('--keep', 'keep the process after its turn, for a next message')
    .option('--budget-tokens <n>', 'stop and ask at this many tokens', wholeNumber)
    .option('--budget-turns <n>', 'stop and ask at this many turns', wholeNumber)
    .option('--budget-time <time>', 'stop and ask after this much work, such as 30m')
    .option('--sandbox', 'refuse to start without a sandbox')
    .option('--yes', 'let Reef allow every permission; needs --sandbox or --unsafe')
    .option('--unsafe', 'with --yes: I know that nothing contains the agent')
    .option('--parent <id>', 'the job this one is a child of')
    .option('--key <key>', 'a second call with the same key starts nothing new')
    .option('--wait', 'wait until it is over or asks; the exit code says which')
    .option('--follow', 'print its events until it is over or asks');
  define(spawn, {
    does: 'Start a coding agent on a task',
    example: 'reef spawn claude "make the failing test pass" --follow',
    load: async () => (await import('./surfaces/cli/commands/spawn.ts')).spawn,
  });
  define(program.command('status').argument('[id]', 'job id, a unique prefix of it, or @last'), {
    does: 'Show one job, or all active jobs and the last 20 that ended',
    example: 'reef status @last',
    load: loadStatus,
  });
  define(program.command('ps'), { does: 'The same as status without an id', example: 'reef ps', load: loadStatus });
}

async function loadStatus() {
  return (await import('./surfaces/cli/commands/status.ts')).status;
}

function talkCommands(program: Command, define: Define): void {
  const send = program
    .command('send')
    .argument('<id>', 'job id, a unique prefix of it, or @last')
    .argument('[text]', 'message, answer, or reason of a decision; - reads it from standard input')
    .option('--option <label>', 'answer with this label or number; may be repeated', collect)
    .option('--allow', 'allow what the agent asks permission for, once')
    .option('--session', 'with --allow: for the rest of this job')
    .option('--always', 'with --allow: for good')
    .option('--deny', 'deny it; the text is the reason')
    .option('--question <id>', 'which question, as `reef inbox` names it')
    .option('--key <key>', 'a second call with the same key sends nothing again');
  define(send, {
    does: 'Send a message to an agent, or answer its question',
    example: 'reef send @last --option SQLite',
    load: async () => (await import('./surfaces/cli/commands/send.ts')).send,
  });
  define(program.command('inbox'), {
    does: 'List the open questions of all jobs, and how to answer them',
    example: 'reef inbox',
    load: async () => (await import('./surfaces/cli/commands/inbox.ts')).inbox,
  });
  const output = program
    .command('output')
    .argument('<id>', 'job id, a unique prefix of it, or @last')
    .option('--since <cursor>', 'read on from this cursor or ISO-8601 time')
    .option('--limit <n>', 'at most this many events', wholeNumber)
    .option('--follow', 'go on until the job is over')
    .option('--raw', 'what the agent itself wrote, secrets removed');
  define(output, {
    does: 'Print what a job did',
    example: 'reef output @last --follow',
    load: async () => (await import('./surfaces/cli/commands/output.ts')).output,
  });
  define(program.command('attach').argument('<id>', 'job id, a unique prefix of it, or @last'), {
    does: 'Print the command that joins the terminal of a headful job',
    example: 'eval "$(reef attach @last)"',
    load: async () => (await import('./surfaces/cli/commands/attach.ts')).attach,
  });
}

function endCommands(program: Command, define: Define): void {
  const wait = program
    .command('wait')
    .argument('[ids...]', 'job ids (default: all active jobs)')
    .option('--until <conditions>', 'needs_input, done, idle; several with commas (default: needs_input,done)')
    .option('--timeout <time>', 'give up after, such as 45s or 30m (default: never)');
  define(wait, {
    does: 'Wait until a job asks something or is over; without --until the exit code says which',
    example: 'reef wait @last --timeout 10m',
    load: async () => (await import('./surfaces/cli/commands/wait.ts')).wait,
  });
  define(program.command('interrupt').argument('<id>', 'job id, a unique prefix of it, or @last'), {
    does: 'End the turn of an agent, keeping the job and its session',
    example: 'reef interrupt @last',
    load: async () => (await import('./surfaces/cli/commands/turn.ts')).interrupt,
  });
  const resume = program
    .command('resume')
    .argument('<id>', 'job id, a unique prefix of it, or @last')
    .argument('[text]', 'what to say first; - reads it from standard input');
  define(resume, {
    does: "Continue a paused, completed, failed or stale job in the agent's own session",
    example: 'reef resume @last "shorter, please"',
    load: async () => (await import('./surfaces/cli/commands/turn.ts')).resume,
  });
  const kill = program
    .command('kill')
    .argument('[ids...]', 'job ids, unique prefixes of them, or @last')
    .option('--all', 'all active jobs');
  define(kill, {
    does: 'End jobs and everything they started',
    example: 'reef kill @last',
    load: async () => (await import('./surfaces/cli/commands/kill.ts')).kill,
  });
}

function homeCommands(program: Command, define: Define): void {
  define(program.command('doctor').option('--fix', 'apply the fixes that are safe'), {
    does: 'Check this machine and this home; reads only',
    example: 'reef doctor --fix',
    load: async () => (await import('./surfaces/cli/commands/doctor.ts')).doctor,
  });
  define(program.command('grants').option('--revoke <fingerprint>', 'take back those that begin like that'), {
    does: 'List what you have allowed for good',
    example: 'reef grants --revoke 3f9a',
    load: async () => (await import('./surfaces/cli/commands/grants.ts')).grants,
  });
  const daemon = program.command('daemon').description('The background program that owns the jobs');
  define(daemon.command('status'), {
    does: 'Show whether it runs; never starts it',
    example: 'reef daemon status --json',
    load: async () => (await import('./surfaces/cli/commands/daemon.ts')).daemonStatus,
  });
  define(daemon.command('stop').option('--kill-jobs', 'end the jobs too; else they run on'), {
    does: 'End it',
    example: 'reef daemon stop',
    load: async () => (await import('./surfaces/cli/commands/daemon.ts')).daemonStop,
  });
  define(program.command('mcp'), {
    does: 'Serve these operations as MCP tools on standard input and output',
    example: 'claude mcp add reef -- reef mcp',
    load: async () => (await import('./surfaces/cli/commands/mcp.ts')).mcp,
  });
  define(program.command('demo'), {
    does: 'Show what Reef does on a throw-away repository',
    example: 'reef demo',
    load: async () => (await import('./surfaces/cli/demo.ts')).demo,
  });
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('expected a whole number above 0');
  return Number(text);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

interface CommandLine {
  name: string;
  summary: string;
  options: { flag: string; summary: string }[];
  commands: CommandLine[];
}

function describe(command: Command): CommandLine {
  const help = command.createHelp();
  return {
    name: command.name(),
    summary: command.description(),
    options: help.visibleOptions(command).map(({ long, description }) => ({ flag: long ?? '', summary: description })),
    commands: help.visibleCommands(command).map(describe),
  };
}
