import type { AppConfig } from '../config/app-config.ts';
import type { ContextData } from './context-data.ts';
import type { Layer, Layers } from './resolve.ts';

/** What each active layer of a context says, in the words of the table. */
export function layersOf(ctx: ContextData, config: AppConfig = ctx.app.config): Layers {
  const { session, agent, overrides } = ctx;
  const role = session?.role ?? ctx.role;
  const rag = (ctx.agentRuntime?.rag ?? ctx.rag)?.value;
  return {
    flag: { ...overrides, ...(session?.saveThisTime !== undefined && { save_session: session.saveThisTime }) },
    session: session && { ...pick(session.state), max_output_tokens: session.max_output_tokens },
    agent: agent && { ...agent, prompt: agent.instructions },
    role,
    rag: rag && { rag_top_k: rag.settings.top_k, rag_reranker_model: rag.settings.reranker_model },
    global: { ...config, model: config.model_id, max_output_tokens: ctx.globalMaxOutputTokens },
  };
}

type SessionSettings = NonNullable<ContextData['session']>['state'];

function pick(state: SessionSettings): Layer {
  const { model, temperature, top_p, enabled_tools, enabled_mcp_servers, save_session, compression_threshold } = state;
  return { model, temperature, top_p, enabled_tools, enabled_mcp_servers, save_session, compression_threshold };
}
