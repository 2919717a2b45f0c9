import type { Amounts, GateVerdict, Halt, HaltAnswer, Json } from '../../protocol/workflow.ts';
import type { Signal } from '../language/names.ts';
import type { StoredSegment } from '../memory/segment.ts';

export interface Place {
  block: string;
  visit: number;
}
export type Position = Place & { branch: string };

/** What to do next. The walk stands still until it is told the outcome. */
export type Command =
  | { do: 'visit'; order: VisitOrder }
  | { do: 'ask'; halt: Halt; until?: string }
  | { do: 'fork'; order: ForkOrder }
  | { do: 'end'; end: BranchEnd };

export interface VisitOrder {
  /** `<branch>/<block>#<visit>`, and `~<part>` after a rate limit or the loss of its host. */
  key: string;
  block: string;
  visit: number;
  part: number;
  /** Its number within the branch, from 1; names its checkpoint. */
  n: number;
  jobId?: string;
  /** How often a person raised the budget of the run and of this block. */
  grants: { run: number; block: number };
}

export interface ForkOrder {
  key: string;
  block: string;
  visit: number;
  join: 'all' | 'any';
  isolation: 'shared' | 'worktree';
  joinTo?: string;
  /** How often a person raised the budget of the run. */
  grants: number;
  /** How often its branches were joined before, and conflicted. */
  again?: number;
  branches: BranchStart[];
}

/** What a branch begins with. */
export interface BranchStart {
  branch: string;
  node: string;
  args: Record<string, Json>;
  payload: StoredSegment[];
  payloadFrom: number;
  visits: Record<string, number>;
  applied: string[];
  stepping: boolean;
  tree: string | null;
}

export interface BranchEnd {
  outcome: 'success' | 'failure' | 'aborted';
  signal: string | null;
  segments: StoredSegment[];
  visits: Record<string, number>;
  applied: string[];
  tree: string | null;
  /** Spent by its visits and its own branches. */
  spent: Amounts;
}

export interface GateFacts {
  command: string[];
  code: number | null;
  signal: string | null;
  timedOut: boolean;
}

/** The facts of a visit, whatever its result. */
interface VisitFacts {
  at: string;
  segments: StoredSegment[];
  tree?: string;
  checkpoint?: string;
  jobId?: string;
  gate?: GateFacts;
  verdicts?: GateVerdict[];
  /** Of gates, in seconds: the set-up of the checkout they ran in, and they themselves. */
  took?: { setUp: number; gate: number };
  /** Segments that are already in the files or the plan. */
  applied?: string[];
  filesWritten?: number;
  linesWritten?: number;
  spent?: Amounts;
  /** Budgets of the run that passed 80 % in this visit. */
  warned?: string[];
  /** A budget of the run that is used up. */
  exhausted?: string;
  /** The stepping mode as it was set when the visit ended. */
  stepping?: boolean;
}

/** Why a visit did not finish although nothing crashed; the reason of the halt. */
export type StopReason =
  | 'job_stale'
  | 'job_killed'
  | 'context_unavailable'
  | 'host_lost'
  | 'nothing_promoted'
  | 'remote_unavailable';

export type VisitOutcome = VisitFacts &
  (
    | { kind: 'done'; signal: Signal }
    | { kind: 'crashed'; message: string; stack: string }
    /** A budget ended it in the middle. */
    | { kind: 'interrupted'; what: string }
    | { kind: 'parked'; message: string; resumeAt?: string }
    /** Its agent worked on a host that has lost the run. */
    | { kind: 'lost'; message: string }
    | { kind: 'stopped'; reason: StopReason; message: string }
  );

/** A person's answer, as the journal keeps it. */
export type Answer = Pick<HaltAnswer, 'verb' | 'guidance' | 'signal' | 'step'> & { at: string; by?: string };

/** What a join recorded, so that every replay decides alike. */
export interface Joined {
  at: string;
  tree?: string | null;
  checkpoint?: string;
  /** The first branch that succeeded with `join: any`; else -1. */
  winner: number;
  conflict?: { branch: string; files: string[]; path?: string };
  /** Why no branch could begin. */
  failure?: string;
  /** A budget of the run that the branches used up. */
  exhausted?: string;
}

/** `ends` are in declared order; null: ended because another came first. */
export type JoinOutcome = Omit<Joined, 'winner'> & { ends: (BranchEnd | null)[] };
