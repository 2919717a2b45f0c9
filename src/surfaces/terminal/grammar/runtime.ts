import type { Command } from 'commander';
import { definer, type Run } from './define.ts';

/** What else the runtime does by itself. These commands need neither a daemon nor a repository. */
export function declare(program: Command, run: Run): void {
  const define = definer(run, () => import('../commands/runtime-folder.ts'));
  const config = program.command('config').description('Show or import the configuration of models, tools and chats');
  const copy = config
    .command('import')
    .description('Copy the configuration of Loki or aichat; overwrites nothing')
    .requiredOption('--from <folder>', 'configuration folder of Loki or aichat');
  define(copy, 'importConfig', 'reef config import --from ~/.config/loki');
  define(config.command('show').description('Print the configuration in effect'), 'showConfig');

  const show = { role: 'showRole', macro: 'showMacro', agent: 'showAgent' } as const;
  for (const kind of ['role', 'macro', 'agent'] as const) {
    const group = program.command(kind).description(`List your ${kind}s, or show one`);
    listCommand(group, `${kind}s`, run);
    const one = group.command('show').description('Print a definition').argument('<name>', 'its name');
    define(one, show[kind], `reef ${kind} show ${kind === 'agent' ? 'coder' : 'code'}`);
  }

  const rag = program.command('rag').description('Build and search collections of documents (RAGs) to answer from');
  listCommand(rag, 'rags', run);
  const build = rag
    .command('build')
    .description('Build or refresh a RAG; without documents, from those it already has')
    .argument('<name>', 'its name')
    .argument('[documents...]', 'files, folders, globs or URLs');
  define(build, 'buildRag', 'reef rag build docs ./docs');
  const search = rag.command('search').description('Show what would be found for a question');
  search.argument('<name>', 'name of the RAG').argument('<question>', 'in words');
  define(search, 'searchRag', 'reef rag search docs "how are keys rotated?"');
  vaultCommands(program, run);
}

function listCommand(group: Command, what: 'roles' | 'macros' | 'agents' | 'rags', run: Run): void {
  const load = async () => ({ list: (await import('../commands/runtime-folder.ts')).list(what) });
  definer(run, load)(group.command('list').description(`List the ${what}`), 'list');
}

const SECRETS = {
  add: 'Store a secret; its value is read from the terminal or from standard input',
  get: 'Print the value of a secret',
  update: 'Replace the value of a secret; it is read from the terminal or from standard input',
  delete: 'Delete a secret',
} as const;

function vaultCommands(program: Command, run: Run): void {
  const vault = program.command('vault').description('Keep the secrets that the configuration refers to');
  const define = definer(run, () => import('../commands/vault.ts'));
  define(vault.command('list').description('List the names of the secrets'), 'listSecrets');
  for (const verb of Object.keys(SECRETS) as (keyof typeof SECRETS)[]) {
    const command = vault.command(verb).description(SECRETS[verb]).argument('<name>', 'name of the secret');
    define(command, `${verb}Secret`, `reef vault ${verb} OPENAI_API_KEY`);
  }
}
