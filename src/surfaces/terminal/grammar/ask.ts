import type { Command } from 'commander';
import { collect, type Define } from './define.ts';

/** Apart from the other commands of the runtime, because every declared option delays the start of `ask`. */
export function askCommands(program: Command, define: Define): void {
  askCommand(program, define);
  define(conversationOptions(program.command('chat')), {
    does: 'Talk to a model at the terminal',
    example: 'reef chat --model scripted:demo',
    load: async () => (await import('../commands/ask.ts')).chat,
  });
}

/** What `ask` and `chat` begin with. */
function conversationOptions(command: Command): Command {
  const { parseOptions } = command;
  // commander knows no option with two values.
  command.parseOptions = (argv) => parseOptions.call(command, joinVariables(argv));
  return command
    .option('-m, --model <id>', 'model, such as openai:gpt-4o')
    .option('--prompt <text>', 'a system prompt for now')
    .option('-r, --role <name>', 'role')
    .option('-s, --session [name]', 'session; a temporary one without a name')
    .option('--empty-session', 'forget what was said in it')
    .option('--save-session', 'store it whatever the configuration says')
    .option('-a, --agent <name>', 'agent')
    .option('--agent-variable <name> <value>', 'a variable of the agent; several times if needed', collect)
    .option('--rag <name>', 'answer from documents')
    .option('--rebuild-rag', 'read its documents again')
    .option('-S, --no-stream', 'show the answer when it is complete')
    .option('--dry-run', 'show what would be sent')
    .option('--yes', 'allow what a rule would ask about');
}

const VARIABLE = '--agent-variable';

function joinVariables(argv: string[]): string[] {
  const at = argv.indexOf(VARIABLE);
  const [name, value, ...rest] = argv.slice(at + 1);
  if (at === -1 || name === undefined || value === undefined) return argv;
  return [...argv.slice(0, at), `${VARIABLE}=${name}=${value}`, ...joinVariables(rest)];
}

function askCommand(program: Command, define: Define): void {
  const ask = conversationOptions(program.command('ask').argument('[text...]', 'the question'))
    .option('--macro <name>', 'run a macro')
    .option('-e, --execute', 'make a shell command of it')
    .option('-c, --code', 'only code')
    .option('-f, --file <path>', 'a file, folder or address beside the question', collect)
    .option('--info', 'show what is in effect')
    .option('--headless', 'nobody can be asked')
    .option('--build-tools', 'check the tools in functions/tools')
    .option('--sync-models', 'fetch the list of models')
    .option('--tail-logs', 'show the log')
    .option('--disable-log-colors', 'without colours')
    .option('--authenticate [client]', 'log in to a client')
    .option('--completions <shell>', 'print a completion script')
    .option('--list-secrets', 'names of secrets');
  for (const what of ['models', 'roles', 'sessions', 'agents', 'rags', 'macros']) ask.option(`--list-${what}`, what);
  for (const what of ['add', 'get', 'update', 'delete']) ask.option(`--${what}-secret <name>`, `${what} a secret`);
  define(ask, {
    does: 'Ask a model one question',
    example: 'reef ask --model scripted:demo "hello"',
    load: async () => (await import('../commands/ask.ts')).ask,
  });
}
