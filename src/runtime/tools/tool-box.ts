import type { AgentSpec } from '../agent-spec/spec.ts';
import { variableEnvironment } from '../agent-spec/variables.ts';
import { metaTools } from '../mcp/meta/meta-tools.ts';
import { createToolCallTracker } from '../permissions/loop-guard.ts';
import type { FunctionsRequest, Ports } from '../state/app-state.ts';
import type { ContextData } from '../state/context-data.ts';
import { settingsOf } from '../state/turns.ts';
import { todoTools } from './builtin/todo.ts';
import { userTools } from './builtin/user.ts';
import type { CustomTools } from './custom/load-custom.ts';
import { toOutput } from './output.ts';
import { createFunctions, noFunctions, type Tool } from './tool.ts';

export interface ToolBoxParts {
  /** Ours, in the order in which a model sees them; made when a scope first has tools. */
  builtins: () => readonly Tool[];
  custom: CustomTools;
  /** `functions/tools`. */
  toolsDir: string;
  loopGuard: Parameters<typeof createToolCallTracker>[0];
}

type ToolBox = Ports['tools'] & Pick<Required<Ports>, 'dynamicInstructions'>;

/** Makes the functions of a scope out of the names a context resolved. */
export function createToolBox(parts: ToolBoxParts): ToolBox {
  const warned = new Set<string>();
  let custom: readonly Tool[] = [];
  const warnOnce = (context: ContextData, file: string, message: string) => {
    if (warned.has(`${file} ${message}`)) return;
    warned.add(`${file} ${message}`);
    context.app.warn({ file, line: undefined, message });
  };

  // The user's own come first: they replace ours of the same name.
  const all = () => [...custom, ...parts.builtins()];

  const visible = (context: ContextData): Tool[] => {
    const { visible_tools } = context.app.config;
    const isVisible = visible_tools && new Set(visible_tools.map((entry) => entry.replace(/\.(sh|py|ts|js)$/, '')));
    return isVisible ? all().filter(({ name }) => isVisible.has(name)) : all();
  };

  const chosenTools = async (context: ContextData, tools: FunctionsRequest['tools']): Promise<Tool[]> => {
    const { tools: found, broken } = await parts.custom.load(parts.toolsDir);
    for (const { file, reason } of broken) warnOnce(context, file, `this tool is left out: ${reason}`);
    custom = found;
    if (tools === 'all') return visible(context);
    if (tools.length === 0) return [];
    const known = visible(context);
    for (const name of tools.filter((each) => !known.some((tool) => tool.name === each))) {
      warnOnce(context, parts.toolsDir, `there is no tool ${name}`);
    }
    return known.filter(({ name }) => tools.includes(name));
  };

  const ownTools = async (context: ContextData): Promise<Tool[]> => {
    const { agent } = context;
    if (!agent) return [];
    const { tools, broken } = await parts.custom.loadAgent(agent.spec.dir, variableEnvironment(agent.variables));
    for (const { file, reason } of broken) warnOnce(context, file, `the agent's tools are left out: ${reason}`);
    return tools.filter(({ name }) => !name.startsWith('_'));
  };

  return {
    tracker: () => createToolCallTracker(parts.loopGuard),
    names: () => [...new Set(all().map(({ name }) => name))],
    async build({ tools, context, mcpRuntime }: FunctionsRequest) {
      if (!settingsOf(context.app.config, context).function_calling_support) return noFunctions;
      const [chosen, own] = await Promise.all([chosenTools(context, tools), ownTools(context)]);
      const { todoList } = context.agentRuntime ?? {};
      return createFunctions([
        ...own,
        ...chosen,
        ...userTools(),
        ...(todoList ? todoTools(todoList) : []),
        ...(mcpRuntime.servers.size > 0 ? metaTools(mcpRuntime) : []),
      ]);
    },
    dynamicInstructions: (spec, variables) => instructionsOf(parts.custom, spec, variables),
  };
}

async function instructionsOf(
  custom: CustomTools,
  spec: AgentSpec,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const { tools } = await custom.loadAgent(spec.dir, variableEnvironment(variables));
  const tool = tools.find(({ name }) => name === '_instructions');
  if (!tool) return '';
  const context = {
    cwd: spec.dir,
    signal: AbortSignal.timeout(30_000),
    ask: async () => ({ kind: 'needs_human' as const }),
  };
  return toOutput(await tool.run({}, context)).text.trim();
}
