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

/** Limits of one job; the largest healthy run seen stays three times below. */
interface CoderBudget {
  turns: number;
  tokens: number;
  ms: number;
  /** Counts only what a model's price is known of. */
  usd?: number;
}

/** What a job has used over all its processes. */
export interface CoderUsage {
  tokens: number;
  usd: number;
}

/** Everything the coder reaches outside itself; the host passes it in. */
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
  /** The code tools of its own worktree, by the daemon. */
  askCode(tool: string, args: unknown, signal: AbortSignal): Promise<unknown>;
  /** Commands that must be green before `done` counts, by name. */
  checks: Readonly<Record<string, string>>;
  budget: CoderBudget;
  /** A project's own instruction files; not Reef's text. */
  instructions?: string;
  /** `context.guards`: off only to measure what they are worth. */
  guards?: boolean;
  emit(event: EngineEvent): void;
  /** Changed files, for the timeline. */
  edited(edit: { path: string; kind: 'add' | 'update' }): void;
  /** News for the log of the job: from them the same prompt is built again after a restart. */
  tell(news: ContextNews | StateNews): void;
  /** One line per call of the model. */
  record(ledger: Ledger, reported: Reported): void;
}
