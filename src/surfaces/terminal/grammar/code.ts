import type { Command } from 'commander';
import { type Define, wholeNumber } from './define.ts';

/** Each with the body it has in `commands/code.ts`. */
export function codeCommands(program: Command, define: Define): void {
  const code = program.command('code').description('What the code of a worktree says about itself');
  const about = (command: Command) =>
    command
      .option('--worktree <id>', 'worktree id or path (default: the checkout you stand in)')
      .option('--complete', 'wait until the answer is complete');
  fileCommands(code, { define, about });
  nameCommands(code, { define, about });
  indexCommands(code, define);
}

interface Definer {
  define: Define;
  about(command: Command): Command;
}

function fileCommands(code: Command, { define, about }: Definer): void {
  define(about(code.command('outline').argument('<file>', 'a file')), {
    does: 'The definitions of a file',
    example: 'reef code outline src/cart.ts',
    load: async () => (await import('../commands/code.ts')).outline,
  });
  const tree = about(code.command('tree').argument('[folder]', 'a folder (default: this one)'));
  define(tree.option('--depth <n>', 'folders below it (default: 4)', wholeNumber), {
    does: 'The definitions of the files below a folder',
    example: 'reef code tree src',
    load: async () => (await import('../commands/code.ts')).tree,
  });
  const explore = about(code.command('explore').argument('<question>', 'in words'));
  define(explore.option('--budget <tokens>', '500 to 20000 (default: 4000)', wholeNumber), {
    does: 'The pieces of code that answer a question',
    example: 'reef code explore "where are prices rounded?" --budget 2000',
    load: async () => (await import('../commands/code.ts')).explore,
  });
}

function nameCommands(code: Command, { define, about }: Definer): void {
  const symbol = about(code.command('symbol').argument('<name>', 'a name'));
  define(symbol.option('--source', 'with the whole text'), {
    does: 'Where a name is defined',
    example: 'reef code symbol applyDiscount --source',
    load: async () => (await import('../commands/code.ts')).symbol,
  });
  const refs = about(code.command('refs').argument('<name>', 'a name'));
  define(refs.option('--limit <n>', 'at most this many', wholeNumber).option('--text', 'comments and strings too'), {
    does: 'Every use of a name, surest first',
    example: 'reef code refs applyDiscount',
    load: async () => (await import('../commands/code.ts')).refs,
  });
  const find = about(code.command('find').argument('<query>', 'part of a name'));
  define(find.option('--limit <n>', 'at most this many', wholeNumber).option('--type <type>', 'class, function, …'), {
    does: 'Names that look like this: prefix, humps, one typo',
    example: 'reef code find appDisc',
    load: async () => (await import('../commands/code.ts')).find,
  });
  const search = about(code.command('search').argument('<query>', 'words, or a "quoted phrase"'));
  define(search.option('--limit <n>', 'at most this many', wholeNumber).option('--glob <glob>', 'only these files'), {
    does: 'Ranked search for words',
    example: 'reef code search "round half up"',
    load: async () => (await import('../commands/code.ts')).search,
  });
}

function indexCommands(code: Command, define: Define): void {
  const where = 'worktree id or path (default: the checkout you stand in)';
  for (const name of ['index', 'status'] as const) {
    const command = code.command(name).option('--worktree <id>', where);
    if (name === 'index') command.option('--wait', 'until every file is parsed');
    define(command, {
      does: name === 'index' ? 'Index a worktree now' : 'What is indexed, pending and skipped',
      example: `reef code ${name}`,
      load: async () => (await import('../commands/code.ts')).indexCode,
    });
  }
  const slice = code.command('slice').argument('<slices...>', "such as 'refs:applyDiscount limit=20'");
  define(slice.option('--worktree <id>', where).option('--budget <tokens>', '200 to 32000', wholeNumber), {
    does: 'What a block of a workflow would see',
    example: "reef code slice 'outline:src/cart.ts'",
    load: async () => (await import('../commands/code.ts')).slice,
  });
}
