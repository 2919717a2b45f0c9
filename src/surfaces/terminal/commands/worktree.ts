import type { OperationInput } from '../../../protocol/operations.ts';
import {
  acceptance,
  conflictReport,
  keptWork,
  pruneReport,
  worktreeDiff,
  worktreeTable,
} from '../../render/worktree.ts';
import type { Command } from '../cli.ts';

export const listWorktrees: Command<{ all?: true }> = async (cli, _args, { all }) => {
  const result = await cli.client().call('worktrees', { all: all ?? false });
  if (!cli.json && result.worktrees.length === 0)
    cli.talk('No worktrees. `reef run` and `reef spawn --worktree` make them.');
  else cli.print(result, () => worktreeTable(result.worktrees, cli.style));
  return 0;
};

export const createWorktree: Command<Omit<OperationInput<'worktree_create'>, 'title'>> = async (
  cli,
  [title = ''],
  options,
) => {
  const made = await cli.client().call('worktree_create', { title, ...options });
  cli.print(made, () => `${made.id}  ${made.status}${made.path === null ? '' : `  ${made.path}`}`);
  return 0;
};

export const setupWorktree: Command<object> = async (cli, [id = '']) => {
  const view = await cli.client().call('worktree_setup', { id });
  cli.print(
    view,
    () => `${view.id}  set-up: ${view.setup.state}${view.setup.message ? `\n${view.setup.message}` : ''}`,
  );
  return view.setup.state === 'failed' ? 1 : 0;
};

export const diffWorktree: Command<object> = async (cli, [id = '']) => {
  const diff = await cli.client().call('diff', { id });
  cli.print(diff, () => worktreeDiff(diff, cli.style));
  return 0;
};

export const acceptWorktree: Command<Omit<OperationInput<'accept'>, 'id'>> = async (cli, [id = ''], options) => {
  const accepted = await cli.client().call('accept', { id, ...options });
  cli.print(accepted, () => acceptance(accepted, cli.style));
  return 0;
};

export const discardWorktree: Command<object> = async (cli, [id = '']) => {
  const kept = await cli.client().call('worktree_discard', { id });
  cli.print(kept, () => keptWork(kept));
  return 0;
};

export const restoreWorktree: Command<object> = async (cli, [ref = '']) => {
  const back = await cli.client().call('worktree_restore', { ref });
  cli.print(back, () => `${back.id}  ${back.status}  ${back.path ?? ''}`);
  return 0;
};

export const holdWorktree: Command<object> = async (cli, [id = '']) => {
  const kept = await cli.client().call('worktree_hold', { id });
  cli.print(kept, () => keptWork(kept));
  return 0;
};

export const pruneWorktrees: Command<{ yes?: true }> = async (cli, _args, { yes }) => {
  const report = await cli.client().call('worktree_prune', { yes: yes ?? false });
  cli.print(report, () => pruneReport(report, cli.style));
  if (!cli.json && !yes && report.entries.some(({ outcome }) => outcome === 'would_remove')) {
    cli.talk('Nothing was removed. To remove it: reef worktree prune --yes');
  }
  return 0;
};

export const conflicts: Command<{ plan?: string[] }> = async (cli, _args, { plan = [] }) => {
  const found = await cli.client().call('conflicts', { plan });
  cli.print(found, () => conflictReport(found, cli.style));
  return 0;
};
