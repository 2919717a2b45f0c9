import type { Command } from 'commander';
import type { Define } from './define.ts';

export function stateCommands(program: Command, define: Define): void {
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
