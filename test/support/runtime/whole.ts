import type { AppConfig } from '../../../src/runtime/config/app-config.ts';
import type { McpRuntime } from '../../../src/runtime/mcp/factory.ts';
import type { AppState } from '../../../src/runtime/state/app-state.ts';
import type { ContextData } from '../../../src/runtime/state/context-data.ts';
import { RequestContext } from '../../../src/runtime/state/request-context.ts';
import type { AgentRuntime } from '../../../src/runtime/state/scope.ts';
import type { Functions, ToolCallTracker } from '../../../src/runtime/tools/tool.ts';
import type { Vault } from '../../../src/runtime/vault/vault.ts';

type Flat = Pick<
  ContextData,
  'macroDepth' | 'workingMode' | 'model' | 'role' | 'session' | 'rag' | 'agent' | 'lastMessage'
>;
type Agency = Omit<AgentRuntime, 'spec' | 'rag'> & { agentRag: AgentRuntime['rag'] };

/**
 * What the seed's ancestor kept in one object, flat: configuration, request, tools and supervision. Nothing runs on it; it
 * states the law that the parts hold all of the whole and nothing twice (T1).
 */
export type Whole = Omit<AppConfig, 'reef'> &
  Flat & {
    vault: Vault;
    functions: Functions;
    mcpRuntime: McpRuntime;
    toolTracker: ToolCallTracker;
    /** Undefined as one: an agent's parts are there together or not at all. */
    agency: Agency | undefined;
  };

export function toAppConfig(whole: Whole, reef: AppConfig['reef']): AppConfig {
  const { vault: _v, functions: _f, mcpRuntime: _m, toolTracker: _t, agency: _a, ...rest } = whole;
  const { macroDepth, workingMode, model, role, session, ...more } = rest;
  const { rag, agent, lastMessage, ...fields } = more;
  return { ...fields, reef };
}

export function toRequestContext(whole: Whole, app: AppState): RequestContext {
  const { functions, mcpRuntime, toolTracker, agency, workingMode, model } = whole;
  const toolScope = { functions, mcpRuntime, toolTracker };
  const context = new RequestContext({ app, workingMode, model, toolScope, overrides: {}, ui: undefined });
  const { macroDepth, role, session, rag, agent, lastMessage } = whole;
  Object.assign(context, { macroDepth, role, session, rag, agent, lastMessage });
  if (agency && agent) {
    const { agentRag, ...team } = agency;
    context.agentRuntime = { ...team, spec: agent.spec, ...(agentRag && { rag: agentRag }) };
  }
  return context;
}

export function fromParts(app: AppState, ctx: ContextData): Whole {
  const { reef: _, ...fields } = app.config;
  const { macroDepth, workingMode, model, role, session, rag, agent, lastMessage } = ctx;
  return {
    ...fields,
    ...{ macroDepth, workingMode, model, role, session, rag, agent, lastMessage },
    vault: app.vault,
    ...ctx.toolScope,
    agency: ctx.agentRuntime && agencyOf(ctx.agentRuntime),
  };
}

function agencyOf({ spec: _, rag, ...team }: AgentRuntime): Agency {
  return { ...team, agentRag: rag };
}
