import { runForeground } from '../../../process/foreground.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { OperationInput } from '../../../protocol/operations.ts';
import { openedPullRequest, pushReport } from '../../render/pull-request.ts';
import { type Command, operationCommand } from '../cli.ts';

/** What takes work of a worktree elsewhere, or a person into it. */

const withId = <Options>([id = '']: string[], options: Options) => ({ id, ...options });

export const pushWorktree = operationCommand(
  'worktree_push',
  withId<Omit<OperationInput<'worktree_push'>, 'id'>>,
  pushReport,
);

export const openPullRequest = operationCommand(
  'worktree_pr',
  withId<Omit<OperationInput<'worktree_pr'>, 'id'>>,
  openedPullRequest,
);

/** At the person's own terminal. Ends as the shell ends. */
export const openShell: Command<object> = async (cli, [id = '', line]) => {
  if (cli.env.isInJob) throw new ReefError('person_needed', 'A shell is for a person. You have the worktree already.');
  const client = cli.client();
  const shell = await client.call('worktree_shell', { id });
  if (cli.json) {
    cli.print(shell, () => '');
    return 0;
  }
  if (cli.isInteractive && line === undefined)
    cli.talk(`A shell in ${shell.path}${shell.isSandboxed ? ', in its sandbox' : ''}. \`exit\` ends it.`);
  const [file = '/bin/sh', ...args] = [...shell.command, ...(line === undefined ? [] : ['-c', line])];
  const { TERM, LANG } = cli.env.all;
  const around = shell.isSandboxed ? { ...(TERM && { TERM }), ...(LANG && { LANG }) } : cli.env.all;
  return runForeground({ file, args, cwd: shell.path, env: { ...around, ...shell.env, ...(TERM && { TERM }) } });
};
