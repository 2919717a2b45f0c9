import type { Message } from '../models/message.ts';
import type { Role } from '../roles/role.ts';
import { applyChange, type SessionChange, type SessionSettings, type SessionState } from './session-state.ts';

/** The name of a session that has none yet. */
export const TEMP_SESSION = 'temp';

/** A session in use. Its changes since the last save are kept as a list: saving applies them to what others wrote. */
export class Session {
  #state: SessionState;
  #pending: SessionChange[] = [];
  /** The role the session began with. The session's own settings win over it. */
  role: Role | undefined;
  /** Never stored. */
  max_output_tokens: number | null = null;
  /** From `--save-session` or the answer at exit; holds this time only. */
  saveThisTime: boolean | undefined;
  isCompressing = false;
  /** Compressions in a row that gained little. Too many pause compression until the next user message. */
  poorCompressions = 0;
  isCompressionPaused = false;
  /** A few words about the first exchange: part of the name of a temporary session. */
  title: string | undefined;
  /** The name it will be stored under, and its alias once it is. */
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
  /** Nothing was ever said in it. */
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

  /** A new question may make compression worth while again. */
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

  /** The store has the first `count` changes. Later ones are applied to the state it returned. */
  saved(state: SessionState, count: number): void {
    this.#pending = this.#pending.slice(count);
    this.#state = this.#pending.reduce(applyChange, state);
  }

  /** A copy to change, for a transition that may fail. */
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
