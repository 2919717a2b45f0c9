import type { JsonSchema, ToolDeclaration } from '../models/client.ts';

export type ToolEffect = 'read' | 'write' | 'exec' | 'ask';

/** A question to the person. */
export type Question =
  | { kind: 'choice'; question: string; options: readonly string[] }
  | { kind: 'choices'; question: string; options: readonly string[] }
  | { kind: 'confirm'; question: string }
  | { kind: 'input'; question: string }
  | { kind: 'permission'; question: string; tool: string; arguments: unknown; cwd: string; reasons: readonly string[] };

export type Decision = 'allow_once' | 'allow_session' | 'allow_always' | 'deny';

export type Answer =
  | { kind: 'choice'; choice: string }
  | { kind: 'choices'; choices: readonly string[] }
  | { kind: 'confirm'; confirmed: boolean }
  | { kind: 'input'; text: string }
  | { kind: 'permission'; decision: Decision }
  /** Nobody answered in time. The model is told to decide. */
  | { kind: 'timeout'; waitedMs: number }
  /** Nobody can be asked (`--headless`). The run ends and says what a person has to do. */
  | { kind: 'needs_human' };

export type AskFn = (question: Question, signal: AbortSignal) => Promise<Answer>;

export interface ToolContext {
  cwd: string;
  signal: AbortSignal;
  ask: AskFn;
}

/** What a call would touch, for the permission rules. */
export interface Claims {
  /** Compared with `match` of a rule, unless the call is a command. */
  subject?: string;
  /** A shell line. Every part of it must be allowed. */
  command?: string;
  /** Paths outside the working directory. They are always asked about. */
  outside?: readonly string[];
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly effect: ToolEffect;
  claims?(args: unknown, cwd: string): Claims;
  /** Null and undefined become `DONE`, text stays, anything else becomes JSON. A failure is thrown. */
  run(args: unknown, context: ToolContext): Promise<unknown>;
}

/** The tools of a scope, in order. */
export interface Functions {
  readonly tools: readonly Tool[];
  find(name: string): Tool | undefined;
  declarations(): ToolDeclaration[];
}

/** Of tools with the same name the first counts. */
export function createFunctions(tools: readonly Tool[]): Functions {
  const byName = new Map<string, Tool>();
  for (const tool of tools) if (!byName.has(tool.name)) byName.set(tool.name, tool);
  const list = Object.freeze([...byName.values()]);
  return {
    tools: list,
    find: (name) => byName.get(name),
    declarations: () => list.map(({ name, description, parameters }) => ({ name, description, parameters })),
  };
}

export const noFunctions: Functions = createFunctions([]);

/** The loop guard of a scope. */
export interface ToolCallTracker {
  /** Called for a new user message: earlier repetitions no longer count. */
  reset(): void;
  nextStep(): void;
  /** `alert`: the model is told that it repeats itself. `stop`: it was told, and did it again. */
  record(call: { name: string; arguments: unknown; output: string }): 'ok' | 'alert' | 'stop';
}
