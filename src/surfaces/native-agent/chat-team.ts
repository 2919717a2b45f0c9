import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import type { Drive } from '../../app/runtime/dialogue.ts';
import type { Runtime } from '../../app/runtime/open-runtime.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import { safeSink } from '../../runtime/engine/emitter.ts';
import { run } from '../../runtime/engine/engine.ts';
import { textOf } from '../../runtime/models/message.ts';
import type { AppState } from '../../runtime/state/app-state.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';
import { withTeam } from '../../runtime/team/create-team.ts';
import { Escalations } from '../../runtime/team/escalation.ts';
import { TeamInbox } from '../../runtime/team/inbox.ts';
import type { JobPort } from '../../runtime/team/job-port.ts';
import { TeamSupervisor } from '../../runtime/team/supervisor.ts';
import { runWithTeam } from '../../runtime/team/team-run.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import { AgentTree } from './agent-tree.ts';
import { RootJob, type RootJobDeps } from './root-job.ts';

export interface ChatTeamDeps extends Pick<RootJobDeps, 'daemon' | 'onAsked'> {
  runtime: Runtime;
  /** Whoever sits at the surface. */
  ask: AskFn;
  confirmAll: boolean;
}

const WAITING = 'All places for jobs are taken: agents are started when one is free (`reef ps` shows who works)';

/**
 * The agent of a chat or of one question, and those it starts. It asks the person in front of it; while it has children it is a
 * job, and they are its children in every sense.
 */
export class ChatTeam {
  /** The state as the person's own agent sees it. */
  readonly app: AppState;
  readonly #deps: ChatTeamDeps;
  /** Of every child there was: the root it belongs to may be over. */
  readonly #ports = new Map<string, JobPort>();
  #root: RootJob | undefined;

  constructor(deps: ChatTeamDeps) {
    const { runtime, ask } = deps;
    this.#deps = deps;
    this.app = withTeam(runtime.app, {
      jobId: randomUUID(),
      ancestors: [],
      escalations: new Escalations(),
      outputsDir: runtime.outputsDir,
      jobs: this.#jobs(),
      channel: {
        open: (question, signal) => ({ id: randomUUID(), answer: ask(question, signal), withdraw: () => {} }),
      },
    });
  }

  /** One call of a context; if it has an agent with children, these end with the call. */
  readonly run: Drive = async (ctx, host, { request, emitter }) => {
    const { supervisor, inbox } = ctx.agentRuntime ?? {};
    if (!(supervisor instanceof TeamSupervisor && inbox instanceof TeamInbox)) return run(host, request, emitter);
    const signal = request.options.signal ?? new AbortController().signal;
    const onWaiting = () => safeSink([emitter]).emit({ type: 'warning', message: WAITING });
    const root = this.#rootOf(ctx, { task: request.input ? textOf(request.input) : '', signal, onWaiting });
    const outer = this.#root;
    this.#root = root;
    const whole = AbortSignal.any([signal, root.stopped]);
    try {
      const team = { supervisor, inbox, emitters: [emitter, root.emitter] };
      const outcome = await runWithTeam(host, { ...request, options: { ...request.options, signal: whole } }, team);
      await root.end({ result: outcome.final_message ?? '' });
      return outcome;
    } catch (error) {
      await supervisor.giveUp();
      const why = root.stopped.aborted ? root.stopped.reason : error;
      await root.end(whole.aborted ? 'killed' : { error: toReefError(error) });
      throw why;
    } finally {
      this.#root = outer;
    }
  };

  #rootOf(ctx: RequestContext, call: Pick<RootJobDeps, 'task' | 'signal' | 'onWaiting'>): RootJob {
    const { runtime, confirmAll, daemon, onAsked } = this.#deps;
    const { cwd: folder, clock } = runtime.app;
    const cwd = realpathSync(folder);
    return new RootJob({
      ...call,
      cwd,
      clock,
      daemon,
      onAsked,
      agent: ctx.agent?.name ?? '',
      model: ctx.model.id,
      runtime: () => ctx.agentRuntime,
      host: new AgentTree({ runtime, cwd, confirmAll }),
    });
  }

  #jobs(): JobPort {
    const portOf = (id: string) => {
      const port = this.#ports.get(id);
      if (!port) throw new ReefError('job_not_found', `You started no agent ${id}`);
      return port;
    };
    const current = () => {
      if (!this.#root) throw new ReefError('invalid_state', 'Agents are started by a call that is under way');
      return this.#root.jobs();
    };
    return {
      spawn: async (job) => {
        const port = await current();
        const id = await port.spawn(job);
        this.#ports.set(id, port);
        return id;
      },
      ended: (id, signal) => portOf(id).ended(id, signal),
      look: (id) => portOf(id).look(id),
      attend: (id, signal) => portOf(id).attend(id, signal),
      reply: async (escalation, reply) => {
        const port = await this.#root?.opened;
        if (!port) throw new ReefError('question_not_found', `Nobody asks ${escalation}: you started no agent`);
        await port.reply(escalation, reply);
      },
      send: async (id, message) => portOf(id).send(id, message),
      kill: (id) => portOf(id).kill(id),
    };
  }
}
