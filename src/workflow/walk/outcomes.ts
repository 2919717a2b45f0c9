import type { Amounts, Halt, HaltVerb, Json } from '../../protocol/workflow.ts';
import type { Signal } from '../language/names.ts';
import type { StoredSegment } from '../memory/segment.ts';

export interface Place {
  block: string;
  visit: number;
}
export type Position = Place & { branch: string };

/** What the walk wants done next; it stands still until it is told how it went. */
export type Command =
  | { do: 'visit'; order: VisitOrder }
  | { do: 'ask'; halt: Halt; until?: string }
  | { do: 'fork'; order: ForkOrder }
  | { do: 'end'; end: BranchEnd };

export interface VisitOrder {
  /** `<branch>/<block>#<visit>`, and `~<part>` after a rate limit. */
  key: string;
  block: string;
  visit: number;
  part: number;
  /** Which visit of its branch it is, counted from 1: the number of its checkpoint. */
  n: number;
  /** The job to go on with. */
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
  branches: BranchStart[];
}

/** All a branch is born with. */
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
  /** Of its last worker. */
  signal: string | null;
  /** Those made in it. */
  segments: StoredSegment[];
  visits: Record<string, number>;
  applied: string[];
  tree: string | null;
  /** By all its visits, and those of its own branches. */
  spent: Amounts;
}

export interface GateFacts {
  command: string[];
  code: number | null;
  signal: string | null;
  timedOut: boolean;
}

/** What is known after a visit, whatever came of it. */
interface VisitFacts {
  at: string;
  segments: StoredSegment[];
  tree?: string;
  checkpoint?: string;
  jobId?: string;
  gate?: GateFacts;
  /** Segments that are in the files or the plan now. */
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

/** What kept a visit from its end, though nothing crashed; the reason of the halt that follows. */
export type StopReason = 'job_stale' | 'job_killed' | 'context_unavailable';

export type VisitOutcome = VisitFacts &
  (
    | { kind: 'done'; signal: Signal }
    | { kind: 'crashed'; message: string; stack: string }
    /** A budget ended it in the middle. */
    | { kind: 'interrupted'; what: string }
    | { kind: 'parked'; message: string; resumeAt?: string }
    | { kind: 'stopped'; reason: StopReason; message: string }
  );

/** What comes back from a person, as the journal keeps it. */
export interface Answer {
  at: string;
  verb: HaltVerb;
  guidance?: string;
  signal?: string;
  step?: boolean;
  by?: string;
}

export interface JoinOutcome {
  at: string;
  tree?: string;
  /** In declared order; null: ended because another came first. */
  ends: (BranchEnd | null)[];
  conflict?: { branch: string; files: string[] };
  /** Why no branch could begin. */
  failure?: string;
  /** A budget of the run that the branches used up. */
  exhausted?: string;
}
