import type { Command } from 'commander';
import { collect, definer, TASK_ID as ID, type Run, wholeNumber } from './define.ts';

export function declare(program: Command, run: Run): void {
  const worktree = program.command('worktree').description('Manage the worktrees in which agents work');
  makeCommands(worktree, run);
  leaveCommands(worktree, run);
  endCommands(worktree, run);
  reviewCommand(program, run);
  stateCommands(program, run);
  const conflicts = program
    .command('conflicts')
    .description('List the worktrees that overlap: hot (same lines), soft (same file), hop (related files)')
    .option('--plan <glob>', 'files that a new task would change; may be repeated', collect);
  const define = definer(run, () => import('../commands/worktree.ts'));
  define(conflicts, 'conflicts', 'reef conflicts --plan "src/cart/**"');
}

function makeCommands(worktree: Command, run: Run): void {
  const define = definer(run, () => import('../commands/worktree.ts'));
  const list = worktree
    .command('list')
    .description('List worktrees with their health, overlaps and place in the queue')
    .option('--all', 'also those that have ended');
  define(list, 'listWorktrees');
  const create = worktree
    .command('create')
    .description('Make a worktree, or queue it while its plan clashes with another one')
    .argument('<title>', 'what it is for')
    .option('--plan <glob>', 'files that will be changed; may be repeated', collect)
    .option('--base <revision>', 'branch or commit to start from (default: the current branch)')
    .option('--priority <n>', 'place in the queue; 1 goes first', wholeNumber)
    .option('--anyway', 'do not wait for tasks with clashing plans');
  define(create, 'createWorktree', 'reef worktree create "try another parser"');
  const setup = worktree.command('setup').description('Run the set-up command of a worktree again');
  define(setup.argument('<id>', ID), 'setupWorktree');
  const gates = worktree
    .command('gates')
    .description('Run the gates that have not judged the present files of a worktree, in a fresh checkout of them');
  define(gates.argument('<id>', ID), 'judgeWorktree');
  const update = worktree
    .command('update')
    .description('Bring the target branch into a worktree, and judge the result; conflicts are marked in its files')
    .argument('<id>', ID)
    .option('--agent <agent>', 'let this agent resolve what conflicts; the gates judge its work')
    .option('--into <branch>', 'the branch to bring in (default: the one the worktree is merged into)');
  define(update, 'updateWorktree', 'reef worktree update @last --agent claude');
  const diff = worktree.command('diff').description('Show what a worktree changes, compared with its base');
  define(diff.argument('<id>', ID), 'diffWorktree');
}

function leaveCommands(worktree: Command, run: Run): void {
  const define = definer(run, () => import('../commands/worktree-leave.ts'));
  const toRemote = (command: Command) =>
    command
      .argument('<id>', ID)
      .option('--remote <name>', 'remote to push to (default: where git would push the target branch)')
      .option('--branch <name>', 'name of the branch there')
      .option('--yes', 'push changes to files that judge or execute');
  const push = worktree
    .command('push')
    .description('Push the work of a worktree to a branch of its own at a remote, with your own git');
  define(toRemote(push), 'pushWorktree', 'reef worktree push @last --remote origin');
  const pr = worktree
    .command('pr')
    .description(
      "Push, and open a pull request with the forge's own program (gh or glab); again: push what is new, show its checks",
    )
    .option('--into <branch>', 'the branch it is to be merged into there')
    .option('--draft', 'open it as a draft');
  define(toRemote(pr), 'openPullRequest');
  const shell = worktree
    .command('shell')
    .description('Open a shell in a worktree, with its environment, and in its sandbox if it has one')
    .argument('<id>', ID)
    .argument('[command]', 'run this in it and end');
  define(shell, 'openShell', 'reef worktree shell @last "npm test"');
}

function endCommands(worktree: Command, run: Run): void {
  const define = definer(run, () => import('../commands/worktree.ts'));
  const accept = worktree
    .command('accept')
    .description('Merge a worktree into its branch; a checkout with uncommitted changes is not touched')
    .argument('<id>', ID)
    .option('--strategy <strategy>', 'squash (default), merge or ff')
    .option('--message <text>', 'message of the commit')
    .option('--into <branch>', 'branch to merge into (default: the one the worktree was made from)')
    .option('--when-clean', 'if the target has uncommitted changes, merge as soon as it has none')
    .option('--yes', 'accept skipped gates, unplanned files and changes to what judges or executes')
    .option('--tree <id>', 'only these files: the tree that `reef worktree diff ID --json` names');
  define(accept, 'acceptWorktree');
  const discard = worktree.command('discard').description('Remove a worktree; its work is kept on a git ref');
  define(discard.argument('<id>', ID), 'discardWorktree');
  const restore = worktree
    .command('restore')
    .description('Bring back a worktree that was discarded, held or lost')
    .argument('<ref-or-id>', 'refs/reef/discarded/<id>, or a worktree id');
  define(restore, 'restoreWorktree', 'reef worktree restore refs/reef/discarded/01J9ZQ3V8K');
  const hold = worktree.command('hold').description('Put a worktree aside; `reef worktree restore` brings it back');
  define(hold.argument('<id>', ID), 'holdWorktree');
  const prune = worktree
    .command('prune')
    .description('Show which leftover worktrees could be removed, with size, age and reason')
    .option('--yes', 'remove what is shown');
  define(prune, 'pruneWorktrees');
}

function reviewCommand(program: Command, run: Run): void {
  const review = program
    .command('review')
    .description('Send comments on the lines of a worktree to its agent, as one message')
    .argument('<id>', ID)
    .argument('[text]', 'about all of it; - reads it from standard input')
    .option(
      '--comment <place>',
      '"FILE:LINE: what you say", or FILE:-LINE for a line as it was; may be repeated',
      collect,
    )
    .option('--file <file>', 'a review as JSON: comments with path, side, line, blob and text, and a verdict')
    .option('--ok', 'you agree: approves a run that asks for approval')
    .option('--key <key>', 'repeating the command with the same key sends nothing again');
  const example = 'reef review @last --comment "src/tax.ts:12: use the constant"';
  definer(run, () => import('../commands/review.ts'))(review, 'review', example);
}

function stateCommands(program: Command, run: Run): void {
  const define = definer(run, () => import('../commands/state.ts'));
  const state = program
    .command('state')
    .description('Show what changed in a worktree, what ran there, and who did it')
    .argument('[worktree]', 'worktree by title, id or path (default: the main checkout)')
    .option('--section <name>', 'only files, tasks, runs or diff');
  define(state, 'showState', 'reef state @last');
  const artifact = state
    .command('artifact')
    .description('Print text that was cut from a prompt')
    .argument('<id>', 'such as a:3f9c2e1, or t12 for a whole turn')
    .option('--job <id>', 'job whose prompt it was (default: the newest job)')
    .option('--grep <text>', 'only lines that contain this text');
  define(artifact, 'readArtifact', 'reef state artifact t1');
  const calls = state
    .command('calls')
    .description('Show how many tokens each prompt of a job had, and what they were spent on')
    .argument('<id>', 'job of native:coder, or @last');
  define(calls, 'listPrompts');
  const hook = state
    .command('hook')
    .description('Print the state for a hook of another agent: within two seconds, or nothing');
  define(hook, 'stateHook');
}
