import type { ErrorCode } from '../protocol/error-table.ts';
import type { Budget, Usage } from '../protocol/jobs.ts';
import type { Json } from './adapter.ts';
import type { Links } from './guarded-links.ts';

/** Why Reef itself ends a process. `fails` makes the job an error with that code. */
export interface Ending {
  why: 'kill' | 'linger' | 'idle' | 'limit' | 'failure';
  fails?: { code: ErrorCode; message: string };
}

type TurnState =
  | { is: 'none' }
  | { is: 'open' }
  | { is: 'over'; outcome: 'done' | 'interrupted' | 'ended' }
  | { is: 'failed'; code: ErrorCode; message: string; retryable: boolean };

/** Text that arrives in pieces and is not an event yet. */
interface PendingText {
  kind: 'text' | 'thinking';
  id: string;
  text: string;
  parent?: string;
}

/** How many lines of a kind were let through in the current minute, and how many were only counted. */
export interface Noise {
  minute: number;
  shown: number;
  hidden: number;
}

export type Tokens = Omit<Usage, 'costUsd' | 'partial'>;
export type SessionTotals = Tokens & { costUsd: number };

export interface BudgetUse {
  what: keyof Budget;
  used: number;
  limit: number;
}

/**
 * What the manager knows of a job beyond what it shows. It is stored with its events in one transaction, so that a daemon
 * killed at any instruction goes on from here.
 */
export interface JobRuntime {
  /** The launch intent is recorded before the process is started. */
  isLaunching: boolean;
  hasProcess: boolean;
  /** It runs in a sandbox of Reef's, and its network is behind the proxy. */
  isWalled?: boolean;
  /** Of the guarded names in its folder those that are links, as they were before anything ran there in a sandbox. */
  links?: Links;
  /** First byte of each raw file that has not been read yet. */
  read: { out: number; err: number };
  adapter: Json;
  /** A first protocol line, and the agent's own hello, were seen in this launch. */
  wasHeard: boolean;
  wasGreeted: boolean;
  /** Ids of open questions, as the fold of the events has them. */
  open: string[];
  turn: TurnState;
  turnStartedAt: string | null;
  /** The error that this turn told last: agents say it once on the way, once at the end of the turn, and die of it. */
  toldError?: { code: string; message: string };
  /** The last message so far, and its id while it may go on. */
  lastText: string;
  lastTextId: string | null;
  openTools: string[];
  pendingText: PendingText | null;
  sessionTotals: SessionTotals;
  /** Tokens that count already and that no sum of the agent contains yet. */
  ahead: Tokens | null;
  warnings: Noise;
  badLines: Noise;
  ending: Ending | null;
  /** Budgets already announced at 80 % or asked about at 100 %. */
  announced: string[];
  /** A budget that is used up, until a person decides. */
  spent: BudgetUse | null;
  stderrTail: string;
}

const noTotals: SessionTotals = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0, costUsd: 0 };
const noNoise: Noise = { minute: 0, shown: 0, hidden: 0 };

/** Before a launch. What belongs to the session, not to the process, is carried over. */
export function freshRuntime(previous?: JobRuntime): JobRuntime {
  return {
    isLaunching: false,
    hasProcess: false,
    read: { out: 0, err: 0 },
    adapter: null,
    wasHeard: false,
    wasGreeted: false,
    open: [],
    turn: { is: 'none' },
    turnStartedAt: null,
    lastText: previous?.lastText ?? '',
    lastTextId: null,
    openTools: [],
    pendingText: null,
    sessionTotals: previous?.sessionTotals ?? noTotals,
    ahead: null,
    warnings: noNoise,
    badLines: noNoise,
    ending: null,
    announced: previous?.announced ?? [],
    spent: null,
    stderrTail: '',
  };
}
