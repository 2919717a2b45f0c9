import type { Signal } from '@preact/signals';
import type { OperationInput } from '../../../../src/protocol/operations.ts';
import { draft } from '../../store/drafts.ts';

/** What somebody is writing, as text: it becomes a request when it is started. */
export interface Order {
  task: string;
  /** A workflow with gates, or one agent and nobody to judge it. */
  how: 'run' | 'job';
  workflow: string;
  agent: string;
  plan: string;
  tokens: string;
  minutes: string;
  anyway: boolean;
  /** The same for each try to start it, so that one task begins. */
  key: string;
}

const EMPTY: Order = {
  ...{ task: '', how: 'run', workflow: '', agent: '', plan: '' },
  ...{ tokens: '', minutes: '', anyway: false, key: '' },
};

const stored: Signal<string> = draft('new');

export function order(): Order {
  try {
    return { ...EMPTY, ...(JSON.parse(stored.value) as Partial<Order>) };
  } catch {
    return EMPTY;
  }
}

export function write(change: Partial<Order>): void {
  stored.value = JSON.stringify({ ...order(), ...change, key: crypto.randomUUID() });
}

export function forget(): void {
  stored.value = '';
}

/** One file or pattern per line, or with commas between them. */
export function planOf({ plan }: Order): string[] {
  return [...new Set(plan.split(/[\n,]/).map((path) => path.trim()))].filter(Boolean);
}

/** Why it cannot be started; undefined when it can. */
export function lacks({ task, how, agent, tokens, minutes }: Order): string | undefined {
  if (task.trim() === '') return 'Say what should be done';
  if (how === 'job' && agent.trim() === '') return 'Name the agent';
  if (Number.isNaN(amount(tokens))) return 'The tokens are not a number';
  return Number.isNaN(amount(minutes)) ? 'The minutes are not a number' : undefined;
}

/** 200000, 200k, 1.5M; undefined when nothing is said, and NaN when it is no amount. */
function amount(text: string): number | undefined {
  const said = text.trim();
  if (said === '') return undefined;
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([km]?)$/i.exec(said) ?? [];
  const times = { '': 1, k: 1_000, m: 1_000_000 }[unit.toLowerCase()] ?? 1;
  const value = digits === undefined ? Number.NaN : Math.round(Number(digits) * times);
  return value > 0 ? value : Number.NaN;
}

function budgetOf({ tokens, minutes }: Order) {
  const [most, long] = [amount(tokens), amount(minutes)];
  return { ...(most !== undefined && { tokens: most }), ...(long !== undefined && { seconds: long * 60 }) };
}

export function asRun(from: Order): OperationInput<'run'> {
  const [workflow, agent] = [from.workflow.trim(), from.agent.trim()];
  return {
    ...common(from),
    ...(workflow !== '' && { workflow }),
    ...(agent !== '' && { agent }),
  };
}

/** In a worktree of its own, named after the task. */
export const asJob = (from: Order): OperationInput<'spawn'> => ({
  ...common(from),
  agent: from.agent.trim(),
  worktree: '',
});

const common = (from: Order) => ({
  task: from.task.trim(),
  plan: planOf(from),
  anyway: from.anyway,
  budget: budgetOf(from),
  key: from.key,
});
