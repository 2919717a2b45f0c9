import { type Command, Option } from 'commander';
import type { ServiceFlag } from '../commands/ask-services.ts';
import { collect, definer, type Run } from './define.ts';

/** Apart from the other commands of the runtime, because every declared option delays the start of `ask`. */
export function declare(program: Command, run: Run): void {
  const define = definer(run, () => import('../commands/ask.ts'));
  const ask = conversationOptions(program.command('ask').description('Ask a model one question'))
    .argument('[text...]', 'the question')
    .option('--macro <name>', 'run this macro')
    .option('-e, --execute', 'turn the question into a shell command, and offer to run it')
    .option('-c, --code', 'print only the code of the answer')
    .option('-f, --file <path>', 'send this file, folder or URL with the question; may be repeated', collect)
    .option('--info', 'show the settings in effect, and ask nothing')
    .option('--headless', 'never ask you anything; fail where an answer is needed')
    .option('--disable-log-colors', 'with --tail-logs: without colours');
  serviceOptions(ask);
  define(ask, 'ask', 'reef ask --model scripted:demo "hello"');
  const chat = conversationOptions(program.command('chat').description('Chat with a model in the terminal'));
  define(chat, 'chat', 'reef chat --model scripted:demo');
}

/** The options that `ask` and `chat` share. */
function conversationOptions(command: Command): Command {
  const { parseOptions } = command;
  // commander knows no option with two values.
  command.parseOptions = (argv) => parseOptions.call(command, joinVariables(argv));
  return command
    .option('-m, --model <id>', 'model to use, such as openai:gpt-4o')
    .option('--prompt <text>', 'system prompt to use')
    .option('-r, --role <name>', 'role to use')
    .option('-s, --session [name]', 'session to use; without a name, a temporary one')
    .option('--empty-session', 'clear the session first')
    .option('--save-session', 'save the session, whatever the configuration says')
    .option('-a, --agent <name>', 'agent to use')
    .option('--agent-variable <name> <value>', 'set a variable of the agent; may be repeated', collect)
    .option('--rag <name>', 'answer from the documents of this RAG')
    .option('--rebuild-rag', 'read the documents of the RAG again first')
    .option('-S, --no-stream', 'print the answer when it is complete, not while it arrives')
    .option('--dry-run', 'print what would be sent; start no tool, no server, and ask no model')
    .option('--yes', 'allow tool calls that would need your permission');
}

const VARIABLE = '--agent-variable';

function joinVariables(argv: string[]): string[] {
  const at = argv.indexOf(VARIABLE);
  const [name, value, ...rest] = argv.slice(at + 1);
  if (at === -1 || name === undefined || value === undefined) return argv;
  return [...argv.slice(0, at), `${VARIABLE}=${name}=${value}`, ...joinVariables(rest)];
}

/** Options that ask no model anything. Each says by `service` what to do instead. */
function serviceOptions(ask: Command): void {
  const service = (flags: string, does: string, name: ServiceFlag) =>
    ask.addOption(new Option(flags, does).implies({ service: name }));
  service('--build-tools', 'check the tools in functions/tools', 'buildTools');
  service('--sync-models', 'download the list of models', 'syncModels');
  service('--tail-logs', 'show the end of the log, and what is added to it', 'tailLogs');
  service('--completions <shell>', 'print a completion script for bash, zsh or fish', 'completions');
  service('--list-secrets', 'list the names of the secrets', 'listSecrets');
  for (const what of ['Models', 'Roles', 'Sessions', 'Agents', 'Rags', 'Macros'] as const)
    service(`--list-${what.toLowerCase()}`, `list the ${what.toLowerCase()}`, `list${what}`);
  for (const verb of ['add', 'get', 'update', 'delete'] as const)
    service(`--${verb}-secret <name>`, `${verb} a secret`, `${verb}Secret`);
}
