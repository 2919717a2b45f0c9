import type { ErrorBody } from '../../protocol/errors.ts';
import type { Usage } from '../models/client.ts';

export interface RunOutcome {
  request_id: string;
  session_id?: string;
  final_message?: string;
  tool_call_count: number;
  turns: number;
  compressed: boolean;
  autonamed: boolean;
  auto_continued: number;
  usage: Usage;
  cost: number | null;
}

/** Plain data: every face renders these and nothing else; questions go through the ask port. */
export type EngineEvent =
  | { type: 'started'; request_id: string; session_id?: string; model: string }
  | { type: 'assistant_delta'; kind: 'text' | 'reasoning'; text: string }
  | { type: 'assistant_message_end'; text: string; usage: Usage; cost: number | null; interrupted?: true }
  | { type: 'tool_call'; id: string; name: string; arguments: unknown }
  | { type: 'tool_result'; id: string; name: string; output: string; is_error: boolean }
  | { type: 'auto_continue_triggered'; count: number; max: number }
  | { type: 'session_compressing' }
  | { type: 'session_compressed' }
  | { type: 'session_autonamed'; name: string }
  | { type: 'info'; message: string }
  | { type: 'warning'; message: string }
  | { type: 'error'; error: ErrorBody['error'] }
  | { type: 'finished'; outcome: RunOutcome };

export interface Emitter {
  emit(event: EngineEvent): void | Promise<void>;
}
