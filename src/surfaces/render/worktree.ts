import { printable, withoutColours } from '../../base/printable.ts';
import type { OperationOutput } from '../../protocol/operations.ts';
import { stopsMerge } from '../../protocol/stops-merge.ts';
import type { GateVerdict } from '../../protocol/workflow.ts';
import type { Clash, WorktreeView } from '../../protocol/worktrees.ts';
import { type Cell, heading, oneLine, table } from './columns.ts';
import { pullRequestWords } from './pull-request.ts';
import { duration } from './quantities.ts';
import { shortIds } from './short-names.ts';
import type { Colour, Style } from './style.ts';

const TIER_COLOURS: Record<Clash['tier'], Colour> = { hot: 'red', soft: 'yellow', hop: 'cyan', unknown: 'dim' };
const TITLE_WIDTH = 32;
const HEALTH_COLOURS = { GREEN: 'green', AMBER: 'yellow', RED: 'red' } as const;

export function worktreeTable(worktrees: readonly WorktreeView[], style: Style): string {
  if (worktrees.length === 0) return 'No worktrees.';
  const short = shortIds(worktrees.map(({ id }) => id));
  const titles = heading(['WORKTREE', 'STATUS', 'HEALTH', 'AGE', 'OVERLAP', 'TITLE', 'BRANCH'], style);
  const rows = worktrees.map((each): Cell[] => [
    { text: short(each.id) },
    { text: statusWords(each, short) },
    {
      text: each.health ?? '',
      paint: (plain) => (each.health ? style.paint(HEALTH_COLOURS[each.health], plain) : plain),
    },
    { text: duration(style.now.getTime() - Date.parse(each.createdAt)) },
    { text: each.overlap.map(({ tier, worktreeId }) => `${tier} ${short(worktreeId)}`).join(', ') },
    { text: oneLine(each.title, TITLE_WIDTH) },
    { text: each.branch },
  ]);
  return table([titles, ...rows], style.width);
}

function statusWords(view: WorktreeView, short: (id: string) => string): string {
  const { queue, pending, failure, pr, atWork } = view;
  const status = view.status === 'running' && !atWork ? 'idle' : view.status;
  if (pr) return `${status} (${pullRequestWords(pr)})`;
  if (failure) return `${status} (${failure.code})`;
  if (pending) return `${status} (waits for ${pending.target})`;
  if (!queue) return status;
  const others = queue.waitsFor.map(({ worktreeId }) => short(worktreeId));
  return others.length > 0 ? `${status} (after ${others.join(', ')})` : `${status} (place ${queue.place})`;
}

export function conflictReport({ report, worktrees }: OperationOutput<'conflicts'>, style: Style): string {
  const lines = worktrees.flatMap(({ id, clashes }) => clashes.map((clash) => `${id}  ${clashLine(clash, style)}`));
  const own = report.clashes.map((clash) => `plan  ${clashLine(clash, style)}`);
  const unsure = report.complete
    ? []
    : [`not complete: ${printable((report.problems ?? ['no code index']).join('; '))}`];
  return [report.status, ...own, ...lines, ...unsure].join('\n');
}

function clashLine({ worktreeId, tier, files }: Clash, { paint }: Style): string {
  const names = files.map(({ path, lines }) =>
    lines
      ? `${printable(path)}:${lines.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(',')}`
      : printable(path),
  );
  return `${paint(TIER_COLOURS[tier], tier)} with ${printable(worktreeId)}: ${names.join(', ')}`;
}

export function worktreeDiff({ files, patch, truncated, drift }: OperationOutput<'diff'>, { paint }: Style): string {
  if (files.length === 0) return 'No changes.';
  const paintLine = (line: string) => {
    if (line.startsWith('+') && !line.startsWith('+++')) return paint('green', line);
    return line.startsWith('-') && !line.startsWith('---') ? paint('red', line) : line;
  };
  return [
    ...files.map(({ status, path, from }) => `${status} ${from ? `${printable(from)} → ` : ''}${printable(path)}`),
    ...drift.unplanned.map((path) => paint('yellow', `not planned: ${printable(path)}`)),
    '',
    ...printable(patch).trimEnd().split('\n').map(paintLine),
    ...(truncated ? ['… the patch is cut here; `git diff` in the worktree shows all of it'] : []),
  ].join('\n');
}

export function acceptance({ status, commit, waiting, noted }: OperationOutput<'accept'>, { paint }: Style): string {
  const head =
    status === 'merged'
      ? `${paint('green', 'merged')} as ${commit.slice(0, 12)}`
      : `${paint('yellow', 'pending')}: ${waiting?.checkout} has uncommitted changes (${waiting?.files.map(printable).join(', ')}) and was not touched`;
  return [head, ...(waiting ? [`  ${waiting.command}`] : []), ...noted.map((note) => `  ${printable(note)}`)].join(
    '\n',
  );
}

/** What goes with the result of a gate. */
export function aside({
  reused,
  blocks,
  compared,
}: Partial<Pick<GateVerdict, 'reused' | 'blocks' | 'compared'>>): string {
  const old = compared && `already failing before the change: ${names(compared.already)}`;
  const fresh = compared && compared.fresh.length > 0 ? [`new: ${names(compared.fresh)}`] : [];
  const notes = [
    ...(reused ? ['before, on the same files'] : []),
    ...(blocks === false ? ['does not block'] : []),
    ...fresh,
    ...(old === undefined ? [] : [old]),
  ];
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
}

function names(all: readonly string[]): string {
  const rest = all.length > 3 ? ` and ${all.length - 3} more` : '';
  return `${printable(all.slice(0, 3).join(', '))}${rest}`;
}

const RESULT_COLOURS = { passed: 'green', failed: 'red', waived: 'yellow', not_configured: 'dim' } as const;

export function gateResults({ id, gates }: OperationOutput<'worktree_gates'>, { paint }: Style): string {
  const lines = gates.flatMap(({ gate, result, log, ...rest }) => [
    `${gate}  ${paint(RESULT_COLOURS[result], result.replace('_', ' '))}${aside(rest)}`,
    ...(log === undefined ? [] : printable(withoutColours(log)).split('\n')).map((line) => `  ${line}`),
  ]);
  const isNone = gates.every(({ result }) => result === 'not_configured');
  const next = isNone ? ['Nothing judged it: name the gates with `reef init`.'] : [];
  const isGood = !isNone && !gates.some(stopsMerge);
  return [...lines, ...next, ...(isGood ? [`To merge it: reef accept ${id}`] : [])].join('\n');
}

export function updateReport(updated: OperationOutput<'worktree_update'>, style: Style): string {
  const { id, status, target, files, gates, runId } = updated;
  const accept = `reef accept ${id}`;
  if (status === 'current') return `It has everything of ${target} already. To merge it: ${accept}`;
  if (status === 'updated') {
    const judged = gates ? [gateResults({ id, tree: '', gates }, style)] : [`To merge it: ${accept}`];
    return [`${target} was brought in.`, ...judged].join('\n');
  }
  const named = `${target} was brought in. Both sides changed: ${files.map(printable).join(', ')}`;
  if (runId !== undefined) return `${named}\nAn agent resolves it, as run ${runId}.`;
  return [
    named,
    'These files are marked (<<<<<<<). Edit them until no mark is left, then merge:',
    `  ${accept}`,
    'Or let an agent do it:',
    `  reef worktree update ${id} --agent claude`,
    'To take the update back, in the folder of the worktree: git reset --hard HEAD^1',
  ].join('\n');
}

export function keptWork({ ref, command, ignored }: OperationOutput<'worktree_discard'>): string {
  const lost = ignored.length > 0 ? [`not kept, because git ignores them: ${ignored.map(printable).join(', ')}`] : [];
  return [`kept on ${ref}`, `  ${command}`, ...lost].join('\n');
}

export function pruneReport({ entries }: OperationOutput<'worktree_prune'>, style: Style): string {
  if (entries.length === 0) return 'Nothing to remove.';
  const rows = entries.map(({ outcome, bytes, ageSeconds, target, reason, refusal }): Cell[] => [
    { text: outcome.replace('_', ' ') },
    { text: `${(bytes / 1024 / 1024).toFixed(1)} MiB` },
    { text: duration(ageSeconds * 1_000) },
    { text: `${target}  ${refusal ? refusal.why : reason}` },
  ]);
  return table(rows, style.width);
}
