import type { AgentSpec } from './spec.ts';

/** An agent at work: its file, and what `.set` made of its settings. Never changed: `.set` puts another in its place. */
export interface Agent {
  readonly spec: AgentSpec;
  readonly name: string;
  /** With variables and facts filled in. */
  readonly instructions: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly model: string | null;
  readonly temperature: number | null;
  readonly top_p: number | null;
  readonly max_output_tokens: number | null;
  readonly compression_threshold: number | null;
  /** Comma lists; an agent always has both, '' being none. */
  readonly enabled_tools: string;
  readonly enabled_mcp_servers: string;
}

export function agentOf(spec: AgentSpec, instructions: string, variables: Readonly<Record<string, string>>): Agent {
  return {
    spec,
    name: spec.name,
    instructions,
    variables,
    model: spec.model,
    temperature: spec.temperature,
    top_p: spec.top_p,
    max_output_tokens: null,
    compression_threshold: spec.compression_threshold,
    enabled_tools: spec.global_tools.join(','),
    enabled_mcp_servers: spec.mcp_servers.join(','),
  };
}
