import type { Command } from 'commander';
import { collect, type Define, wholeNumber } from './define.ts';

const ID = 'worktree id, a unique prefix of it, or @last';

export function worktreeCommands(program: Command, define: Define): void {
  const worktree = program.command('worktree').description('Worktrees that Reef manages');
  makeCommands(worktree, define);
  endCommands(worktree, define);
  stateCommands(program, define);
  define(
    program.command('conflicts').option('--plan <glob>', 'a plan that is not started yet; may be repeated', collect),
    {
      does: 'Say which worktrees overlap: hot (same lines), soft (same file), hop (related files)',
      example: 'reef conflicts --plan "src/cart/**"',
      load: async () => (await import('../commands/worktree.ts')).conflicts,
    },
  );
}

function makeCommands(worktree: Command, define: Define): void {
  define(worktree.command('list').option('--all', 'also those that have ended'), {
    does: 'List worktrees with their health, overlap and place in the queue',
    example: 'reef worktree list',
    load: async () => (await import('../commands/worktree.ts')).listWorktrees,
  });
  const create = worktree
    .command('create')
    .argument('<title>', 'what it is for')
    .option('--plan <glob>', 'what will be changed; may be repeated', collect)
    .option('--base <revision>', 'branch or commit (default: the current branch)')
    .option('--priority <n>', '1 goes first', wholeNumber)
    .option('--anyway', 'do not wait for clashing tasks');
  define(create, {
    does: 'Make a worktree, or queue it while its plan clashes',
    example: 'reef worktree create "try another parser"',
    load: async () => (await import('../commands/worktree.ts')).createWorktree,
  });
  define(worktree.command('setup').argument('<id>', ID), {
    does: 'Run its set-up command again',
    example: 'reef worktree setup @last',
    load: async () => (await import('../commands/worktree.ts')).setupWorktree,
  });
  define(worktree.command('diff').argument('<id>', ID), {
    does: 'Show what it changes against its base',
    example: 'reef worktree diff @last',
    load: async () => (await import('../commands/worktree.ts')).diffWorktree,
  });
}

function endCommands(worktree: Command, define: Define): void {
  const accept = worktree
    .command('accept')
    .argument('<id>', ID)
    .option('--strategy <strategy>', 'squash (default), merge or ff')
    .option('--message <text>', 'of the commit')
    .option('--into <branch>', 'target (default: the branch it was made from)')
    .option('--when-clean', 'complete it as soon as the checkout of the target is clean')
    .option('--yes', 'take on waived gates, unplanned files and edits to gate files');
  define(accept, {
    does: 'Merge it; a checkout with changes in it is not touched',
    example: 'reef worktree accept @last',
    load: async () => (await import('../commands/worktree.ts')).acceptWorktree,
  });
  define(worktree.command('discard').argument('<id>', ID), {
    does: 'Keep its work on a ref, then remove it',
    example: 'reef worktree discard @last',
    load: async () => (await import('../commands/worktree.ts')).discardWorktree,
  });
  define(worktree.command('restore').argument('<ref-or-id>', 'refs/reef/discarded/<id>, or a worktree id'), {
    does: 'Bring back a discarded, held or lost worktree',
    example: 'reef worktree restore refs/reef/discarded/01J9ZQ3V8K',
    load: async () => (await import('../commands/worktree.ts')).restoreWorktree,
  });
  define(worktree.command('hold').argument('<id>', ID), {
    does: 'Put it aside with its session; restore brings it back',
    example: 'reef worktree hold @last',
    load: async () => (await import('../commands/worktree.ts')).holdWorktree,
  });
  define(worktree.command('prune').option('--yes', 'remove what is shown'), {
    does: 'Show what could be removed, with size, age and reason',
    example: 'reef worktree prune',
    load: async () => (await import('../commands/worktree.ts')).pruneWorktrees,
  });
}

function stateCommands(program: Command, define: Define): void {
  const state = program
    .command('state')
    .argument('[worktree]', 'worktree id or path (default: the main checkout)')
    .option('--section <name>', 'files, tasks, runs or diff');
  define(state, {
    does: 'What is true of a worktree, and who did it',
    example: 'reef state @last',
    load: async () => (await import('../commands/state.ts')).showState,
  });
  const artifact = state.command('artifact').argument('<id>', 'such as a:3f9c2e1, or t12 for a whole turn');
  define(artifact.option('--job <id>', 'whose (default: the newest job)').option('--grep <text>', 'only such lines'), {
    does: 'Read text that was cut from a prompt',
    example: 'reef state artifact t1',
    load: async () => (await import('../commands/state.ts')).readArtifact,
  });
  define(state.command('calls').argument('<job>', 'a job of the native coder, or @last'), {
    does: 'How each of its prompts was made, in tokens',
    example: 'reef state calls @last',
    load: async () => (await import('../commands/state.ts')).listPrompts,
  });
  define(state.command('hook'), {
    does: 'Print the state for the hook of another agent, quickly or not at all',
    example: 'reef state hook',
    load: async () => (await import('../commands/state.ts')).stateHook,
  });
}
