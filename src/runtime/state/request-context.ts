import type { Lease } from '../../base/lease.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Agent } from '../agent-spec/spec.ts';
import { releaseRuntime } from '../mcp/scope.ts';
import type { Model } from '../models/client.ts';
import type { Message } from '../models/message.ts';
import type { Rag } from '../rag/rag.ts';
import { emptyRole, type Role } from '../roles/role.ts';
import { loadRole } from '../roles/role-folder.ts';
import type { CompressionResult } from '../sessions/compression.ts';
import type { Session } from '../sessions/session.ts';
import { type AgentRequest, planAgent, planExitAgent } from './agent-plans.ts';
import type { AppState } from './app-state.ts';
import {
  autonameSession,
  compressSession,
  maybeAutonameSession,
  maybeCompressSession,
  needsCompressionMidTurn,
} from './compress-session.ts';
import type { ContextData, LastMessage, Overrides, Suspended, UserPort, WorkingMode } from './context-data.ts';
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
import type { SettingKey } from './resolve.ts';
import type { AgentRuntime, ToolScope } from './scope.ts';
import { sessionStore, sessionsDir, storeSession, storeTurn, UNNAMED_ROLE } from './session-life.ts';
import { parseSetting, type SetValue } from './setting-keys.ts';
import { changesScope, planSetting } from './settings.ts';
import { type Prepare, runTransition } from './transition.ts';
import { saveMessage, settingsOf, type Turn } from './turns.ts';

/** Which layers are active, for the conditions of commands. */
export type StateFlag = 'role' | 'session_empty' | 'session' | 'agent' | 'rag';

/**
 * One request, or one chat from its beginning to its end: everything that changes. What its methods do lies in the files
 * beside this one.
 */
export class RequestContext implements ContextData {
  app: AppState;
  macroFlag = false;
  infoFlag = false;
  workingMode: WorkingMode;
  model: Model;
  agentVariables: Readonly<Record<string, string>> | undefined;
  role: Role | undefined;
  session: Session | undefined;
  rag: Lease<Rag> | undefined;
  agent: Agent | undefined;
  lastMessage: LastMessage | undefined;
  toolScope: ToolScope;
  agentRuntime: AgentRuntime | undefined;
  overrides: Overrides;
  suspended: Suspended | undefined;
  globalMaxOutputTokens: number | null = null;
  ui: UserPort | undefined;
  macroDepth = 0;
  #transitions: Promise<void> = Promise.resolve();
  #underWay = 0;
  #turns = 0;
  #isPreludeApplied = false;

  constructor(start: Pick<ContextData, 'app' | 'workingMode' | 'model' | 'toolScope' | 'overrides' | 'ui'>) {
    this.app = start.app;
    this.workingMode = start.workingMode;
    this.model = start.model;
    this.toolScope = start.toolScope;
    this.overrides = start.overrides;
    this.ui = start.ui;
  }

  // ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────

  state(): ReadonlySet<StateFlag> {
    const flags: [StateFlag, boolean][] = [
      ['role', (this.session?.role ?? this.role) !== undefined],
      ['session_empty', this.session?.isEmpty === true],
      ['session', this.session?.isEmpty === false],
      ['agent', this.agent !== undefined],
      ['rag', (this.agentRuntime?.rag ?? this.rag) !== undefined],
    ];
    return new Set(flags.flatMap(([flag, isOn]) => (isOn ? [flag] : [])));
  }

  sessionsDir(): string {
    return sessionsDir(this);
  }
  retrieveRole(name: string): Role {
    return loadRole(this.app.paths, name, this.app.warn);
  }
  isCompressingSession(): boolean {
    return this.session?.isCompressing === true;
  }
  get isInTurn(): boolean {
    return this.#turns > 0;
  }

  // ── transitions: queued, all or nothing ──────────────────────────────────────────────────────────────────────────

  /** The first scope, built as every other. */
  bootstrapTools(signal?: AbortSignal): Promise<void> {
    return this.#change(() => ({ next: {} }), signal);
  }
  /** A prompt for now: a role without a name or file. */
  usePrompt(prompt: string, signal?: AbortSignal): Promise<void> {
    return this.useRoleObj(emptyRole(UNNAMED_ROLE, prompt), signal);
  }
  useRole(name: string, signal?: AbortSignal): Promise<void> {
    return this.#change((ctx) => planRole(ctx, this.retrieveRole(name)), signal);
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
  rebuildRag(signal?: AbortSignal): Promise<void> {
    return this.#change(async (ctx) => {
      await ctx.app.ports.rebuildRag(activeRagKey(ctx), { signal });
      return planRagAnew(ctx, signal);
    }, signal);
  }
  editRagDocs(documents: readonly string[], signal?: AbortSignal): Promise<void> {
    return this.#change(async (ctx) => {
      await ctx.app.ports.rebuildRag(activeRagKey(ctx), { documents, signal });
      return planRagAnew(ctx, signal);
    }, signal);
  }
  /** Once, in an empty context; whether there was one. */
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
  /** Only what changes tools or model waits for the end of a turn. */
  async set(key: SettingKey, value: SetValue, signal?: AbortSignal): Promise<void> {
    if (changesScope(key)) return this.#change((ctx) => planSetting(ctx, key, value), signal);
    const plan = planSetting(this, key, value);
    await plan.commit?.();
    Object.assign(this, plan.next);
  }
  setModel(id: string, signal?: AbortSignal): Promise<void> {
    return this.set('model', id, signal);
  }

  // ── sessions and turns ───────────────────────────────────────────────────────────────────────────────────────────

  async saveSession(name?: string): Promise<void> {
    await storeSession(this, this.#requireSession(), name);
  }
  emptySession(): void {
    this.#requireSession().change({ kind: 'emptied' });
    this.discontinuousLastMessage();
  }
  /** Takes back the last question and its answer. */
  undo(): void {
    const session = this.#requireSession();
    if (session.messages.length === 0) throw new ReefError('invalid_state', 'nothing was said that could be undone');
    session.change({ kind: 'undone' });
    this.lastMessage = undefined;
  }
  /** Goes on in a copy; the session so far is saved or not as at exit. */
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
  discontinuousLastMessage(): void {
    if (this.lastMessage) this.lastMessage = { ...this.lastMessage, continuous: false };
  }

  /**
   * While a turn runs no transition may take its tools away: it waits for those under way, and those that come later are
   * refused. Call what is returned when the turn has ended.
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
  /** The turn as one unit into the session, or into `messages.md`. */
  async afterChatCompletion(turn: Turn, how: 'new' | 'replaces' = 'new'): Promise<void> {
    this.lastMessage = { ...turn, continuous: true };
    if (this.overrides.dry_run ?? this.app.config.dry_run) return;
    this.session?.change({ kind: how === 'new' ? 'turn' : 'replaced', messages: turn.messages });
    await storeTurn(this);
    await saveMessage(this.app.config, this, turn);
  }

  // ── other contexts ───────────────────────────────────────────────────────────────────────────────────────────────

  /** For a macro: the same model and tools, and nothing else of this one. */
  async forMacro(): Promise<RequestContext> {
    const inner = this.#bare();
    const { temperature, top_p, enabled_tools, enabled_mcp_servers } = settingsOf(this.app.config, this);
    inner.app = this.app.withConfig({ temperature, top_p, enabled_tools, enabled_mcp_servers });
    inner.macroFlag = true;
    inner.macroDepth = this.macroDepth + 1;
    await inner.bootstrapTools();
    return inner;
  }
  /** For one turn outside session and agent: `.role NAME text`. */
  async aside(role: Role, signal?: AbortSignal): Promise<RequestContext> {
    const inner = this.#bare();
    await inner.useRoleObj(role, signal);
    return inner;
  }

  /** Lets go of everything; nothing is saved. */
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
    throw new ReefError('invalid_state', 'no session is active: `.session [NAME]` enters one');
  }

  /** One after the other; a failed one does not keep the next from running. */
  #change(prepare: Prepare, signal?: AbortSignal): Promise<void> {
    if (this.isInTurn) {
      return Promise.reject(new ReefError('scope_busy', 'a turn is running: its tools cannot be changed now'));
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
