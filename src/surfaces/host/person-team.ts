import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import type { Runtime } from '../../app/runtime/open-runtime.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { InboxEntry } from '../../protocol/job-operations.ts';
import type { OperationInput } from '../../protocol/operations.ts';
import type { Emitter, RunOutcome } from '../../runtime/engine/emitter.ts';
import { type EngineHost, type RunRequest, run } from '../../runtime/engine/engine.ts';
import { textOf } from '../../runtime/models/message.ts';
import type { AppState } from '../../runtime/state/app-state.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';
import { withTeam } from '../../runtime/team/create-team.ts';
import { EscalationDesk } from '../../runtime/team/escalation.ts';
import { TeamInbox } from '../../runtime/team/inbox.ts';
import type { JobPort } from '../../runtime/team/job-port.ts';
import { TeamSupervisor } from '../../runtime/team/supervisor.ts';
import { runWithTeam } from '../../runtime/team/team-host.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import type { Client } from '../client/client.ts';
import { AgentHost } from './agent-host.ts';
import { RootJob } from './root-job.ts';
import { watchQuestions } from './watch-questions.ts';

/** A question of an agent below the one a person talks to. */
export interface ChildQuestion {
  asked: InboxEntry;
  /** Names from the root to the one that asks. */
  chain: readonly string[];
  /** Somebody answered it elsewhere, or nobody need any more. */
  settled: AbortSignal;
  /** The first answer counts; a later one is refused. */
  send(answer: Omit<OperationInput<'send'>, 'id' | 'questionId' | 'fingerprint'>): Promise<void>;
}

export interface PersonParts {
  runtime: Runtime;
  /** Of the daemon, which is started by the first child and by nothing before it; outside a repository there is none. */
  client(): Client;
  homeDir(): string;
  /** Whoever sits at the surface. */
  ask: AskFn;
  /** Puts a child's question to them; a refusal to do so ends the call. */
  onAsked(question: ChildQuestion): Promise<void>;
  confirmAll: boolean;
}

/**
 * The agent of a chat or of one question, and those it starts. It asks the person in front of it; while it has children it is a
 * job, and they are its children in every sense.
 */
export class PersonTeam {
  /** The state as the person's own agent sees it. */
  readonly app: AppState;
  readonly #parts: PersonParts;
  readonly #ports = new Map<string, JobPort>();
  #root: RootJob | undefined;

  constructor(parts: PersonParts) {
    const { runtime, ask } = parts;
    this.#parts = parts;
    this.app = withTeam(runtime.app, {
      ...{ jobId: randomUUID(), ancestors: [], desk: new EscalationDesk(), outputsDir: runtime.outputsDir },
      jobs: this.#jobs(),
      channel: {
        open: (question, signal) => ({ id: randomUUID(), answer: ask(question, signal), withdraw: () => {} }),
      },
    });
  }

  /** One run of a context; with an agent, its children live as long as it. */
  async run<Command>(
    ctx: RequestContext,
    host: EngineHost<Command>,
    { request, emitter }: { request: RunRequest<Command>; emitter: Emitter },
  ): Promise<RunOutcome> {
    const { supervisor, inbox, spec } = ctx.agentRuntime ?? {};
    const hasTeam = supervisor instanceof TeamSupervisor && inbox instanceof TeamInbox && spec?.can_spawn_agents;
    if (!hasTeam) return run(host, request, emitter);
    const signal = request.options.signal ?? new AbortController().signal;
    const call = this.#begin(ctx, { task: request.input ? textOf(request.input) : '', signal });
    const before = this.#root;
    this.#root = call.root;
    const whole = AbortSignal.any([signal, call.root.stopped]);
    try {
      const team = { supervisor, inbox, emitter: [emitter, call.root.emitter] };
      const outcome = await runWithTeam(host, { ...request, options: { ...request.options, signal: whole } }, team);
      await call.end({ result: outcome.final_message ?? '' });
      return outcome;
    } catch (error) {
      await supervisor.giveUp();
      await call.end(whole.aborted ? 'killed' : { error: toReefError(error) });
      throw call.root.stopped.aborted ? call.root.stopped.reason : error;
    } finally {
      this.#root = before;
    }
  }

  #begin(ctx: RequestContext, { task, signal }: { task: string; signal: AbortSignal }) {
    const { runtime, confirmAll } = this.#parts;
    const { clock } = runtime.app;
    const cwd = realpathSync(runtime.app.cwd);
    const host = new AgentHost({ runtime, cwd, confirmAll });
    const over = new AbortController();
    let isWatched = false;
    const parts = this.#parts;
    const root: RootJob = new RootJob({
      ...{ task, cwd, clock, host, signal },
      agent: ctx.agent?.name ?? '',
      model: ctx.model.id,
      runtime: () => ctx.agentRuntime,
      get client() {
        return parts.client();
      },
      get homeDir() {
        return parts.homeDir();
      },
    });
    return { root, end: root.end };
  }
}
