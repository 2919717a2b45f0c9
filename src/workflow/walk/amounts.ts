import type { Amounts, RunBudget } from '../../protocol/workflow.ts';

export const NOTHING: Amounts = { tokens: 0, turns: 0, seconds: 0, usd: 0 };

/** An unknown cost makes the sum unknown, never 0. */
function addAmounts(a: Amounts, b: Amounts): Amounts {
  return {
    tokens: a.tokens + b.tokens,
    turns: a.turns + b.turns,
    seconds: a.seconds + b.seconds,
    usd: a.usd === null || b.usd === null ? null : a.usd + b.usd,
  };
}

/** The key without its part: a visit that went on after a rate limit is one visit of one job. */
function accountOf(visitKey: string): string {
  const at = visitKey.lastIndexOf('~');
  return at < 0 ? visitKey : visitKey.slice(0, at);
}

/** A visit whose host was lost is paid for beside the one that repeats it. */
export function accountIn({ key }: { key: string }, { kind }: { kind: string }): string {
  return kind === 'lost' ? `${key.replaceAll('~', '.')} lost` : accountOf(key);
}

export function sumAmounts(amounts: Iterable<Amounts>): Amounts {
  let sum = NOTHING;
  for (const each of amounts) sum = addAmounts(sum, each);
  return sum;
}

const KINDS = ['tokens', 'turns', 'seconds', 'usd'] as const;
const WARNING = 0.8;

/** What each run has spent in all its branches. A replay fills it again. */
export class Ledger {
  readonly #runs = new Map<string, Map<string, Amounts>>();

  /** Counts each visit once. */
  enter(runId: string, visitKey: string, spent: Amounts): void {
    const visits = this.#runs.get(runId) ?? new Map<string, Amounts>();
    visits.set(accountOf(visitKey), spent);
    this.#runs.set(runId, visits);
  }

  /** Counts known costs only: a limit in dollars counts what agents report. */
  spent(runId: string, except = ''): Amounts {
    let sum = NOTHING;
    for (const [key, amounts] of this.#runs.get(runId) ?? []) {
      if (key !== accountOf(except)) sum = addAmounts(sum, { ...amounts, usd: amounts.usd ?? 0 });
    }
    return sum;
  }

  /** Replaces the visits of a joined branch by their sum. */
  close(runId: string, branch: string, spent: Amounts): void {
    for (const key of this.#runs.get(runId)?.keys() ?? []) {
      if (key.startsWith(`${branch}/`) || key.startsWith(`${branch}.`)) this.#runs.get(runId)?.delete(key);
    }
    this.enter(runId, branch, spent);
  }

  forget(runId: string): void {
    this.#runs.delete(runId);
  }
}

export function raised(budget: RunBudget, grants: number): RunBudget {
  const entries = Object.entries(budget).map(([kind, limit]) => [kind, (limit ?? 0) * (grants + 1)]);
  return Object.fromEntries(entries);
}

/** What one visit may use: its own budget, and at most what is left of the run's. */
export function allowance(own: RunBudget, run: { limit: RunBudget; spent: Amounts }): RunBudget {
  const allowed: RunBudget = { ...own };
  for (const kind of KINDS) {
    const limit = run.limit[kind];
    if (limit === undefined) continue;
    const left = Math.max(kind === 'usd' ? 0.000_001 : 1, limit - (run.spent[kind] ?? 0));
    allowed[kind] = Math.min(allowed[kind] ?? left, kind === 'usd' ? left : Math.ceil(left));
  }
  return allowed;
}

/** The limits that this visit brought past 80 %, and the one that is used up. */
export function verdict(limit: RunBudget, before: Amounts, visit: Amounts): { warned: string[]; exhausted?: string } {
  const after = addAmounts(before, { ...visit, usd: visit.usd ?? 0 });
  const share = (amounts: Amounts, kind: (typeof KINDS)[number]) => (amounts[kind] ?? 0) / (limit[kind] ?? Infinity);
  const warned = KINDS.filter((kind) => share(before, kind) < WARNING && share(after, kind) >= WARNING);
  const [exhausted] = KINDS.filter((kind) => share(after, kind) >= 1);
  return { warned, ...(exhausted && { exhausted }) };
}
