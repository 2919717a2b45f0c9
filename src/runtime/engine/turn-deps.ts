import type { ReefError } from '../../protocol/errors.ts';
import type { Model, ModelClient, Usage } from '../models/client.ts';
import type { Message, ToolCallPart } from '../models/message.ts';
import type { PermissionGate } from '../permissions/gate.ts';
import type { OutputCap } from '../tools/output.ts';
import type { AskFn, Functions, ToolCallTracker } from '../tools/tool.ts';
import type { EngineEvent } from './emitter.ts';

interface ChatSettings {
  temperature: number | null;
  top_p: number | null;
  max_output_tokens: number | null;
  stream: boolean;
}

/** Whatever decides what a model is shown: the session's history, or a projection of the repository. */
export interface PromptBuilder {
  /** `turn` is what happened in this turn, the question first. Asked anew for every step. */
  build(turn: readonly Message[]): readonly Message[] | Promise<readonly Message[]>;
}

export interface StepProgress {
  messages: readonly Message[];
  step: number;
  usage: Usage;
  cost: number | null;
  tool_call_count: number;
}

/** What a turn is made from. Nothing of it knows which surface, session or agent is behind. */
export interface TurnDeps {
  client: ModelClient;
  model: Model;
  settings: ChatSettings;
  prompt: PromptBuilder;
  functions: Functions;
  tracker: ToolCallTracker;
  gate: PermissionGate;
  outputs: OutputCap;
  ask: AskFn;
  cwd: string;
  jobId?: string | undefined;
  /** Name of the agent that speaks. */
  agent?: string | undefined;
  signal: AbortSignal;
  emit: (event: EngineEvent) => void;
  /** 100 unless told. */
  maxSteps?: number | undefined;
  /** Before every step: budgets, compression, messages of others. What it throws ends the turn, work kept. */
  beforeStep?: ((progress: StepProgress) => void | Promise<void>) | undefined;
  /** A provider that cannot be reached now: true, once it has waited, to ask again. */
  onOutage?: ((error: ReefError, attempt: number) => Promise<boolean>) | undefined;
  /** A call whose result is the end of the turn, such as `done`. */
  isFinal?: ((call: ToolCallPart, output: string) => boolean) | undefined;
}

export interface TurnResult {
  /** The question, then tools and answer: a history every provider accepts, however the turn ended. */
  messages: Message[];
  /** The last text of the model. */
  text: string;
  usage: Usage;
  cost: number | null;
  tool_call_count: number;
  steps: number;
  /** Why it did not end by itself. */
  error?: ReefError;
}
