import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import { listAgents } from '../agent-spec/load.ts';
import type { AgentSpec } from '../agent-spec/spec.ts';
import { textOf, userText } from '../models/message.ts';
import type { AppState, FunctionsRequest, TeamRequest } from '../state/app-state.ts';
import type { AgentTeam } from '../state/scope.ts';
import { createFunctions, type Tool } from '../tools/tool.ts';
import { agentTools } from './agent-tools.ts';
import { type AskChannel, createEscalation, type Escalations } from './escalation.ts';
import { TeamInbox } from './inbox.ts';
import type { JobPort } from './job-port.ts';
import { type Summarise, TeamSupervisor } from './supervisor.ts';

/** One agent's position: which job it is, whom it asks, and who keeps its children. */
export interface TeamPosition {
  jobId: string;
  /** Ids from the root to its parent. */
  ancestors: readonly string[];
  /** When its parent is in another host, how deep it is all the same. */
  depth?: number | undefined;
  jobs: JobPort;
  /** Beside those of the team, whatever it enables. */
  tools?: readonly Tool[] | undefined;
  channel: AskChannel;
  escalations: Escalations;
  /** Where outputs too long for a prompt lie. */
  outputsDir: string;
}

/** Own supervisor and inbox, depth one more, the parent to write to, the one inbox to ask through. */
function createTeam(app: AppState, position: TeamPosition, { spec, parent }: TeamRequest): AgentTeam {
  const above = parent?.supervisor instanceof TeamSupervisor ? parent.supervisor : undefined;
  const depth = parent ? parent.currentDepth + 1 : (position.depth ?? 0);
  const inbox = new TeamInbox();
  const supervisor = new TeamSupervisor({
    spec,
    depth,
    inbox,
    selfId: position.jobId,
    cwd: app.cwd,
    jobs: position.jobs,
    parent: above,
    maxDepth: above?.maxDepth ?? spec.max_agent_depth,
    isNative: nativeAgents(app),
    summarise: createSummariser({ app, spec, modelId: () => modelOf(app, spec), dir: position.outputsDir }),
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

/** The state as one agent sees it: the same services, its own position in the team, and the tools for it. */
export function withTeam(app: AppState, position: TeamPosition): AppState {
  const { tools } = app;
  return Object.freeze({
    ...app,
    team: async (request: TeamRequest) => createTeam(app, position, request),
    tools: {
      ...tools,
      async build(request: FunctionsRequest) {
        const functions = await tools.build(request);
        const { supervisor, inbox, spec } = request.context.agentRuntime ?? {};
        if (!(supervisor instanceof TeamSupervisor && inbox instanceof TeamInbox && spec)) return functions;
        const team = agentTools(supervisor, inbox, spec.can_spawn_agents);
        return createFunctions([...functions.tools, ...team, ...(position.tools ?? [])]);
      },
    },
    withConfig: (patch: Parameters<AppState['withConfig']>[0]) => withTeam(app.withConfig(patch), position),
    reload: () => withTeam(app.reload(), position),
  });
}

function nativeAgents({ paths }: AppState): (name: string) => boolean {
  const known = new Set(listAgents(paths));
  return (name) => known.has(name);
}

function modelOf(app: AppState, spec: AgentSpec): string {
  return spec.model ?? (app.config.model_id || (app.models.first('chat')?.id ?? ''));
}

const PROMPT = `You shorten the report of an agent for the agent that asked for it. Keep what was done, what was found, with paths,
names, numbers and open questions, in the words of the report. Add nothing. Answer with the shortened report alone.`;
const HEAD = 2_000;

interface SummaryDeps {
  app: Pick<AppState, 'models'>;
  spec: AgentSpec;
  /** The model the agent itself speaks with. */
  modelId(): string;
  /** Where whole outputs lie: read without asking. */
  dir: string;
}

/** Long results by a model, the whole of it in a file. Without a summary the beginning has to do. */
function createSummariser({ app, spec, modelId, dir }: SummaryDeps): Summarise {
  return async ({ id, agent }, output, signal) => {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const full_output = join(dir, `agent-${id}.txt`);
    await writeAtomic(full_output, output);
    try {
      const model = app.models.find(spec.summarization_model ?? modelId(), 'chat');
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
