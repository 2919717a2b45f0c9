import type { RequirementId, requirementRows } from '../requirements.ts';
import type { Requirement, Tier } from './row.ts';

/** What the tests that cite an id came to in one run. */
export interface Evidence {
  passed: number;
  failed: number;
  missing: string[];
}
export interface LastRun {
  tier: Tier;
  full: boolean;
  evidence: Partial<Record<RequirementId, Evidence>>;
}

type Rows = typeof requirementRows;

/** Where the reporter leaves the last full run for `npm run requirements`. Ignored by git. */
export const LAST_RUN_FILE = new URL('../../coverage/requirements.json', import.meta.url);

export function isProved(run: LastRun, id: RequirementId): boolean {
  const evidence = run.evidence[id];
  return evidence !== undefined && evidence.passed > 0 && evidence.failed === 0;
}

function isDueIn(tier: Tier, row: Requirement): boolean {
  return row.status === 'done' && (row.tiers ?? ['test']).includes(tier);
}

/** A skip is no pass, unless the row's `needs` names what its reason says is missing. */
function isExcused(row: Requirement, evidence: Evidence | undefined): boolean {
  const needs = row.status === 'done' ? (row.needs ?? []) : [];
  const reasons = (evidence?.missing ?? []).map((reason) => reason.toLowerCase());
  return needs.some((need) => reasons.some((reason) => reason.includes(need.toLowerCase())));
}

/** Done ids of the run's tier without a passing test. `allowed` ones want something this machine lacks. */
export function unproved(rows: Rows, run: LastRun): { id: RequirementId; allowed: boolean }[] {
  return rows
    .filter(([id, row]) => isDueIn(run.tier, row) && !isProved(run, id))
    .map(([id, row]) => ({ id, allowed: isExcused(row, run.evidence[id]) }));
}

/** Ids whose tests all passed though their row says todo. */
export function provedTodo(rows: Rows, run: LastRun): RequirementId[] {
  return rows.filter(([id, row]) => row.status === 'todo' && isProved(run, id)).map(([id]) => id);
}

/** Done, todo and unproved per page as lines of text. Without a run nobody knows what is unproved. */
export function pageTable(rows: Rows, run: LastRun | undefined): string[] {
  const open = new Set(run && unproved(rows, run).map(({ id }) => id));
  const line = (name: string, ofPage: Rows) => {
    const done = ofPage.filter(([, row]) => row.status === 'done').length;
    const gaps = run ? ofPage.filter(([id]) => open.has(id)).length : '?';
    return [name, done, ofPage.length - done, gaps];
  };
  const pages = Map.groupBy(rows, ([, row]) => row.page);
  const lines = [...pages].map(([name, ofPage]) => line(name, ofPage));
  return [['requirements', 'done', 'todo', 'unproved'], ...lines, line('all', rows)].map(
    ([name, ...numbers]) => `${name}`.padEnd(14) + numbers.map((cell) => `${cell}`.padStart(9)).join(''),
  );
}
