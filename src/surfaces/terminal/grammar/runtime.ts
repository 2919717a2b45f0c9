import type { Command } from 'commander';
import type { Define } from './define.ts';

/** What else the runtime does by itself: this needs neither daemon nor repository. */
export function runtimeCommands(program: Command, define: Define): void {
  configCommands(program, define);
  listCommands(program, define);
  ragCommands(program, define);
  vaultCommands(program, define);
}

function configCommands(program: Command, define: Define): void {
  const config = program.command('config').description('The configuration of models, tools and conversations');
  define(config.command('import').requiredOption('--from <folder>', 'a folder of Loki or aichat'), {
    does: 'Copy the configuration of Loki or aichat; nothing is overwritten',
    example: 'reef config import --from ~/.config/loki',
    load: async () => (await import('../commands/runtime-folder.ts')).importConfig,
  });
  define(config.command('show'), {
    does: 'The configuration in effect',
    example: 'reef config show --json',
    load: async () => (await import('../commands/runtime-folder.ts')).showConfig,
  });
}

const SHOW = { role: 'showRole', macro: 'showMacro', agent: 'showAgent' } as const;

function listCommands(program: Command, define: Define): void {
  for (const kind of ['role', 'macro', 'agent'] as const) {
    const group = program.command(kind).description(`What ${kind}s there are`);
    define(group.command('list'), {
      does: `Names of ${kind}s`,
      example: `reef ${kind} list`,
      load: async () => (await import('../commands/runtime-folder.ts')).list(`${kind}s`),
    });
    define(group.command('show').argument('<name>', 'its name'), {
      does: 'Show one',
      example: `reef ${kind} show ${kind === 'agent' ? 'coder' : 'code'}`,
      load: async () => (await import('../commands/runtime-folder.ts'))[SHOW[kind]],
    });
  }
}

function ragCommands(program: Command, define: Define): void {
  const rag = program.command('rag').description('Documents that questions are answered from');
  define(rag.command('list'), {
    does: 'Names of RAGs',
    example: 'reef rag list',
    load: async () => (await import('../commands/runtime-folder.ts')).list('rags'),
  });
  define(
    rag.command('build').argument('<name>', 'its name').argument('[documents...]', 'paths, folders, globs, addresses'),
    {
      does: 'Make or refresh an index; without documents those it has',
      example: 'reef rag build docs ./docs',
      load: async () => (await import('../commands/runtime-folder.ts')).buildRag,
    },
  );
  const search = rag.command('search').argument('<name>', 'its name').argument('<question>', 'in words');
  define(search, {
    does: 'Show what would be found',
    example: 'reef rag search docs "how are keys rotated?"',
    load: async () => (await import('../commands/runtime-folder.ts')).searchRag,
  });
}

function vaultCommands(program: Command, define: Define): void {
  const vault = program.command('vault').description('Secrets of the configuration');
  define(vault.command('list'), {
    does: 'Names of secrets',
    example: 'reef vault list',
    load: async () => (await import('../commands/vault.ts')).listSecrets,
  });
  for (const what of ['add', 'get', 'update', 'delete'] as const) {
    define(vault.command(what).argument('<name>', 'its name'), {
      does: `${what[0]?.toUpperCase()}${what.slice(1)} a secret${what === 'add' || what === 'update' ? '; the value comes from the terminal or standard input' : ''}`,
      example: `reef vault ${what} OPENAI_API_KEY`,
      load: async () => (await import('../commands/vault.ts'))[`${what}Secret`],
    });
  }
}
