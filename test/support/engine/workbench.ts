import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Capabilities, probeCapabilities } from '../../../src/process/capabilities.ts';
import { createRunCommand, type RunCommand } from '../../../src/runtime/tools/command.ts';
import type { Answer, Question, Tool, ToolContext } from '../../../src/runtime/tools/tool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A fresh folder for one test, with files in it. */
export function folder(files: Readonly<Record<string, string>> = {}): string {
  const dir = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

export async function commands(env: NodeJS.ProcessEnv = process.env): Promise<RunCommand> {
  return createRunCommand({ capabilities: await capabilities(), env });
}

export const capabilities = (): Promise<Capabilities> => probeCapabilities();

export interface Bench {
  asked: Question[];
  context: ToolContext;
  /** What the tool answered, or the message of what it threw. */
  use(name: string, args?: unknown): Promise<unknown>;
  find(name: string): Tool;
}

export function bench(tools: readonly Tool[], cwd: string, ...answers: Answer[]): Bench {
  const asked: Question[] = [];
  const context: ToolContext = {
    cwd,
    signal: new AbortController().signal,
    ask: async (question) => {
      asked.push(question);
      return answers.shift() ?? { kind: 'needs_human' };
    },
  };
  const find = (name: string) => {
    const tool = tools.find((each) => each.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return tool;
  };
  return {
    asked,
    context,
    find,
    use: (name, args = {}) =>
      find(name)
        .run(args, context)
        .catch((error: unknown) => `! ${error instanceof Error ? error.message : String(error)}`),
  };
}
