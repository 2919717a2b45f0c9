import { variableEnvironment } from '../../runtime/agent-spec/variables.ts';
import type { FunctionsRequest } from '../../runtime/state/app-state.ts';
import type { ContextData } from '../../runtime/state/context-data.ts';
import { settingsOf } from '../../runtime/state/resolve.ts';
import { asBuiltin } from '../../runtime/tools/custom/as-builtin.ts';
import type { CustomTool } from '../../runtime/tools/custom/custom-tool.ts';
import type { CustomTools } from '../../runtime/tools/custom/load-custom.ts';
import { toolNameOf } from '../../runtime/tools/custom/tool-file.ts';
import type { Tool } from '../../runtime/tools/tool.ts';

export interface ToolSources {
  /** In the order in which a model sees them; made when a scope first has tools. */
  builtins: () => readonly Tool[];
  custom: CustomTools;
  /** The same for a dry run: it starts no program, and so knows only the tools that their text describes. */
  customAtRest: CustomTools;
  /** `functions/tools`. */
  toolsDir: string;
}

/** Finds the tools that a scope names, among the user's own and the built-in ones. */
export class ToolChoice {
  readonly #sources: ToolSources;
  #loaded: readonly CustomTool[] = [];

  constructor(sources: ToolSources) {
    this.#sources = sources;
  }

  /** The user's own come first: they replace built-in ones of the same name. */
  all(): readonly Tool[] {
    return [...this.#loaded, ...this.#sources.builtins()];
  }

  async chosen(context: ContextData, tools: FunctionsRequest['tools']): Promise<Tool[]> {
    const { toolsDir } = this.#sources;
    const { agent, app } = context;
    const { dry_run: isDry } = settingsOf(context);
    const loaded = await this.#custom(isDry).load(toolsDir, {
      wanted: [...(tools === 'all' ? [] : tools), ...(app.config.visible_tools ?? [])],
      ...(agent && { variables: variableEnvironment(agent.variables) }),
    });
    for (const { file, reason } of isDry ? [] : loaded.broken) warn(context, file, `this tool is left out: ${reason}`);
    this.#loaded = loaded.tools;
    if (tools.length === 0) return [];
    const visible = this.#visible(context);
    if (tools === 'all') return isDry ? [...visible] : this.#working(context, visible);
    const names = tools.map(toolNameOf);
    if (isDry) return visible.filter(({ name }) => names.includes(name));
    this.#warnOfMissing(
      context,
      names.filter((each) => !visible.some(({ name }) => name === each)),
    );
    const named = visible.filter(({ name }) => names.includes(name));
    return this.#working(context, named);
  }

  /** What an agent's own file defines. */
  async own(context: ContextData): Promise<Tool[]> {
    const { agent } = context;
    if (!agent) return [];
    const { dry_run: isDry } = settingsOf(context);
    const { tools, broken } = await this.#custom(isDry).loadAgent(agent.spec, variableEnvironment(agent.variables));
    for (const { file, reason } of isDry ? [] : broken)
      warn(context, file, `the agent's tools are left out: ${reason}`);
    return tools.filter(({ name }) => !name.startsWith('_'));
  }

  #custom(isDry: boolean): CustomTools {
    return isDry ? this.#sources.customAtRest : this.#sources.custom;
  }

  /** An agent lists its tools itself. */
  #visible(context: ContextData): readonly Tool[] {
    const { visible_tools } = context.app.config;
    if (!visible_tools || context.agent) return this.all();
    const names = new Set(visible_tools.map(toolNameOf));
    return this.all().filter(({ name }) => names.has(name));
  }

  #warnOfMissing(context: ContextData, names: readonly string[]): void {
    const known = new Set(this.all().map(({ name }) => name));
    const hidden = names.filter((name) => known.has(name)).join(', ');
    const message = `visible_tools does not list ${hidden}: write it there to use it`;
    if (hidden !== '') warn(context, context.app.paths.configFile(), message);
    for (const name of names.filter((each) => !known.has(each)))
      warn(context, this.#sources.toolsDir, `there is no tool ${name}`);
  }

  /** A script replaces the built-in tool of its name, unless it cannot work here. */
  async #working(context: ContextData, chosen: readonly Tool[]): Promise<Tool[]> {
    const { builtins, custom } = this.#sources;
    const byName = new Map(builtins().map((tool) => [tool.name, tool]));
    const replacing = this.#loaded.filter((tool) => chosen.includes(tool) && byName.has(tool.name));
    const problems = await custom.problems(replacing);
    return chosen.flatMap((tool) => {
      const script = replacing.find((each) => each === tool);
      const builtin = byName.get(tool.name);
      if (!script || !builtin) return [tool];
      const problem = problems.get(script.file);
      if (problem === undefined) return [asBuiltin(script, builtin)];
      warn(context, script.file, `the built-in ${tool.name} is used instead of this script: ${problem}`);
      return [];
    });
  }
}

/** Each warning is shown once. */
function warn({ app }: ContextData, file: string, message: string): void {
  app.warn({ file, line: undefined, message });
}
