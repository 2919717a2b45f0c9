import type { Command } from 'commander';
import { collect, type Define } from './define.ts';

/** The runtime's own commands: they need neither daemon nor repository. */
export function runtimeCommands(program: Command, define: Define): void {
  askCommand(program, define);
  define(conversationOptions(program.command('chat')), {
    does: 'Talk to a model at the terminal',
    example: 'reef chat --model scripted:demo',
    load: async () => (await import('../commands/chat.ts')).chat,
  });
  configCommands(program, define);
  listCommands(program, define);
  ragCommands(program, define);
  vaultCommands(program, define);
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

function configCommands(program: Command, define: Define): void {
  const config = program.command('config').description('The configuration of models, tools and conversations');
  define(config.command('import').requiredOption('--from <folder>', 'a folder of Loki or aichat'), {
    does: 'Copy the configuration of Loki or aichat; nothing is overwritten',
    example: 'reef config import --from ~/.config/loki',
    load: async () => (await import('../commands/config.ts')).configImport,
  });
  define(config.command('show'), {
    does: 'The configuration in effect',
    example: 'reef config show --json',
    load: async () => (await import('../commands/config.ts')).configShow,
  });
}

const BODIES = {
  role: () => import('../commands/role.ts'),
  macro: () => import('../commands/macro.ts'),
  agent: () => import('../commands/agent.ts'),
};

function listCommands(program: Command, define: Define): void {
  for (const kind of ['role', 'macro', 'agent'] as const) {
    const group = program.command(kind).description(`What ${kind}s there are`);
    define(group.command('list'), {
      does: `Names of ${kind}s`,
      example: `reef ${kind} list`,
      load: async () => (await BODIES[kind]()).list,
    });
    define(group.command('show').argument('<name>', 'its name'), {
      does: 'Show one',
      example: `reef ${kind} show ${kind === 'agent' ? 'coder' : 'code'}`,
      load: async () => (await BODIES[kind]()).show,
    });
  }
}

function ragCommands(program: Command, define: Define): void {
  const rag = program.command('rag').description('Documents that questions are answered from');
  define(rag.command('list'), {
    does: 'Names of RAGs',
    example: 'reef rag list',
    load: async () => (await import('../commands/rag.ts')).list,
  });
  define(
    rag.command('build').argument('<name>', 'its name').argument('[documents...]', 'paths, folders, globs, addresses'),
    {
      does: 'Make or refresh an index; without documents those it has',
      example: 'reef rag build docs ./docs',
      load: async () => (await import('../commands/rag.ts')).build,
    },
  );
  const search = rag.command('search').argument('<name>', 'its name').argument('<question>', 'in words');
  define(search, {
    does: 'Show what would be found',
    example: 'reef rag search docs "how are keys rotated?"',
    load: async () => (await import('../commands/rag.ts')).search,
  });
}

function vaultCommands(program: Command, define: Define): void {
  const vault = program.command('vault').description('Secrets of the configuration');
  define(vault.command('list'), {
    does: 'Names of secrets',
    example: 'reef vault list',
    load: async () => (await import('../commands/vault.ts')).list,
  });
  for (const what of ['add', 'get', 'update', 'delete'] as const) {
    define(vault.command(what).argument('<name>', 'its name'), {
      does: `${what[0]?.toUpperCase()}${what.slice(1)} a secret${what === 'add' || what === 'update' ? '; the value comes from the terminal or standard input' : ''}`,
      example: `reef vault ${what} OPENAI_API_KEY`,
      load: async () => (await import('../commands/vault.ts'))[what === 'delete' ? 'remove' : what],
    });
  }
}
