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

/** Decides what the model is shown: the session's history, or a projection of the repository. */
export interface PromptBuilder {
  /** Called for every step. `turn` holds the messages of this turn, the question first. */
  build(turn: readonly Message[]): readonly Message[] | Promise<readonly Message[]>;
}

/** Everything one turn needs. It does not depend on a surface, a session or an agent. */
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
  /** The name of the agent that speaks. */
  agent?: string | undefined;
  signal: AbortSignal;
  emit: (event: EngineEvent) => void;
  /** 100 by default. */
  maxSteps?: number | undefined;
  /** Called before every step, for budgets and compression. An error ends the turn; its work is kept. */
  beforeStep?: ((progress: TurnResult) => void | Promise<void>) | undefined;
  /** Called when the provider cannot be reached. It waits, and returns true to ask again. */
  onOutage?: ((error: ReefError, attempt: number) => Promise<boolean>) | undefined;
  /** True for a call that ends the turn, such as `done`. */
  isFinal?: ((call: ToolCallPart, output: string) => boolean) | undefined;
}

export interface TurnResult {
  /** Question, tool calls and answer: a history every provider accepts, however the turn ended. */
  messages: Message[];
  /** The last text of the model. */
  text: string;
  usage: Usage;
  cost: number | null;
  tool_call_count: number;
  steps: number;
  /** The reason, if the turn did not end by itself. */
  error?: ReefError;
}
