import { ReefError } from '../../protocol/errors.ts';
import { releaseRuntime } from '../mcp/scope.ts';
import type { Message } from '../models/message.ts';
import { emptyRole, type Role } from '../roles/role.ts';
import { loadRole } from '../roles/role-folder.ts';
import type { CompressionResult } from '../sessions/compression.ts';
import type { Session } from '../sessions/session.ts';
import { type AgentRequest, planAgent, planExitAgent } from './agent-plans.ts';
import {
  autonameSession,
  compressSession,
  maybeAutonameSession,
  maybeCompressSession,
  needsCompressionMidTurn,
} from './compress-session.ts';
import { activeRag, activeRole, ContextData, notActive } from './context-data.ts';
import {
  activeRagKey,
  planExitRag,
  planExitRole,
  planExitSession,
  planPrelude,
  planRag,
  planRagAnew,
  planRole,
  planSession,
  preludeOf,
} from './plans.ts';
import { refuseDry, type SettingKey, settingsOf } from './resolve.ts';
import { sessionStore, sessionsDir, storeSession, storeTurn, UNNAMED_ROLE } from './session-life.ts';
import { parseSetting, type SetValue } from './setting-keys.ts';
import { changesScope, planSetting } from './settings.ts';
import { type Prepare, runTransition } from './transition.ts';
import { saveMessage, type Turn } from './turns.ts';

/** What is active: commands depend on it. */
export type StateFlag = 'role' | 'session_empty' | 'session' | 'agent' | 'rag';

/** One request, or one chat from beginning to end. The files beside this one do the work of its methods. */
export class RequestContext extends ContextData {
  #transitions: Promise<void> = Promise.resolve();
  #underWay = 0;
  #turns = 0;
  #isPreludeApplied = false;

  state(): ReadonlySet<StateFlag> {
    const flags: [StateFlag, boolean][] = [
      ['role', activeRole(this) !== undefined],
      ['session_empty', this.session?.isEmpty === true],
      ['session', this.session?.isEmpty === false],
      ['agent', this.agent !== undefined],
      ['rag', activeRag(this) !== undefined],
    ];
    return new Set(flags.flatMap(([flag, isOn]) => (isOn ? [flag] : [])));
  }

  sessionsDir(): string {
    return sessionsDir(this);
  }
  isCompressingSession(): boolean {
    return this.session?.isCompressing === true;
  }
  get isInTurn(): boolean {
    return this.#turns > 0;
  }

  // ── transitions: queued, all or nothing ──────────────────────────────────────────────────────────────────────────

  /** Builds the first tool scope. */
  bootstrapTools(signal?: AbortSignal): Promise<void> {
    return this.#change(() => ({ next: {} }), signal);
  }
  /** Enters a role without name or file. */
  usePrompt(prompt: string, signal?: AbortSignal): Promise<void> {
    return this.useRoleObj(emptyRole(UNNAMED_ROLE, prompt), signal);
  }
  useRole(name: string, signal?: AbortSignal): Promise<void> {
    return this.#change((ctx) => planRole(ctx, loadRole(ctx.app.paths, name, ctx.app.warn)), signal);
  }
  useRoleObj(role: Role, signal?: AbortSignal): Promise<void> {
    return this.#change((ctx) => planRole(ctx, role), signal);
  }
  exitRole(signal?: AbortSignal): Promise<void> {
    return this.#change(planExitRole, signal);
  }
  useSession(name?: string, signal?: AbortSignal): Promise<void> {
    return this.#change((ctx) => planSession(ctx, name), signal);
  }
  exitSession(signal?: AbortSignal): Promise<void> {
    return this.#change(planExitSession, signal);
  }
  useAgent(request: AgentRequest): Promise<void> {
    return this.#change((ctx) => planAgent(ctx, request), request.signal);
  }
  exitAgent(signal?: AbortSignal): Promise<void> {
    return this.#change(planExitAgent, signal);
  }
  useRag(name: string, signal?: AbortSignal): Promise<void> {
    return this.#change((ctx) => planRag(ctx, name, signal), signal);
  }
  exitRag(signal?: AbortSignal): Promise<void> {
    return this.#change(planExitRag, signal);
  }
  /** Builds the index of the active RAG anew, of other documents if any are given. */
  rebuildRag(change: { documents?: readonly string[]; signal?: AbortSignal | undefined } = {}): Promise<void> {
    return this.#change(async (ctx) => {
      refuseDry(ctx);
      await ctx.app.rebuildRag(activeRagKey(ctx), change);
      return planRagAnew(ctx, change.signal);
    }, change.signal);
  }
  /** Applies the prelude once, in an empty context. True if there was one. */
  async applyPrelude(signal?: AbortSignal): Promise<boolean> {
    const prelude = this.#isPreludeApplied ? undefined : preludeOf(this);
    this.#isPreludeApplied = true;
    if (prelude === undefined) return false;
    await this.#change((ctx) => planPrelude(ctx, prelude), signal);
    return true;
  }

  // ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `.set KEY VALUE`. */
  async update(data: string, signal?: AbortSignal): Promise<void> {
    const { key, value } = parseSetting(data);
    await this.set(key, value, signal);
  }
  /** During a turn, only settings that leave its tools and model alone can be changed. */
  async set(key: SettingKey, value: SetValue, signal?: AbortSignal): Promise<void> {
    if (changesScope(key)) return this.#change((ctx) => planSetting(ctx, key, value), signal);
    const plan = planSetting(this, key, value);
    await plan.commit?.();
    Object.assign(this, plan.next);
  }

  // ── sessions and turns ───────────────────────────────────────────────────────────────────────────────────────────

  async saveSession(name?: string): Promise<void> {
    await storeSession(this, this.#requireSession(), name);
  }
  emptySession(): void {
    this.#requireSession().change({ kind: 'emptied' });
    if (this.lastMessage) this.lastMessage = { ...this.lastMessage, continuous: false };
  }
  /** Removes the last question and its answer. */
  undo(): void {
    const session = this.#requireSession();
    if (session.messages.length === 0) throw new ReefError('invalid_state', 'the session has no question to undo');
    session.change({ kind: 'undone' });
    this.lastMessage = undefined;
  }
  /** Continues in a copy. The session so far is left as at exit. */
  forkSession(signal?: AbortSignal): Promise<void> {
    return this.#change((ctx) => {
      const fork = sessionStore(ctx).fork(this.#requireSession());
      return { ...planExitSession(ctx), next: { session: fork } };
    }, signal);
  }
  setSaveSessionThisTime(isWanted = true): void {
    this.#requireSession().saveThisTime = isWanted;
  }
  maybeCompressSession(): boolean {
    return maybeCompressSession(this);
  }
  needsCompressionMidTurn(turn: readonly Message[]): boolean {
    return needsCompressionMidTurn(this, turn);
  }
  /** With `turn`, between two steps of it. */
  compressSession(
    options: { turn?: { messages: readonly Message[] }; signal?: AbortSignal } = {},
  ): Promise<CompressionResult | undefined> {
    return compressSession(this, options);
  }
  maybeAutonameSession(): boolean {
    return maybeAutonameSession(this);
  }
  autonameSession(signal?: AbortSignal): Promise<string> {
    return autonameSession(this, signal);
  }

  /**
   * Waits for running transitions and refuses new ones, so that none takes the turn's tools away. Call the returned
   * function at the end of the turn.
   */
  async beginTurn(): Promise<() => void> {
    while (this.#underWay > 0) await this.#transitions;
    this.#turns += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.#turns -= 1;
      isOver = true;
    };
  }
  beforeChatCompletion(question: Message): void {
    this.session?.userSpeaks();
    this.toolScope.toolTracker.reset();
    this.lastMessage = { messages: [question], output: '', continuous: true };
  }
  /** Adds the turn as one unit to the session, or to `messages.md`. */
  async afterChatCompletion(turn: Turn, how: 'new' | 'replaces' = 'new'): Promise<void> {
    this.lastMessage = { ...turn, continuous: true };
    if (this.overrides.dry_run ?? this.app.config.dry_run) return;
    this.session?.change({ kind: how === 'new' ? 'turn' : 'replaced', messages: turn.messages });
    await storeTurn(this);
    await saveMessage(this, turn);
  }

  // ── other contexts ───────────────────────────────────────────────────────────────────────────────────────────────

  /** A context for a macro: it has the same model and tools and nothing else of this one. */
  async forMacro(): Promise<RequestContext> {
    const inner = this.#bare();
    const { temperature, top_p, enabled_tools, enabled_mcp_servers } = settingsOf(this);
    inner.app = this.app.withConfig({ temperature, top_p, enabled_tools, enabled_mcp_servers });
    inner.macroDepth = this.macroDepth + 1;
    await inner.bootstrapTools();
    return inner;
  }
  /** A context for one turn outside session and agent: `.role NAME text`. */
  async aside(role: Role, signal?: AbortSignal): Promise<RequestContext> {
    const inner = this.#bare();
    await inner.useRoleObj(role, signal);
    return inner;
  }

  /** Releases everything and saves nothing. */
  async close(): Promise<void> {
    await this.#transitions;
    await this.agentRuntime?.supervisor.cancelAll();
    const leases = [this.agentRuntime?.rag, this.rag, this.suspended?.rag].flatMap((lease) => lease ?? []);
    await Promise.all(leases.map((lease) => lease.release()));
    await releaseRuntime(this.toolScope.mcpRuntime);
  }

  #bare(): RequestContext {
    const { app, workingMode, model, overrides, ui } = this;
    const toolScope = { ...this.toolScope, mcpRuntime: { servers: new Map(), unavailable: new Map() } };
    return new RequestContext({ app, workingMode, model, overrides: { ...overrides, model: model.id }, ui, toolScope });
  }

  #requireSession(): Session {
    if (this.session) return this.session;
    throw notActive('session');
  }

  /** Transitions run one after the other, whether or not the one before failed. */
  #change(prepare: Prepare, signal?: AbortSignal): Promise<void> {
    if (this.isInTurn) {
      return Promise.reject(new ReefError('scope_busy', 'a turn is running: change its tools when it has ended'));
    }
    this.#underWay += 1;
    const next = this.#transitions.then(() => runTransition(this, prepare, signal));
    this.#transitions = next
      .catch(() => {})
      .then(() => {
        this.#underWay -= 1;
      });
    return next;
  }
}
