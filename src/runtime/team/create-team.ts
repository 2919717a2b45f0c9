import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import { listAgents } from '../agent-spec/load.ts';
import type { AgentSpec } from '../agent-spec/spec.ts';
import { textOf, userText } from '../models/message.ts';
import type { AppState, FunctionsRequest, TeamRequest } from '../state/app-state.ts';
import type { AgentRuntime, AgentTeam } from '../state/scope.ts';
import { createFunctions, type Tool } from '../tools/tool.ts';
import { agentTools } from './agent-tools.ts';
import { type AskChannel, createEscalation, type Escalations } from './escalation.ts';
import { TeamInbox } from './inbox.ts';
import type { JobPort } from './job-port.ts';
import { type Summarise, TeamSupervisor } from './supervisor.ts';
import type { Team } from './team-run.ts';

/** One agent's place in the tree: its job, where it asks, and what starts its children. */
export interface TeamPosition {
  jobId: string;
  /** Ids from the root to its parent. */
  ancestors: readonly string[];
  /** Messages that came before its context was open. */
  inbox?: TeamInbox | undefined;
  /** Its depth if its parent runs in another process. */
  depth?: number | undefined;
  jobs: JobPort;
  /** Always there, whatever tools the agent enables. */
  tools?: readonly Tool[] | undefined;
  channel: AskChannel;
  escalations: Escalations;
  /** The folder for outputs that are too long for a prompt. */
  outputsDir: string;
}

function createTeam(app: AppState, position: TeamPosition, { spec, parent }: TeamRequest): AgentTeam {
  const above = parent?.supervisor instanceof TeamSupervisor ? parent.supervisor : undefined;
  const depth = parent ? parent.currentDepth + 1 : (position.depth ?? 0);
  const known = new Set(listAgents(app.paths));
  const inbox = position.inbox ?? new TeamInbox();
  const supervisor = new TeamSupervisor({
    spec,
    depth,
    inbox,
    selfId: position.jobId,
    cwd: app.cwd,
    jobs: position.jobs,
    parent: above,
    maxDepth: above?.maxDepth ?? spec.max_agent_depth,
    isNative: (name) => known.has(name),
    summarise: createSummariser(app, spec, position.outputsDir),
  });
  return {
    supervisor,
    inbox,
    escalationQueue: createEscalation({
      escalations: position.escalations,
      clock: app.clock,
      channel: position.channel,
      jobId: position.jobId,
      agent: spec.name,
      path: [...position.ancestors, position.jobId],
      ...(depth > 0 && { timeoutMs: spec.escalation_timeout * 1000 }),
    }),
    selfAgentId: position.jobId,
    ...(above && { parentSupervisor: above }),
    currentDepth: depth,
  };
}

/** The team of an active agent; undefined for one that works alone. */
export function teamOf(runtime: AgentRuntime | undefined): Team | undefined {
  const { supervisor, inbox } = runtime ?? {};
  return supervisor instanceof TeamSupervisor && inbox instanceof TeamInbox ? { supervisor, inbox } : undefined;
}

/** The state as one agent sees it: the same services, its own team, and the tools for that team. */
export function withTeam(app: AppState, position: TeamPosition): AppState {
  const { tools } = app;
  return Object.freeze({
    ...app,
    team: async (request: TeamRequest) => createTeam(app, position, request),
    tools: {
      ...tools,
      async build(request: FunctionsRequest) {
        const functions = await tools.build(request);
        const { agentRuntime } = request.context;
        const team = teamOf(agentRuntime);
        if (!agentRuntime || !team) return functions;
        const own = agentTools(team.supervisor, team.inbox, agentRuntime.spec.can_spawn_agents);
        return createFunctions([...functions.tools, ...own, ...(position.tools ?? [])]);
      },
    },
    withConfig: (patch: Parameters<AppState['withConfig']>[0]) => withTeam(app.withConfig(patch), position),
    reload: () => withTeam(app.reload(), position),
  });
}

const PROMPT = `You shorten the report of an agent for the agent that asked for it. Keep what was done, what was found, with paths,
names, numbers and open questions, in the words of the report. Add nothing. Answer with the shortened report alone.`;
const HEAD = 2_000;

/** A model shortens a long result; the whole goes to a file. If the model fails, the beginning is used. */
function createSummariser(app: AppState, spec: AgentSpec, dir: string): Summarise {
  return async ({ id, agent }, output, signal) => {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const full_output = join(dir, `agent-${id}.txt`);
    await writeAtomic(full_output, output);
    try {
      const own = spec.model ?? (app.config.model_id || (app.models.first('chat')?.id ?? ''));
      const model = app.models.find(spec.summarization_model ?? own, 'chat');
      const reply = await app.models.client(model).chat({
        model,
        messages: [{ role: 'system', content: PROMPT }, userText(`Report of ${agent}:\n\n${output}`)],
        temperature: null,
        top_p: null,
        max_output_tokens: null,
        stream: false,
        signal,
      });
      const text = textOf({ role: 'assistant', content: reply.content }).trim();
      if (text !== '') return { output: text, full_output };
    } catch (error) {
      if (signal.aborted) throw error;
    }
    return { output: `${output.slice(0, HEAD)}\n[… ${output.length - HEAD} characters more]`, full_output };
  };
}
