import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { onFirstUse } from '../../base/lazily.ts';
import { variableEnvironment } from '../../runtime/agent-spec/variables.ts';
import { metaTools } from '../../runtime/mcp/meta/meta-tools.ts';
import { createToolCallTracker } from '../../runtime/permissions/loop-guard.ts';
import type { FunctionsRequest, Ports } from '../../runtime/state/app-state.ts';
import type { ContextData } from '../../runtime/state/context-data.ts';
import type { PortBase } from '../../runtime/state/init.ts';
import { settingsOf } from '../../runtime/state/resolve.ts';
import { createBuiltinTools } from '../../runtime/tools/builtin/all.ts';
import { todoTools } from '../../runtime/tools/builtin/todo.ts';
import { createUrlGuard } from '../../runtime/tools/builtin/url-guard.ts';
import { userTools } from '../../runtime/tools/builtin/user.ts';
import type { RunCommand } from '../../runtime/tools/command.ts';
import { CustomTools } from '../../runtime/tools/custom/load-custom.ts';
import { toOutput } from '../../runtime/tools/output.ts';
import { createFunctions, noFunctions, type Tool } from '../../runtime/tools/tool.ts';

/** Built-in tools, the user's own, and the choice of a scope among them. */
export function createTools(
  { config, paths, environment, clock }: PortBase,
  { run, outputsDir }: { run: RunCommand; outputsDir: string },
): ToolBox {
  const variables = { ...functionVariables(paths.functionsEnvFile()), ...environment };
  const addresses = async (host: string) => (await lookup(host, { all: true })).map(({ address }) => address);
  return createToolBox({
    builtins: onFirstUse(() =>
      createBuiltinTools({
        run,
        shell: environment.REEF_SHELL ?? '/bin/sh',
        dsn: variables.USQL_DSN,
        addressesOf: createUrlGuard({ lookup: addresses, allowed: config.reef.allowed_hosts }),
        get: async (...where) => (await import('./http-requests.ts')).pinnedGet(...where),
        clock,
        outputsDir,
      }),
    ),
    custom: new CustomTools({
      run,
      rootDir: paths.functionsDir(),
      cacheDir: join(paths.cachePath(), 'tools'),
      variables,
    }),
    toolsDir: paths.globalToolsDir(),
    loopGuard: config.reef.tool_loop,
  });
}

/** `functions/.env`: variables for the user's tools, besides the environment. */
function functionVariables(file: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

export interface ToolBoxDeps {
  /** In the order in which a model sees them; made when a scope first has tools. */
  builtins: () => readonly Tool[];
  custom: CustomTools;
  /** `functions/tools`. */
  toolsDir: string;
  loopGuard: Parameters<typeof createToolCallTracker>[0];
}

type ToolBox = Ports['tools'] & Pick<Required<Ports>, 'dynamicInstructions'>;

/** Makes the functions of a scope out of the names a context resolved. */
export function createToolBox(parts: ToolBoxDeps): ToolBox {
  const warned = new Set<string>();
  let custom: readonly Tool[] = [];
  const warnOnce = (context: ContextData, file: string, message: string) => {
    if (warned.has(`${file} ${message}`)) return;
    warned.add(`${file} ${message}`);
    context.app.warn({ file, line: undefined, message });
  };

  // The user's own come first: they replace built-in ones of the same name.
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
      if (!settingsOf(context).function_calling_support) return noFunctions;
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
    async dynamicInstructions({ dir }, variables) {
      const { tools } = await parts.custom.loadAgent(dir, variableEnvironment(variables));
      const tool = tools.find(({ name }) => name === '_instructions');
      if (!tool) return '';
      const ask = async () => ({ kind: 'needs_human' as const });
      return toOutput(await tool.run({}, { cwd: dir, signal: AbortSignal.timeout(30_000), ask })).text.trim();
    },
  };
}
