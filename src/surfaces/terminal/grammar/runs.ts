import type { Command } from 'commander';
import { collect, definer, TASK_ID as RUN_ID, type Run, wholeNumber } from './define.ts';

export function declare(program: Command, run: Run): void {
  taskCommands(program, run);
  workflowCommands(program, run);
  callCommands(program, run);
}

function taskCommands(program: Command, run: Run): void {
  // `reef run show ID` and `reef run "fix it"`: a word that is no verb is a task.
  // An option after a verb is the verb's: `reef run show ID --follow` has one of the same name.
  const task = program
    .enablePositionalOptions()
    .command('run')
    .description('Run a workflow on a task, in a worktree of its own')
    .enablePositionalOptions()
    .argument('<workflow-or-task>', 'a node of the workflow file, test-fix or full-gates; alone, it is the task')
    .argument('[task]', 'what should be done; - reads it from standard input')
    .option('--agent <agent>', 'agent for blocks that name none (default: claude)')
    .option(
      '--fallback <agents>',
      'these take over in this order at a limit, an outage or a missing log-in (default: as configured)',
    )
    .option('--agents <agents>', 'let each of these try the task, with commas between them; then you choose one')
    .option('--model <model>', 'model for the same blocks')
    .option('--plan <glob>', 'files that the task will change; may be repeated', collect)
    .option('--base <revision>', 'branch or commit to start from (default: the current branch)')
    .option('--priority <n>', 'place in the queue; 1 goes first', wholeNumber)
    .option('--anyway', 'do not wait for tasks with clashing plans')
    .option('--step', 'ask before every block')
    .option('--no-auto-resume', 'wait for you when a rate limit is over (default: go on by itself)')
    .option(
      '--accept',
      'merge after success, as soon as the checkout is clean; --follow and --wait end after the merge',
    )
    .option('--budget-tokens <n>', 'halt at this many tokens', wholeNumber)
    .option('--budget-time <time>', 'halt after this much working time, such as 30m')
    .option('--sandbox', 'refuse to run agents and gates without a sandbox')
    .option('--no-sandbox', 'use no sandbox (default: one where this machine has it)')
    .option('--yes', 'allow everything the agents ask permission for; needs a sandbox or --unsafe')
    .option('--unsafe', 'with --yes: confirm that the agents may run without a sandbox')
    .option('--key <key>', 'repeating the command with the same key starts nothing new')
    .option('--wait', 'wait until the run ends or asks something; the exit code says which')
    .option('--follow', 'print what goes on until the run ends or asks something');
  const define = definer(run, () => import('../commands/run.ts'));
  define(task, 'run', 'reef run "make the failing test pass" --follow');
  const show = task
    .command('show')
    .description('Draw the workflow of a run, and the path it took')
    .argument('<id>', RUN_ID)
    .option('--follow', 'print what goes on until the run ends or asks something')
    .option('--wait', 'wait until the run ends or asks something');
  define(show, 'showRun');
  const log = task
    .command('log')
    .description('Print what went on in a run: blocks, agents in a line each, gates with their seconds')
    .argument('<id>', RUN_ID)
    .argument('[block]', 'a block: print everything it left, such as the whole output of a gate');
  define(log, 'logRun', 'reef run log @last Test');
  controlCommands(task, run);
  const replay = task
    .command('replay')
    .description('Check that the recorded results lead to the same end; runs nothing');
  define(replay.argument('<id>', RUN_ID), 'replayRun');
  const compare = program
    .command('compare')
    .description('Show side by side what several agents made of one task: gates, change, tokens, cost')
    .argument('<id>', RUN_ID)
    .option('--review <agent>', 'let this agent read all changes first, and rank them; it changes nothing');
  const attempts = definer(run, () => import('../commands/attempts.ts'));
  attempts(compare, 'compareAttempts', 'reef compare @last');
  const runs = program.command('runs').description('List active runs, and the last ones that ended');
  define(runs.option('--all', 'also those that ended long ago'), 'runs');
}

const VERBS = {
  approve: 'Let a run in step mode do its next block',
  resume: 'Continue a halted run',
  retry: 'Do the halted block once more',
  skip: 'Count the halted block as done; a skipped gate stays marked as skipped',
  continue: 'Go on with a run that has ended, failed or halted, in the same worktree and the session of its agent',
  abort: 'End a run and its agents; the worktree stays as it is',
  hold: 'Put a halted run and its worktree aside; `reef run resume` brings both back',
  step: 'From now on, ask before every block',
  go: 'Stop asking before every block',
} as const;

/** After these there is nothing to watch. */
const ENDS: ReadonlySet<keyof typeof VERBS> = new Set(['abort', 'hold']);

function controlCommands(task: Command, run: Run): void {
  for (const verb of Object.keys(VERBS) as (keyof typeof VERBS)[]) {
    const command = task
      .command(verb)
      .description(VERBS[verb])
      .argument('<id>', RUN_ID)
      .argument('[guidance]', 'what the next agent should know; - reads it from standard input')
      .option('--block <block>', 'which halted block, when several branches wait')
      .option('--visit <n>', 'which visit of that block', wholeNumber)
      .option('--branch <branch>', 'which branch of a fork');
    if (!ENDS.has(verb)) command.option('--follow', 'print what goes on until the run ends or asks something');
    if (verb === 'continue')
      command.option(
        '--from-pr',
        'on the failed checks and new remarks of its pull request; with --follow, push the new work',
      );
    if (verb === 'skip') command.option('--signal <signal>', 'what the block counts as (default: SIGNAL:SUCCESS)');
    const load = async () => ({ control: (await import('../commands/run.ts')).controlRun(verb) });
    definer(run, load)(command, 'control');
  }
}

function workflowCommands(program: Command, run: Run): void {
  const workflow = program.command('workflow').description('Write and check workflow files');
  const define = definer(run, () => import('../commands/workflow.ts'));
  const check = workflow
    .command('check')
    .description('List everything that is wrong with a workflow file')
    .argument('[file]', 'default: the one of this repository')
    .option('--strict', 'count warnings as errors');
  define(check, 'checkWorkflow', 'reef workflow check .reef/workflows.yaml');
  const schema = workflow.command('schema').description('Print the JSON Schema of workflow files');
  define(schema, 'workflowSchema', 'reef workflow schema > workflow.schema.json');
  const init = workflow
    .command('init')
    .description('Write a workflow that comes with Reef into this repository')
    .argument('[name]', 'test-fix or full-gates (default)')
    .option('--force', 'replace the file that is there');
  define(init, 'initWorkflow', 'reef workflow init test-fix');
}

function callCommands(program: Command, run: Run): void {
  const calls = program.command('calls').description('Show what models were asked, and what they answered');
  const define = definer(run, () => import('../commands/calls.ts'));
  const list = calls
    .command('list')
    .description('List model calls, newest first: one for each turn of an agent')
    .option('--run <id>', RUN_ID)
    .option('--job <id>', 'job id or a unique prefix of it')
    .option('--limit <n>', 'at most this many', wholeNumber);
  define(list, 'listCalls', 'reef calls list --run @last');
  const show = calls.command('show').description('Print a whole call: the prompt and the answer');
  define(show.argument('<call>', 'call id, as shown by `reef calls list`'), 'showCall', 'reef calls show 01J9Z:1');
  const rerun = calls
    .command('rerun')
    .description('Repeat a call in a copy of the worktree, and show both answers')
    .argument('<call>', 'call id, as shown by `reef calls list`')
    .option('--edit <prompt>', 'ask this instead; - reads it from standard input');
  define(rerun, 'rerunCall', 'reef calls rerun 01J9Z:1');
}
