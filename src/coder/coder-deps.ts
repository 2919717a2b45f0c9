import type { Clock } from '../base/clock.ts';
import type { Redact } from '../base/redact.ts';
import type { SafeDir } from '../base/safe-dir.ts';
import type { TokenCounter } from '../base/tokens.ts';
import type { ContextNews, StateNews } from '../protocol/repostate.ts';
import type { ArtifactStore } from '../repostate/artifacts/artifact-store.ts';
import type { CacheProfile, ContextParameters } from '../repostate/prompt/cache-profile.ts';
import type { Ledger, Reported } from '../repostate/prompt/ledger.ts';
import type { Tracker } from '../repostate/state/tracker.ts';
import type { EngineEvent } from '../runtime/engine/emitter.ts';
import type { Model, ModelClient } from '../runtime/models/client.ts';
import type { PermissionGate } from '../runtime/permissions/gate.ts';
import type { RunCommand } from '../runtime/tools/command.ts';
import type { AskFn } from '../runtime/tools/tool.ts';

/** Limits of one job. The largest healthy run that we saw used a third of them. */
interface CoderBudget {
  turns: number;
  tokens: number;
  ms: number;
  /** Counts only calls whose price is known. */
  usd?: number;
}

/** What a job has used over all its processes. */
export interface CoderUsage {
  tokens: number;
  usd: number;
}

export interface CoderDeps {
  jobId: string;
  cwd: string;
  dir: SafeDir;
  model: Model;
  client: ModelClient;
  clock: Clock;
  counter: TokenCounter;
  profile: CacheProfile;
  parameters: ContextParameters;
  tracker: Tracker;
  artifacts: ArtifactStore;
  gate: PermissionGate;
  ask: AskFn;
  runCommand: RunCommand;
  redact: Redact;
  /** Asks the daemon about the code of this worktree. */
  askCode(tool: string, args: unknown, signal: AbortSignal): Promise<unknown>;
  /** The most tokens of code that the first prompt shows for the task; none without. */
  firstLook?: number;
  /** Commands that must be green before `done` counts, by name. */
  checks: Readonly<Record<string, string>>;
  budget: CoderBudget;
  /** The project's own instruction file. */
  instructions?: string;
  /** `context.guards`: off only to measure what they are worth. */
  guards?: boolean;
  emit(event: EngineEvent): void;
  /** Changed files, for the timeline. */
  edited(edit: { path: string; kind: 'add' | 'update' }): void;
  /** Writes news to the log of the job, from which a restart builds the same prompt. */
  tell(news: ContextNews | StateNews): void;
  /** One line per call of the model. */
  record(ledger: Ledger, reported: Reported): void;
}
