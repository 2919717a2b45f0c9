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
import { teamOf, withTeam } from '../../runtime/team/create-team.ts';
import { Escalations } from '../../runtime/team/escalation.ts';
import type { JobPort } from '../../runtime/team/job-port.ts';
import { runWithTeam } from '../../runtime/team/team-run.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import { AgentTree } from './agent-tree.ts';
import { RootJob, type RootJobDeps } from './root-job.ts';

export interface ChatTeamDeps extends Pick<RootJobDeps, 'daemon' | 'onAsked'> {
  runtime: Runtime;
  /** Asks the person at the surface. */
  ask: AskFn;
  confirmAll: boolean;
}

const WAITING = 'All slots for jobs are taken; agents start when one is free (`reef ps` shows the running jobs)';

/** The agent of a chat or of one question, and the agents it starts. While it has children it is a job itself, their parent. */
export class ChatTeam {
  readonly app: AppState;
  readonly #deps: ChatTeamDeps;
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

  /** Serves one request. The children of its agent end with it. */
  readonly run: Drive = async (ctx, port, { request, emitter }) => {
    const team = teamOf(ctx.agentRuntime);
    if (!team) return run(port, request, emitter);
    const signal = request.options.signal ?? new AbortController().signal;
    const onWaiting = () => safeSink([emitter]).emit({ type: 'warning', message: WAITING });
    const root = this.#rootOf(ctx, { task: request.input ? textOf(request.input) : '', signal, onWaiting });
    const outer = this.#root;
    this.#root = root;
    const whole = AbortSignal.any([signal, root.stopped]);
    try {
      const wholeRequest = { ...request, options: { ...request.options, signal: whole } };
      const outcome = await runWithTeam(port, wholeRequest, { ...team, emitters: [emitter, root.emitter] });
      await root.end({ result: outcome.final_message ?? '' });
      return outcome;
    } catch (error) {
      await team.supervisor.giveUp();
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
      tree: new AgentTree({ runtime, cwd, confirmAll }),
    });
  }

  /** All children of a request end with it, so every call goes to the root of the current one. */
  #jobs(): JobPort {
    const root = () => {
      if (!this.#root) throw new ReefError('invalid_state', 'Only a running request can have agents');
      return this.#root;
    };
    const port = async () => {
      const opened = await root().opened;
      if (!opened) throw new ReefError('job_not_found', 'You started no agent');
      return opened;
    };
    return {
      spawn: async (child) => (await root().jobs()).spawn(child),
      ended: async (id, signal) => (await port()).ended(id, signal),
      look: async (id) => (await port()).look(id),
      attend: async (id, signal) => (await port()).attend(id, signal),
      reply: async (escalation, reply) => {
        const opened = await this.#root?.opened;
        if (!opened) throw new ReefError('question_not_found', `${escalation} is not open: you started no agent`);
        await opened.reply(escalation, reply);
      },
      send: async (id, message) => (await port()).send(id, message),
      kill: async (id) => (await port()).kill(id),
    };
  }
}
