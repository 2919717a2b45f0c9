import type { Command } from 'commander';
import type { Define } from './define.ts';

export function homeCommands(program: Command, define: Define): void {
  const doctor = program
    .command('doctor')
    .option('--fix', 'apply the fixes that are safe')
    .option('--deep', 'read all of the database and of git too');
  define(doctor, {
    does: 'Check this machine, this repository and its home; reads only, but for --fix',
    example: 'reef doctor --fix',
    load: async () => (await import('../commands/doctor.ts')).doctor,
  });
  initCommand(program, define);
  define(program.command('trust').option('--yes', 'trust everything that is shown'), {
    does: 'Show what this repository would have Reef run, and trust it',
    example: 'reef trust',
    load: async () => (await import('../commands/trust.ts')).trust,
  });
  define(program.command('grants').option('--revoke <fingerprint>', 'take back those that begin like that'), {
    does: 'List what you have allowed for good',
    example: 'reef grants --revoke 3f9a',
    load: async () => (await import('../commands/trust.ts')).grants,
  });
  const daemon = program.command('daemon').description('The background program that owns the jobs');
  define(daemon.command('status'), {
    does: 'Show whether it runs; never starts it',
    example: 'reef daemon status --json',
    load: async () => (await import('../commands/daemon.ts')).daemonStatus,
  });
  define(daemon.command('stop').option('--kill-jobs', 'end the jobs too; else they run on'), {
    does: 'End it',
    example: 'reef daemon stop',
    load: async () => (await import('../commands/daemon.ts')).daemonStop,
  });
  define(program.command('mcp').option('--cwd <dir>', 'the repository to serve (default: this folder)'), {
    does: 'Serve these operations as MCP tools on standard input and output',
    example: 'claude mcp add reef -- reef mcp',
    load: async () => (await import('../commands/mcp.ts')).mcp,
  });
  define(program.command('demo'), {
    does: 'Show what Reef does on a throw-away repository',
    example: 'reef demo',
    load: async () => (await import('../demo/demo.ts')).demo,
  });
}

function initCommand(program: Command, define: Define): void {
  const init = program
    .command('init')
    .option('--test <command>', 'what tests the project, in place of what is found')
    .option('--lint <command>', 'what lints it')
    .option('--build <command>', 'what builds it')
    .option('--setup <command>', 'what makes a new worktree ready')
    .option('--dry-run', 'show, and write nothing')
    .option('--force', 'replace a file that says something else; the old one is put aside')
    .option('--yes', 'trust what it shows without asking');
  define(init, {
    does: 'Look at this repository, write down what Reef runs in it, and say what a first run needs',
    example: 'reef init --dry-run',
    load: async () => (await import('../commands/init.ts')).init,
  });
}
