import type { Command } from 'commander';
import { definer, type Run, wholeNumber } from './define.ts';

export function declare(program: Command, run: Run): void {
  const code = program.command('code').description('Ask the code index: definitions, uses, outlines, search');
  questionCommands(code, run);
  const define = definer(run, () => import('../commands/code.ts'));
  const index = about(code.command('index').description('Index a worktree now'));
  define(index.option('--wait', 'wait until every file is parsed'), 'indexCode');
  define(about(code.command('status').description('Show how much is indexed, pending and skipped')), 'indexCode');
  const slice = about(code.command('slice').description('Print what a block of a workflow would see of the code'))
    .argument('<slices...>', "such as 'refs:applyDiscount limit=20'")
    .option('--budget <tokens>', '200 to 32000', wholeNumber);
  define(slice, 'slice', "reef code slice 'outline:src/cart.ts'");
}

function about(command: Command): Command {
  return command.option('--worktree <id>', 'worktree by title, id or path (default: the checkout around this folder)');
}

function questionCommands(code: Command, run: Run): void {
  const define = definer(run, () => import('../commands/code.ts'));
  const question = (name: string, does: string) =>
    about(code.command(name).description(does)).option('--complete', 'wait until the answer is complete');
  const limited = (command: Command) => command.option('--limit <n>', 'at most this many', wholeNumber);
  const paged = (command: Command) => command.option('--cursor <cursor>', 'the next page, as the last one names it');
  const filed = (command: Command) => command.option('--file <file>', 'the definition in this file');

  const outline = question('outline', 'List the definitions in a file').argument('<file>', 'a file');
  define(outline, 'outline', 'reef code outline src/cart.ts');
  const tree = question('tree', 'List the definitions in all files of a folder')
    .argument('[folder]', 'a folder (default: this one)')
    .option('--depth <n>', 'how many levels of folders below it (default: 4)', wholeNumber);
  define(paged(tree), 'tree', 'reef code tree src');
  const explore = question('explore', 'Collect the pieces of code that answer a question')
    .argument('<question>', 'in words')
    .option('--budget <tokens>', '500 to 20000 (default: 4000)', wholeNumber);
  define(explore, 'explore', 'reef code explore "where are prices rounded?" --budget 2000');
  const symbol = question('symbol', 'Show where a name is defined')
    .argument('<name>', 'a name, alone or behind its class or module')
    .option('--source', 'print the whole definition');
  define(filed(symbol), 'symbol', 'reef code symbol Cart.total --source');
  const refs = question('refs', 'List every use of a name, most certain first')
    .argument('<name>', 'a name, alone or behind its class or module')
    .option('--text', 'also in comments and strings');
  const one = filed(paged(limited(refs))).option('--line <n>', 'the definition at this line of it', wholeNumber);
  define(one, 'refs', 'reef code refs applyDiscount');
  const relation = (name: string, does: string) =>
    filed(
      paged(limited(question(name, does).argument('<name>', 'a name, alone or behind its class or module'))),
    ).option('--line <n>', 'the definition at this line of it', wholeNumber);
  const along = (command: Command) => command.option('--depth <n>', 'how many steps: 1 to 10', wholeNumber);
  define(relation('callers', 'List the functions that use a definition'), 'callers', 'reef code callers Cart.total');
  define(relation('callees', 'List the definitions that a function uses'), 'callees', 'reef code callees Cart.total');
  const impact = along(relation('impact', 'List what may break when a definition changes, nearest first'));
  define(impact, 'impact', 'reef code impact applyDiscount');
  const tests = along(relation('tests', 'List the tests that reach a definition'));
  define(tests, 'tests', 'reef code tests applyDiscount');
  const find = question('find', 'Find definitions by part of a name: its beginning, its capitals, or with one typo');
  limited(find.argument('<query>', 'part of a name')).option('--type <type>', 'only this kind: class, function, …');
  define(find, 'find', 'reef code find appDisc');
  const search = question('search', 'Search the text of the code, best matches first');
  limited(search.argument('<query>', 'words, or a "quoted phrase"')).option('--glob <glob>', 'only in these files');
  define(search, 'search', 'reef code search "round half up"');
}
