import type { OperationInput } from '../../../protocol/operations.ts';
import { stopsMerge } from '../../../protocol/stops-merge.ts';
import { errorBody } from '../../client/request.ts';
import {
  acceptance,
  conflictReport,
  gateResults,
  keptWork,
  pruneReport,
  updateReport,
  worktreeDiff,
  worktreeTable,
} from '../../render/worktree.ts';
import { type Command, operationCommand } from '../cli.ts';
import { agrees, askLine } from '../prompt/line-person.ts';
import { follow } from './follow.ts';
import { absoluteScript, folder } from './spawn.ts';

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
  return judged.gates.some(stopsMerge) ? 1 : 0;
};

export const updateWorktree: Command<{ agent?: string; into?: string }> = async (cli, [id = ''], options) => {
  const client = cli.client();
  const { agent } = options;
  const updated = await client.call('worktree_update', {
    id,
    ...options,
    ...(agent !== undefined && { agent: absoluteScript(agent, cli.cwd) }),
  });
  cli.print(updated, () => updateReport(updated, cli.style));
  if (updated.runId !== undefined) return follow(cli, client, updated.runId);
  const isBad = updated.status === 'conflict' || updated.gates?.some(({ result }) => result === 'failed');
  return isBad ? 1 : 0;
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
type AcceptWishes = Omit<OperationInput<'accept'>, 'id'>;

/** At a terminal, what needs consent is asked right there, and a conflict is offered to an agent. */
export const acceptWorktree: Command<AcceptWishes> = async (cli, args, options) => {
  const [id = ''] = args;
  try {
    const accepted = await cli.client().call('accept', { id, ...options });
    cli.print(accepted, () => acceptance(accepted, cli.style));
    return 0;
  } catch (error) {
    const { code, message } = errorBody(error).error;
    const offer = code === 'merge_conflict' ? offerAgent : code === 'accept_needs_consent' ? askConsent : undefined;
    if (offer === undefined || cli.json || !cli.isInteractive) throw error;
    cli.talk(message);
    return offer(cli, args, options);
  }
};

const askConsent: Command<AcceptWishes> = async (cli, args, options) =>
  (await agrees(cli, 'Merge it all the same?')) ? acceptWorktree(cli, args, { ...options, yes: true }) : 1;

const offerAgent: Command<AcceptWishes> = async (cli, args, options) => {
  const { into } = options;
  const agent = (
    await askLine(cli, 'Which agent shall resolve it (such as claude)? Enter leaves it as it is: ')
  )?.trim();
  if (!agent) return 1;
  const resolved = await updateWorktree(cli, args, { agent, ...(into !== undefined && { into }) });
  return resolved === 0 ? acceptWorktree(cli, args, options) : resolved;
};

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
