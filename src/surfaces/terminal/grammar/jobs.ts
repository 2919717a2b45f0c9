import type { Command } from 'commander';
import { collect, type Define, wholeNumber } from './define.ts';

export function jobCommands(program: Command, define: Define): void {
  startCommands(program, define);
  talkCommands(program, define);
  endCommands(program, define);
}

function startCommands(program: Command, define: Define): void {
  const spawn = program
    .command('spawn')
    .argument('<agent>', 'claude, codex, codex-exec, acp:<name> or scripted:<file>')
    .argument('<task>', 'what it is to do; - reads it from standard input')
    .option('--cwd <folder>', 'folder to work in (default: the root of the repository)')
    .option('--worktree [name]', 'work in a worktree of its own, or in the one of that id')
    .option('--plan <glob>', 'with --worktree: what the task means to change; may be repeated', collect)
    .option('--model <model>', 'model the agent is to use')
    .option('--mode <mode>', 'headless or headful')
    .option('--keep', 'keep the process after its turn, for a next message')
    .option('--budget-tokens <n>', 'stop and ask at this many tokens', wholeNumber)
    .option('--budget-turns <n>', 'stop and ask at this many turns', wholeNumber)
    .option('--budget-time <time>', 'stop and ask after this much work, such as 30m')
    .option('--sandbox', 'refuse to start without a sandbox')
    .option('--yes', 'let Reef allow every permission; needs --sandbox or --unsafe')
    .option('--unsafe', 'with --yes: I know that nothing contains the agent')
    .option('--parent <id>', 'the job this one is a child of')
    .option('--key <key>', 'a second call with the same key starts nothing new')
    .option('--wait', 'wait until it is over or asks; the exit code says which')
    .option('--follow', 'print its events until it is over or asks');
  define(spawn, {
    does: 'Start a coding agent on a task',
    example: 'reef spawn claude "make the failing test pass" --follow',
    load: async () => (await import('../commands/spawn.ts')).spawn,
  });
  define(program.command('status').argument('[id]', 'job id, a unique prefix of it, or @last'), {
    does: 'Show one job, or all active jobs and the last 20 that ended',
    example: 'reef status @last',
    load: loadStatus,
  });
  define(program.command('ps'), { does: 'The same as status without an id', example: 'reef ps', load: loadStatus });
}

async function loadStatus() {
  return (await import('../commands/jobs.ts')).status;
}

function talkCommands(program: Command, define: Define): void {
  const send = program
    .command('send')
    .argument('<id>', 'job id, a unique prefix of it, or @last')
    .argument('[text]', 'message, answer, or reason of a decision; - reads it from standard input')
    .option('--option <label>', 'answer with this label or number; may be repeated', collect)
    .option('--allow', 'allow what the agent asks permission for, once')
    .option('--session', 'with --allow: for the rest of this job')
    .option('--always', 'with --allow: for good')
    .option('--deny', 'deny it; the text is the reason')
    .option('--question <id>', 'which question, as `reef inbox` names it')
    .option('--key <key>', 'a second call with the same key sends nothing again');
  define(send, {
    does: 'Send a message to an agent, or answer its question',
    example: 'reef send @last --option SQLite',
    load: async () => (await import('../commands/send.ts')).send,
  });
  define(program.command('inbox'), {
    does: 'List the open questions of all jobs, and how to answer them',
    example: 'reef inbox',
    load: async () => (await import('../commands/jobs.ts')).inbox,
  });
  const output = program
    .command('output')
    .argument('<id>', 'job id, a unique prefix of it, or @last')
    .option('--since <cursor>', 'read on from this cursor or ISO-8601 time')
    .option('--limit <n>', 'at most this many events', wholeNumber)
    .option('--follow', 'go on until the job is over')
    .option('--raw', 'what the agent itself wrote, secrets removed');
  define(output, {
    does: 'Print what a job did',
    example: 'reef output @last --follow',
    load: async () => (await import('../commands/output.ts')).output,
  });
  define(program.command('attach').argument('<id>', 'job id, a unique prefix of it, or @last'), {
    does: 'Print the command that joins the terminal of a headful job',
    example: 'eval "$(reef attach @last)"',
    load: async () => (await import('../commands/jobs.ts')).attach,
  });
}

function endCommands(program: Command, define: Define): void {
  const wait = program
    .command('wait')
    .argument('[ids...]', 'job ids (default: all active jobs)')
    .option('--until <conditions>', 'needs_input, done, idle; several with commas (default: needs_input,done)')
    .option('--timeout <time>', 'give up after, such as 45s or 30m (default: never)');
  define(wait, {
    does: 'Wait until a job asks something or is over; without --until the exit code says which',
    example: 'reef wait @last --timeout 10m',
    load: async () => (await import('../commands/wait.ts')).wait,
  });
  define(program.command('interrupt').argument('<id>', 'job id, a unique prefix of it, or @last'), {
    does: 'End the turn of an agent, keeping the job and its session',
    example: 'reef interrupt @last',
    load: async () => (await import('../commands/jobs.ts')).interrupt,
  });
  const resume = program
    .command('resume')
    .argument('<id>', 'job id, a unique prefix of it, or @last')
    .argument('[text]', 'what to say first; - reads it from standard input');
  define(resume, {
    does: "Continue a paused, completed, failed or stale job in the agent's own session",
    example: 'reef resume @last "shorter, please"',
    load: async () => (await import('../commands/jobs.ts')).resume,
  });
  const kill = program
    .command('kill')
    .argument('[ids...]', 'job ids, unique prefixes of them, or @last')
    .option('--all', 'all active jobs');
  define(kill, {
    does: 'End jobs and everything they started',
    example: 'reef kill @last',
    load: async () => (await import('../commands/jobs.ts')).kill,
  });
}
