import type { OperationInput } from '../../../protocol/operations.ts';
import {
  acceptance,
  conflictReport,
  gateResults,
  keptWork,
  pruneReport,
  worktreeDiff,
  worktreeTable,
} from '../../render/worktree.ts';
import { type Command, operationCommand } from '../cli.ts';
import { folder } from './spawn.ts';

export const listWorktrees: Command<{ all?: true }> = async (cli, _args, { all }) => {
  const result = await cli.client().call('worktrees', { all: all ?? false });
  if (!cli.json && result.worktrees.length === 0)
    cli.talk('No worktrees. `reef run` and `reef spawn --worktree` make them.');
  else cli.print(result, () => worktreeTable(result.worktrees, cli.style));
  return 0;
};

export const createWorktree = operationCommand(
  'worktree_create',
  ([title = ''], options: Omit<OperationInput<'worktree_create'>, 'title'>, cli) => ({
    title,
    ...folder(cli),
    ...options,
  }),
  ({ id, status, path }) => `${id}  ${status}${path === null ? '' : `  ${path}`}`,
);

export const setupWorktree: Command<object> = async (cli, [id = '']) => {
  const view = await cli.client().call('worktree_setup', { id });
  cli.print(
    view,
    () => `${view.id}  set-up: ${view.setup.state}${view.setup.message ? `\n${view.setup.message}` : ''}`,
  );
  return view.setup.state === 'failed' ? 1 : 0;
};

export const judgeWorktree: Command<object> = async (cli, [id = '']) => {
  const judged = await cli.client().call('worktree_gates', { id });
  cli.print(judged, () => gateResults(judged, cli.style));
  return judged.gates.some(({ result }) => result === 'failed') ? 1 : 0;
};

const byId = ([id = '']: string[]) => ({ id });

export const diffWorktree = operationCommand('diff', byId, worktreeDiff);
export const discardWorktree = operationCommand('worktree_discard', byId, keptWork);
export const holdWorktree = operationCommand('worktree_hold', byId, keptWork);
export const restoreWorktree = operationCommand(
  'worktree_restore',
  ([ref = '']) => ({ ref }),
  ({ id, status, path }) => `${id}  ${status}  ${path ?? ''}`,
);
export const acceptWorktree = operationCommand(
  'accept',
  ([id = ''], options: Omit<OperationInput<'accept'>, 'id'>) => ({ id, ...options }),
  acceptance,
);

export const pruneWorktrees: Command<{ yes?: true }> = async (cli, _args, { yes }) => {
  const report = await cli.client().call('worktree_prune', { yes: yes ?? false });
  cli.print(report, () => pruneReport(report, cli.style));
  if (!cli.json && !yes && report.entries.some(({ outcome }) => outcome === 'would_remove')) {
    cli.talk('Nothing was removed. To remove it: reef worktree prune --yes');
  }
  return 0;
};

export const conflicts = operationCommand(
  'conflicts',
  (_args, { plan }: { plan?: string[] }) => ({ plan }),
  conflictReport,
);
