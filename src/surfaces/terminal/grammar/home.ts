import type { Command } from 'commander';
import { definer, type Run } from './define.ts';

export function declare(program: Command, run: Run): void {
  const doctor = program
    .command('doctor')
    .description('Check this machine, this repository and its .reef folder; changes nothing without --fix')
    .option('--fix', 'apply the fixes that are marked safe')
    .option('--deep', 'also check the whole database and every git object; slow')
    .option('--sizes', 'also show what each part of the home takes, and what limits it');
  definer(run, () => import('../commands/doctor.ts'))(doctor, 'doctor', 'reef doctor --fix');
  const prune = program
    .command('prune')
    .description(
      'Remove tasks that ended long ago, and above the size of the home the oldest; the daemon does it every hour',
    )
    .option('--dry-run', 'show what would go and why, and remove nothing');
  definer(run, () => import('../commands/records.ts'))(prune, 'prune', 'reef prune --dry-run');

  const init = program
    .command('init')
    .description('Find out how this project is tested, write it to .reef/config.yaml, and list what a first run needs')
    .option('--test <command>', 'command that tests the project (default: what Reef finds)')
    .option('--lint <command>', 'command that lints it')
    .option('--build <command>', 'command that builds it')
    .option('--setup <command>', 'command that prepares a new worktree, such as "npm ci"')
    .option('--dry-run', 'show what would be written, and write nothing')
    .option('--force', 'replace a file that says something else; the old one is kept beside it')
    .option('--yes', 'trust what is shown, without asking')
    .option('--check', 'run each gate once on what is committed, to know what fails already (default: at a terminal)')
    .option('--no-check', 'do not');
  definer(run, () => import('../commands/init.ts'))(init, 'init', 'reef init --dry-run');

  const define = definer(run, () => import('../commands/trust.ts'));
  const trust = program
    .command('trust')
    .description('Show what this repository wants Reef to run, and ask whether you trust it')
    .option('--yes', 'trust everything that is shown, without asking');
  define(trust, 'trust');
  const grants = program
    .command('grants')
    .description('List what you have allowed with --always')
    .option('--revoke <fingerprint>', 'revoke the grants whose fingerprint begins with this');
  define(grants, 'grants', 'reef grants --revoke 3f9a');

  daemonCommands(program, run);
  const mcp = program
    .command('mcp')
    .description('Serve Reef as an MCP server on standard input and output')
    .option('--cwd <dir>', 'repository to serve (default: the one around this folder)');
  definer(run, () => import('../commands/mcp.ts'))(mcp, 'mcp', 'claude mcp add reef -- reef mcp');
  const acp = program
    .command('acp')
    .description(
      'Serve Reef as an agent to an editor that speaks the Agent Client Protocol, on standard input and output',
    )
    .option('--agent <agent>', 'who works on the prompts (default: native:coder)')
    .option('--workflow [node]', 'do each task by a workflow, with the gates of the project');
  definer(run, () => import('../commands/acp.ts'))(acp, 'acp', 'reef acp --agent claude');
  const install = mcp
    .command('install')
    .description("Add Reef to a client's own configuration; shows the change and asks first")
    .argument('<client>', 'claude, codex, gemini, opencode, cursor, vscode or zed')
    .option('--remove', 'take it out again')
    .option('--yes', 'do not ask');
  definer(run, () => import('../commands/mcp-install.ts'))(install, 'installMcp', 'reef mcp install claude');
  const approving = definer(run, () => import('../commands/mcp-approve.ts'));
  const listed = mcp.command('list').description('List your own MCP servers, and what of them is suspended');
  approving(listed, 'listMcp', 'reef mcp list');
  const approve = mcp
    .command('approve')
    .description('Show what changed of your own MCP servers and their tools, and ask whether you approve it')
    .argument('[server]', 'its name in mcp.json (default: all)')
    .option('--yes', 'approve what is shown, without asking');
  approving(approve, 'approveMcp', 'reef mcp approve github');
  const host = program
    .command('host', { hidden: true })
    .description('Say where the daemon listens: asked over ssh by --on');
  definer(run, () => import('../commands/host.ts'))(host, 'host');
  const demo = program.command('demo').description('Show in half a minute what Reef does, in a temporary repository');
  demo.option('--agent <name>', 'let an agent of yours do the work, such as claude or codex, with its own log-in');
  definer(run, () => import('../demo/demo.ts'))(demo, 'demo', 'reef demo --agent claude');
}

function daemonCommands(program: Command, run: Run): void {
  const daemon = program.command('daemon').description('Show or stop the background program that runs the jobs');
  const define = definer(run, () => import('../commands/daemon.ts'));
  define(daemon.command('status').description('Show whether the daemon runs; never starts it'), 'daemonStatus');
  const stop = daemon
    .command('stop')
    .description('Stop the daemon; the next command starts it again')
    .option('--kill-jobs', 'end the jobs too (default: they keep running)');
  define(stop, 'daemonStop');
}
