import { lookup } from 'node:dns/promises';
import { join } from 'node:path';
import { onFirstUse } from '../../base/lazily.ts';
import { ReefError } from '../../protocol/errors.ts';
import { variableEnvironment } from '../../runtime/agent-spec/variables.ts';
import { metaTools } from '../../runtime/mcp/meta/meta-tools.ts';
import type { Paths, Variables } from '../../runtime/paths.ts';
import { createToolCallTracker } from '../../runtime/permissions/loop-guard.ts';
import type { FunctionsRequest, Ports } from '../../runtime/state/app-state.ts';
import { canAskBack } from '../../runtime/state/context-data.ts';
import type { PortBase } from '../../runtime/state/init.ts';
import { settingsOf } from '../../runtime/state/resolve.ts';
import { createBuiltinTools } from '../../runtime/tools/builtin/all.ts';
import { todoTools } from '../../runtime/tools/builtin/todo.ts';
import { createUrlGuard } from '../../runtime/tools/builtin/url-guard.ts';
import { userTools } from '../../runtime/tools/builtin/user.ts';
import type { RunCommand } from '../../runtime/tools/command.ts';
import { CustomTools, dotEnv } from '../../runtime/tools/custom/load-custom.ts';
import { toOutput } from '../../runtime/tools/output.ts';
import { createFunctions, noFunctions } from '../../runtime/tools/tool.ts';
import { ToolChoice, type ToolSources } from './tool-choice.ts';

/** Built-in tools, the user's own, and the choice of a scope among them. */
export function createTools(
  { config, paths, environment, clock }: PortBase,
  { run, outputsDir }: { run: RunCommand; outputsDir: string },
): ToolBox {
  const variables = { ...dotEnv(paths.functionsEnvFile()), ...environment };
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
    custom: openCustomTools(run, paths, variables),
    customAtRest: openCustomTools(startNothing, paths, variables),
    toolsDir: paths.globalToolsDir(),
    loopGuard: config.reef.tool_loop,
  });
}

const startNothing: RunCommand = () => Promise.reject(new ReefError('invalid_state', 'a dry run starts no program'));

/** The user's own tools, in the folders where they lie. */
export function openCustomTools(run: RunCommand, paths: Paths, variables: Variables): CustomTools {
  return new CustomTools({
    run,
    functionsDir: paths.functionsDir(),
    utilsFile: paths.promptUtilsFile(),
    configDir: paths.configDir(),
    cacheDir: join(paths.cachePath(), 'tools'),
    variables,
  });
}

export interface ToolBoxDeps extends ToolSources {
  loopGuard: Parameters<typeof createToolCallTracker>[0];
}

type ToolBox = Ports['tools'] & Pick<Required<Ports>, 'dynamicInstructions'>;

/** Makes the functions of a scope out of the names a context resolved. */
export function createToolBox(parts: ToolBoxDeps): ToolBox {
  const choice = new ToolChoice(parts);
  return {
    tracker: () => createToolCallTracker(parts.loopGuard),
    names: () => [...new Set(choice.all().map(({ name }) => name))],
    async build({ tools, context, mcpRuntime }: FunctionsRequest) {
      if (!settingsOf(context).function_calling_support) return noFunctions;
      const [chosen, own] = await Promise.all([choice.chosen(context, tools), choice.own(context)]);
      const { todoList } = context.agentRuntime ?? {};
      return createFunctions([
        ...own,
        ...chosen,
        ...(canAskBack(context) ? userTools() : []),
        ...(todoList ? todoTools(todoList) : []),
        ...(mcpRuntime.servers.size > 0 ? metaTools(mcpRuntime) : []),
      ]);
    },
    async dynamicInstructions(spec, variables) {
      const { tools } = await parts.custom.loadAgent(spec, variableEnvironment(variables));
      const tool = tools.find(({ name }) => name === '_instructions');
      if (!tool) return '';
      const ask = async () => ({ kind: 'needs_human' as const });
      return toOutput(await tool.run({}, { cwd: spec.dir, signal: AbortSignal.timeout(30_000), ask })).text.trim();
    },
  };
}
