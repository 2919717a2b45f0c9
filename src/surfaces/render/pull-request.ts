import { printable } from '../../base/printable.ts';
import type { OperationOutput } from '../../protocol/operations.ts';
import type { PullRequest } from '../../protocol/worktrees.ts';
import type { Colour, Style } from './style.ts';

type Pushed = Omit<OperationOutput<'worktree_push'>, 'address'>;

function pushLine({ remote, branch, commit, status, noted }: Pushed, { paint }: Style): string {
  const what = status === 'pushed' ? `${paint('green', 'pushed')} ${commit.slice(0, 12)}` : 'nothing new to push';
  return [`${what}: ${remote}/${printable(branch)}`, ...noted.map((note) => `  ${printable(note)}`)].join('\n');
}

export function pushReport({ address, ...pushed }: OperationOutput<'worktree_push'>, style: Style): string {
  const page = address === undefined ? [] : [`  on the page: ${printable(address)}`];
  return [pushLine(pushed, style), `To open a pull request: reef worktree pr ${pushed.id}`, ...page].join('\n');
}

export function openedPullRequest({ pr, address, missing, ...pushed }: OperationOutput<'worktree_pr'>, style: Style) {
  if (pr) return [pushLine(pushed, style), ...pullRequestLines(pr, style)].join('\n');
  const why = missing === undefined ? '' : `${missing} is not installed. `;
  const where =
    address === undefined
      ? 'Open the pull request on the page of the remote.'
      : `Open the pull request here:\n  ${printable(address)}`;
  return [pushLine(pushed, style), `${why}${where}`].join('\n');
}

const COLOURS = { passed: 'green', failed: 'red', pending: 'yellow' } as const satisfies Record<string, Colour>;

function pullRequestLines({ number, url, state, checks, review }: PullRequest, { paint }: Style): string[] {
  const said = review === undefined ? '' : `, ${review.replace('_', ' ')}`;
  const lines = checks.map(
    ({ name, result, url: at }) =>
      `  ${printable(name)}  ${paint(COLOURS[result], result)}${at && result === 'failed' ? `  ${printable(at)}` : ''}`,
  );
  return [`#${number} ${state}${said}  ${printable(url)}`, ...(lines.length > 0 ? lines : ['  no checks yet'])];
}

/** In a table of worktrees. */
export function pullRequestWords({ number, state, checks, review }: PullRequest): string {
  const count = (result: PullRequest['checks'][number]['result']) =>
    checks.filter((check) => check.result === result).length;
  const counts = (['failed', 'pending', 'passed'] as const).flatMap((result) =>
    count(result) > 0 ? [`${count(result)} ${result}`] : [],
  );
  return [`#${number} ${state}`, ...counts, ...(review ? [review.replace('_', ' ')] : [])].join(', ');
}
