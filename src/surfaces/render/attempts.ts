import { printable } from '../../base/printable.ts';
import type { OperationOutput } from '../../protocol/operations.ts';
import type { Attempt } from '../../protocol/run-operations.ts';
import { heading, table } from './columns.ts';
import { duration } from './quantities.ts';
import { shortIds } from './short-names.ts';
import type { Style } from './style.ts';

/** The attempts at one task side by side, the best first, and what to type. */
export function attemptTable({ attempts }: OperationOutput<'run_compare'>, style: Style): string {
  const short = shortIds(attempts.map(({ runId }) => runId));
  const rows = attempts.map((attempt) =>
    [
      short(attempt.runId),
      attempt.agent,
      attempt.merge === 'merged' ? 'merged' : attempt.status,
      gateWords(attempt),
      diffWords(attempt),
      attempt.tokens.toLocaleString('en'),
      attempt.costUsd === null ? '-' : `$${attempt.costUsd.toFixed(2)}`,
      attempt.seconds === undefined ? '' : duration(attempt.seconds * 1_000),
    ].map((text) => ({ text })),
  );
  const head = heading(['RUN', 'AGENT', 'STATUS', 'GATES', 'CHANGE', 'TOKENS', 'COST', 'TIME'], style);
  const said = attempts.flatMap(({ runId, review }) =>
    review ? [`${review.rank}. ${short(runId)}  ${printable(review.remark)}`] : [],
  );
  const remarks = said.length > 0 ? ['', 'A reviewer says:', ...said] : [];
  return [table([head, ...rows], style.width), ...remarks, ...whatNext(attempts, short)].join('\n');
}

function whatNext(attempts: readonly Attempt[], short: (id: string) => string): string[] {
  const open = attempts.find(({ merge, diff }) => merge !== 'merged' && diff !== null);
  if (!open) return [];
  const id = short(open.runId);
  const lines = [
    ['reef diff', 'see what it did'],
    ['reef accept', 'merge it; the others are dropped, and their work is kept on git refs'],
  ];
  return ['', ...lines.map(([command, to]) => `  ${`${command} ${id}`.padEnd(`reef accept ${id}`.length)}  ${to}`)];
}

function gateWords({ gates }: Attempt): string {
  const judged = gates.filter(({ result }) => result === 'passed' || result === 'failed');
  const failed = judged.filter(({ result }) => result === 'failed').map(({ gate }) => gate);
  if (judged.length === 0) return '-';
  return failed.length > 0 ? `${failed.join(', ')} failed` : `${judged.map(({ gate }) => gate).join(', ')} passed`;
}

function diffWords({ diff }: Attempt): string {
  if (!diff) return '-';
  return `${diff.files} ${diff.files === 1 ? 'file' : 'files'} +${diff.added} -${diff.removed}`;
}
