import { z } from 'zod';

const name = z.string().min(1).max(128);
const optionalText = z.string().nullable().default(null);
const count = z.number().int().min(0);

/** A list or a comma list; null and absent mean none. */
const names = z
  .union([z.array(z.string()), z.string().transform((list) => list.split(',').map((each) => each.trim()))])
  .nullable()
  .default(null)
  .transform((list) => (list ?? []).filter((each) => each !== ''));

/** `agents/NAME/config.yaml`. */
export const agentSpecSchema = z.strictObject({
  name: name.optional(),
  description: z.string().default(''),
  version: z.union([z.string(), z.number().transform(String)]).default(''),
  model: optionalText,
  temperature: z.number().min(0).max(2).nullable().default(null),
  top_p: z.number().min(0).max(2).nullable().default(null),
  agent_session: optionalText,
  auto_continue: z.boolean().default(false),
  max_auto_continues: count.default(10),
  inject_todo_instructions: z.boolean().default(true),
  continuation_prompt: optionalText,
  can_spawn_agents: z.boolean().default(false),
  /** The only agents it may start. External agents and workflows must be listed. */
  spawnable_agents: z.array(name).nullable().default(null),
  max_concurrent_agents: count.min(1).default(4),
  max_agent_depth: count.default(3),
  inject_spawn_instructions: z.boolean().default(true),
  summarization_model: optionalText,
  /** Characters. */
  summarization_threshold: count.default(4000),
  /** Seconds. */
  escalation_timeout: z.number().min(0).default(300),
  compression_threshold: count.nullable().default(null),
  mcp_servers: names,
  global_tools: names,
  /** The agent's tool `_instructions` gives the instructions. */
  dynamic_instructions: z.boolean().default(false),
  instructions: z.string().default(''),
  variables: z
    .array(z.strictObject({ name, description: z.string().default(''), default: z.string().nullable().default(null) }))
    .default([]),
  conversation_starters: z.array(z.string()).default([]),
  documents: z.array(z.string()).default([]),
});

/** The file of an agent. Its name is that of its folder, whatever the file says. */
export type AgentSpec = Readonly<z.output<typeof agentSpecSchema>> & {
  readonly name: string;
  /** `agents/NAME`. */
  readonly dir: string;
};

/** `workflow:NAME` is a run of that workflow, `workflow` a run of the repository's first one. */
export function isWorkflow(name: string): boolean {
  return name === 'workflow' || name.startsWith('workflow:');
}

/** An active agent: its file with the settings that `.set` may change. It never changes: `.set` replaces it by another. */
export type Agent = Readonly<ReturnType<typeof agentOf>>;

/** `instructions` have their variables and facts filled in. */
export function agentOf(spec: AgentSpec, instructions: string, variables: Readonly<Record<string, string>>) {
  return {
    spec,
    name: spec.name,
    instructions,
    variables,
    model: spec.model,
    temperature: spec.temperature,
    top_p: spec.top_p,
    max_output_tokens: null as number | null,
    compression_threshold: spec.compression_threshold,
    enabled_tools: spec.global_tools.join(','),
    enabled_mcp_servers: spec.mcp_servers.join(','),
  };
}
