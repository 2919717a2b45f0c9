import { listAgents } from '../agent-spec/load.ts';
import type { AgentSpec } from '../agent-spec/spec.ts';
import type { AppState, FunctionsRequest, TeamRequest } from '../state/app-state.ts';
import type { AgentTeam } from '../state/scope.ts';
import { createFunctions, type Tool } from '../tools/tool.ts';
import { agentTools } from './agent-tools.ts';
import { type AskChannel, createEscalation, type EscalationDesk } from './escalation.ts';
import { TeamInbox } from './inbox.ts';
import type { JobPort } from './job-port.ts';
import { createSummariser } from './summarise.ts';
import { TeamSupervisor } from './supervisor.ts';

/** One agent's place: which job it is, whom it asks, and who keeps its children. */
export interface Place {
  jobId: string;
  /** Ids from the root to its parent. */
  ancestors: readonly string[];
  /** When its parent is in another host, how deep it is all the same. */
  depth?: number | undefined;
  jobs: JobPort;
  /** Beside those of the team, whatever it enables. */
  tools?: readonly Tool[] | undefined;
  channel: AskChannel;
  desk: EscalationDesk;
  /** Where outputs too long for a prompt lie. */
  outputsDir: string;
}

/** Own supervisor and inbox, depth one more, the parent to write to, the one inbox to ask through. */
function createTeam(app: AppState, place: Place, { spec, parent }: TeamRequest): AgentTeam {
  const above = parent?.supervisor instanceof TeamSupervisor ? parent.supervisor : undefined;
  const depth = parent ? parent.currentDepth + 1 : (place.depth ?? 0);
  const inbox = new TeamInbox();
  const supervisor = new TeamSupervisor({
    ...{ spec, depth, inbox, selfId: place.jobId, cwd: app.cwd, jobs: place.jobs, parent: above },
    maxDepth: above?.maxDepth ?? spec.max_agent_depth,
    isNative: nativeAgents(app),
    summarise: createSummariser({ app, spec, modelId: () => modelOf(app, spec), dir: place.outputsDir }),
  });
  return {
    supervisor,
    inbox,
    escalationQueue: createEscalation({
      desk: place.desk,
      clock: app.clock,
      channel: place.channel,
      jobId: place.jobId,
      agent: spec.name,
      path: [...place.ancestors, place.jobId],
      ...(depth > 0 && { timeoutMs: spec.escalation_timeout * 1000 }),
    }),
    selfAgentId: place.jobId,
    ...(above && { parentSupervisor: above }),
    currentDepth: depth,
  };
}

/** The state as one agent sees it: the same services, its own place in the team, and the tools for it. */
export function withTeam(app: AppState, place: Place): AppState {
  const { tools } = app.ports;
  const ports = {
    ...app.ports,
    team: async (request: TeamRequest) => createTeam(app, place, request),
    tools: {
      ...tools,
      async build(request: FunctionsRequest) {
        const functions = await tools.build(request);
        const { supervisor, inbox, spec } = request.context.agentRuntime ?? {};
        if (!(supervisor instanceof TeamSupervisor && inbox instanceof TeamInbox && spec)) return functions;
        const team = agentTools(supervisor, inbox, spec.can_spawn_agents);
        return createFunctions([...functions.tools, ...team, ...(place.tools ?? [])]);
      },
    },
  };
  return Object.freeze({
    ...app,
    ports,
    withConfig: (patch: Parameters<AppState['withConfig']>[0]) => withTeam(app.withConfig(patch), place),
    reload: () => withTeam(app.reload(), place),
  });
}

function nativeAgents({ paths }: AppState): (name: string) => boolean {
  const known = new Set(listAgents(paths));
  return (name) => known.has(name);
}

function modelOf(app: AppState, spec: AgentSpec): string {
  return spec.model ?? (app.config.model_id || (app.models.first('chat')?.id ?? ''));
}
