import type { Command } from 'commander';
import { collect, type Define, wholeNumber } from './define.ts';

const RUN_ID = 'run id, a unique prefix of it, or @last';

export function runCommands(program: Command, define: Define): void {
  runCommand(program, define);
  workflowCommands(program, define);
  callCommands(program, define);
}

function runCommand(program: Command, define: Define): void {
  // `reef run show ID` and `reef run "fix it"`: a word that is no verb is a task.
  // An option after a verb is the verb's: `reef run show ID --follow` has one of the same name.
  const run = program
    .enablePositionalOptions()
    .command('run')
    .enablePositionalOptions()
    .argument('<workflow-or-task>', 'node of the workflow file, test-fix or full-gates; alone: the task')
    .argument('[task]', 'what is to be done; - reads it from standard input')
    .option('--agent <agent>', 'agent of blocks that name none (default: claude)')
    .option('--model <model>', 'model of the same blocks')
    .option('--plan <glob>', 'what the task means to change; may be repeated', collect)
    .option('--base <revision>', 'branch or commit to start from (default: the current branch)')
    .option('--priority <n>', '1 goes first', wholeNumber)
    .option('--anyway', 'do not wait for clashing tasks')
    .option('--step', 'ask before every block')
    .option('--auto-resume', 'go on by itself when a rate limit is over')
    .option('--accept', 'merge at success, as soon as the checkout is clean')
    .option('--budget-tokens <n>', 'halt at this many tokens', wholeNumber)
    .option('--budget-time <time>', 'halt after this much work, such as 30m')
    .option('--sandbox', 'agents and gates only in a sandbox')
    .option('--yes', 'let Reef allow every permission; needs --sandbox or --unsafe')
    .option('--unsafe', 'with --yes: I know that nothing contains the agents')
    .option('--key <key>', 'a second call with the same key starts nothing new')
    .option('--wait', 'wait until it is over or asks; the exit code says which')
    .option('--follow', 'print each block as it ends, until it is over or asks');
  define(run, {
    does: 'Run a workflow on a task in a worktree of its own',
    example: 'reef run "make the failing test pass" --follow',
    load: async () => (await import('../commands/run.ts')).run,
  });
  define(
    run
      .command('show')
      .argument('<id>', RUN_ID)
      .option('--follow', 'print each block as it ends')
      .option('--wait', 'wait until it is over or asks'),
    {
      does: 'Draw the graph of a run with the path it took',
      example: 'reef run show @last',
      load: async () => (await import('../commands/run.ts')).showRun,
    },
  );
  controlCommands(run, define);
  define(run.command('replay').argument('<id>', RUN_ID), {
    does: 'Walk a run again with its recorded results; starts nothing',
    example: 'reef run replay @last',
    load: async () => (await import('../commands/run.ts')).replayRun,
  });
  define(program.command('runs').option('--all', 'also those that ended long ago'), {
    does: 'List the runs that go on, and the last that ended',
    example: 'reef runs',
    load: async () => (await import('../commands/run.ts')).runs,
  });
}

const VERBS = {
  approve: 'Let a run in step mode do its next block',
  resume: 'Go on with a halted run',
  retry: 'Do the halted block once more',
  skip: 'Count the halted block as done; a skipped gate stays marked',
  abort: 'End a run and its agents; the worktree stays as it is',
  hold: 'Put a halted run aside with its worktree; resume brings it back',
  step: 'Ask before every block from now on',
  go: 'Ask no more before every block',
} as const;

function controlCommands(run: Command, define: Define): void {
  for (const verb of Object.keys(VERBS) as (keyof typeof VERBS)[]) {
    const command = run
      .command(verb)
      .argument('<id>', RUN_ID)
      .argument('[guidance]', 'what the next agent is told; - reads it from standard input')
      .option('--block <block>', 'which halt, when several branches wait')
      .option('--visit <n>', 'which visit of that block', wholeNumber)
      .option('--branch <branch>', 'which branch of a fork');
    if (verb === 'skip') command.option('--signal <signal>', 'what the block counts as (default: SIGNAL:SUCCESS)');
    define(command, {
      does: VERBS[verb],
      example: `reef run ${verb} @last`,
      load: async () => (await import('../commands/run.ts')).controlRun(verb),
    });
  }
}

function workflowCommands(program: Command, define: Define): void {
  const workflow = program.command('workflow').description('Workflow files');
  const check = workflow.command('check').argument('[file]', 'default: that of this repository');
  define(check.option('--strict', 'warnings are errors'), {
    does: 'List everything that is wrong with a workflow file',
    example: 'reef workflow check .reef/workflows.yaml',
    load: async () => (await import('../commands/workflow.ts')).checkWorkflow,
  });
  define(workflow.command('schema'), {
    does: 'Print the JSON Schema of workflow files',
    example: 'reef workflow schema > workflow.schema.json',
    load: async () => (await import('../commands/workflow.ts')).workflowSchema,
  });
  const init = workflow.command('init').argument('[name]', 'test-fix or full-gates (default)');
  define(init.option('--force', 'replace the file that is there'), {
    does: 'Write a workflow that ships with Reef into this repository',
    example: 'reef workflow init test-fix',
    load: async () => (await import('../commands/workflow.ts')).initWorkflow,
  });
}

function callCommands(program: Command, define: Define): void {
  const calls = program.command('calls').description('What was asked of models, and what they answered');
  const list = calls
    .command('list')
    .option('--run <id>', RUN_ID)
    .option('--job <id>', 'job id or a unique prefix of it')
    .option('--limit <n>', 'at most this many', wholeNumber);
  define(list, {
    does: 'List calls, newest first: one per turn of an agent',
    example: 'reef calls list --run @last',
    load: async () => (await import('../commands/calls.ts')).listCalls,
  });
  define(calls.command('show').argument('<call>', 'call id, as `reef calls list` shows it'), {
    does: 'Show one call whole',
    example: 'reef calls show 01J9Z:1',
    load: async () => (await import('../commands/calls.ts')).showCall,
  });
  const rerun = calls.command('rerun').argument('<call>', 'call id');
  define(rerun.option('--edit <prompt>', 'another prompt; - reads it from standard input'), {
    does: 'Ask again in a copy of the worktree, and show both answers',
    example: 'reef calls rerun 01J9Z:1',
    load: async () => (await import('../commands/calls.ts')).rerunCall,
  });
}
