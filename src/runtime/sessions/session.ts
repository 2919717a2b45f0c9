import type { Message } from '../models/message.ts';
import type { Role } from '../roles/role.ts';
import { applyChange, type SessionChange, type SessionSettings, type SessionState } from './session-state.ts';

/** `temp` is the name of the session that has none yet. */
export const TEMP_SESSION = 'temp';

/**
 * A session in use. What is said in it is folded into `state` at once and kept as a list of changes until a store has them,
 * so that saving adds to what other processes wrote and overwrites nothing.
 */
export class Session {
  #state: SessionState;
  #pending: SessionChange[] = [];
  /** The prompt the session began with; its settings are a layer below the session's own. */
  role: Role | undefined;
  /** Never stored: lives as long as the model it limits. */
  max_output_tokens: number | null = null;
  /** `--save-session`, or the answer at exit: for this time only. */
  saveThisTime: boolean | undefined;
  isCompressing = false;
  /** Attempts in a row that gained next to nothing, and the pause they led to: until the next user message. */
  poorCompressions = 0;
  isCompressionPaused = false;
  /** What the first exchange was about, in a few words; part of the name a temporary session is stored under. */
  title: string | undefined;
  /** Name it shall be stored under; the alias of the file once it is. */
  #name: string;

  constructor(state: SessionState, name: string) {
    this.#state = state;
    this.#name = name;
  }

  get id(): string {
    return this.#state.id;
  }
  get name(): string {
    return this.#name;
  }
  get state(): SessionState {
    return this.#state;
  }
  get messages(): readonly Message[] {
    return this.#state.messages;
  }
  get isTemporary(): boolean {
    return this.#name === TEMP_SESSION;
  }
  /** Nothing was said in it, ever. */
  get isEmpty(): boolean {
    return this.#state.messages.length === 0 && this.#state.compressed_messages.length === 0;
  }
  get isDirty(): boolean {
    return this.#pending.length > 0;
  }
  get pending(): readonly SessionChange[] {
    return this.#pending;
  }
  /** Stored at least once. */
  get isStored(): boolean {
    return this.#state.rev > 0;
  }
  get userMessages(): number {
    return this.#state.messages.filter((message) => message.role === 'user').length;
  }

  change(change: SessionChange): void {
    this.#state = applyChange(this.#state, change);
    this.#pending.push(change);
  }

  /** A new question: what could not be compressed before may be compressible now. */
  userSpeaks(): void {
    this.poorCompressions = 0;
    this.isCompressionPaused = false;
  }

  set(settings: SessionSettings): void {
    this.change({ kind: 'settings', settings });
  }

  rename(name: string): void {
    this.#name = name;
  }

  /** A store has the first `count` changes; what was said meanwhile is told again to what it answered. */
  saved(state: SessionState, count: number): void {
    this.#pending = this.#pending.slice(count);
    this.#state = this.#pending.reduce(applyChange, state);
  }

  /** The same session a moment ago, for a transition that must be able to go back. */
  copy(): Session {
    const copy = new Session(this.#state, this.#name);
    copy.#pending = [...this.#pending];
    copy.role = this.role;
    copy.max_output_tokens = this.max_output_tokens;
    copy.saveThisTime = this.saveThisTime;
    copy.title = this.title;
    return copy;
  }
}
