import type { Command } from 'commander';
import { byteNumber, collect, definer, TASK_ID as ID, type Run, wholeNumber } from './define.ts';

export function declare(program: Command, run: Run): void {
  startCommands(program, run);
  talkCommands(program, run);
  endCommands(program, run);
  recordCommands(program, run);
}

function startCommands(program: Command, run: Run): void {
  const spawn = program
    .command('spawn')
    .description('Start a coding agent on a task')
    .argument('<agent>', 'claude, codex, codex-exec, acp:<name>, native:<name> or scripted:<file>')
    .argument('<task>', 'what the agent should do; - reads it from standard input')
    .option('--cwd <folder>', 'folder to work in (default: the root of the repository)')
    .option('--worktree [name]', 'work in a new worktree of this name, or in the one that has this title, id or path')
    .option('--plan <glob>', 'with --worktree: files that the task will change; may be repeated', collect)
    .option('--anyway', 'with --worktree: do not wait for tasks with clashing plans')
    .option('--model <model>', 'model that the agent should use')
    .option('--mode <mode>', 'headless, or headful: in a terminal that you can join')
    .option('--keep', 'keep the agent running after it has finished, ready for another message')
    .option('--budget-tokens <n>', 'stop and ask at this many tokens', wholeNumber)
    .option('--budget-turns <n>', 'stop and ask at this many turns', wholeNumber)
    .option('--budget-time <time>', 'stop and ask after this much working time, such as 30m')
    .option('--sandbox', 'refuse to start without a sandbox')
    .option('--no-sandbox', 'use no sandbox (default: one where this machine has it)')
    .option('--yes', 'allow everything the agent asks permission for; needs a sandbox or --unsafe')
    .option('--unsafe', 'with --yes: confirm that the agent may run without a sandbox')
    .option('--parent <id>', 'job that starts this one as its child')
    .option('--key <key>', 'repeating the command with the same key starts nothing new')
    .option('--wait', 'wait until the job ends or asks something; the exit code says which')
    .option('--follow', 'print its events until it ends or asks something');
  const example = 'reef spawn claude "make the failing test pass" --follow';
  definer(run, () => import('../commands/spawn.ts'))(spawn, 'spawn', example);
  const define = definer(run, () => import('../commands/jobs.ts'));
  const status = program
    .command('status')
    .description('Show one task, or all active jobs and the last 20 that ended')
    .argument('[id]', ID);
  define(status, 'status');
  const ps = program
    .command('ps')
    .description('The same as status without an id')
    .option('--all', 'of every repository of yours whose daemon runs');
  define(ps, 'ps', 'reef ps --all');
  const top = program
    .command('top')
    .description('Watch all repositories live: answer, look at, accept and end tasks with single keys');
  definer(run, () => import('../commands/top.ts'))(top, 'top');
}

function talkCommands(program: Command, run: Run): void {
  const send = program
    .command('send')
    .description('Send a message to an agent, or answer its question')
    .argument('<id>', ID)
    .argument('[text]', 'message, answer, or reason for a decision; - reads it from standard input')
    .option('--option <label>', 'choose the option with this label or number; may be repeated', collect)
    .option('--allow', 'allow, once, what the agent asks permission for')
    .option('--session', 'with --allow: allow it for the rest of this job')
    .option('--always', 'with --allow: allow it in all jobs from now on; `reef grants` lists what you allowed')
    .option('--deny', 'deny it; the text is the reason')
    .option(
      '--question <id>',
      'which question to answer, as shown by `reef inbox`; a script has to name it with --allow and --deny',
    )
    .option('--key <key>', 'repeating the command with the same key sends nothing again');
  definer(run, () => import('../commands/send.ts'))(send, 'send', 'reef send @last --option SQLite');
  const define = definer(run, () => import('../commands/jobs.ts'));
  const inbox = program
    .command('inbox')
    .description('List the open questions of all jobs, and how to answer them')
    .option('--whole <question>', 'show all of one question that is too long for the list');
  define(inbox, 'inbox');
  const attach = program
    .command('attach')
    .description('Print the command that joins the terminal of a headful job')
    .argument('<id>', ID);
  define(attach, 'attach', 'eval "$(reef attach @last)"');
  const output = program
    .command('output')
    .description('Print what a job did')
    .argument('<id>', ID)
    .option('--since <cursor>', 'start after this cursor or ISO-8601 time')
    .option('--limit <n>', 'print at most this many events', wholeNumber)
    .option('--follow', 'keep printing until the job ends')
    .option('--raw', 'print every byte that the agent itself wrote, without secrets')
    .option('--stream <name>', 'with --raw: only out or err')
    .option('--launch <n>', 'with --raw: only this launch, counted from 1', wholeNumber)
    .option('--from <n>', 'with --raw: start at this byte of one stream, counted from 0', byteNumber)
    .option('--bytes <n>', 'with --raw: print at most this many bytes of one stream', wholeNumber);
  definer(run, () => import('../commands/output.ts'))(output, 'output', 'reef output @last --follow');
}

function recordCommands(program: Command, run: Run): void {
  const define = definer(run, () => import('../commands/records.ts'));
  const usage = program
    .command('usage')
    .description('Sum up the tokens and the cost of all jobs')
    .option('--by <what>', 'agent (default), model, day or run')
    .option('--since <time>', 'only jobs started since then: an ISO-8601 time, or a time ago such as 7d')
    .option('--limit <n>', 'print at most this many rows', wholeNumber);
  define(usage, 'usage', 'reef usage --by day --since 7d');
  const events = program
    .command('events')
    .description('Print what happened in all jobs, in the order it happened')
    .option(
      '--since <cursor>',
      'start after this cursor or ISO-8601 time (default: with --follow now, else the beginning)',
    )
    .option('--limit <n>', 'print at most this many events', wholeNumber)
    .option('--follow', 'keep printing until you stop it');
  define(events, 'events', 'reef events --follow');
}

function endCommands(program: Command, run: Run): void {
  const wait = program
    .command('wait')
    .description('Wait until a job asks something or ends; without --until the exit code says which')
    .argument('[ids...]', 'ids of tasks (default: all active jobs)')
    .option('--until <conditions>', 'needs_input, done or idle, separated by commas (default: needs_input,done)')
    .option('--timeout <time>', 'give up after this time, such as 45s or 30m (default: never)');
  definer(run, () => import('../commands/wait.ts'))(wait, 'wait', 'reef wait @last --timeout 10m');
  const define = definer(run, () => import('../commands/jobs.ts'));
  const interrupt = program
    .command('interrupt')
    .description('Stop what an agent is doing, but keep the job and its session')
    .argument('<id>', ID);
  define(interrupt, 'interrupt');
  const resume = program
    .command('resume')
    .description("Continue a paused, completed, failed or stale job in the agent's own session")
    .argument('<id>', ID)
    .argument('[text]', 'message to begin with; - reads it from standard input');
  define(resume, 'resume', 'reef resume @last "shorter, please"');
  const kill = program
    .command('kill')
    .description('End jobs, and every process they started')
    .argument('[ids...]', 'ids of tasks, or @last')
    .option('--all', 'end all active jobs');
  define(kill, 'kill', 'reef kill @last');
}
