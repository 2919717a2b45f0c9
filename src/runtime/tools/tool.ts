import type { JsonSchema, ToolDeclaration } from '../models/client.ts';

export type ToolEffect = 'read' | 'write' | 'exec' | 'ask';

/** A question to whoever watches. Implemented by the surface, or by the inbox for a job. */
export type Question =
  | { kind: 'choice'; question: string; options: readonly string[] }
  | { kind: 'choices'; question: string; options: readonly string[] }
  | { kind: 'confirm'; question: string }
  | { kind: 'input'; question: string }
  | { kind: 'permission'; question: string; tool: string; arguments: unknown; cwd: string; reasons: readonly string[] };

/** Any other word is a denial. */
export type Decision = 'allow_once' | 'allow_session' | 'allow_always' | 'deny';

export type Answer =
  | { kind: 'choice'; choice: string }
  | { kind: 'choices'; choices: readonly string[] }
  | { kind: 'confirm'; confirmed: boolean }
  | { kind: 'input'; text: string }
  | { kind: 'permission'; decision: Decision }
  /** Nobody answered in time; the model is told to decide for itself. */
  | { kind: 'timeout'; waitedMs: number }
  /** Nobody is there to ask (`--headless`): the run ends with what a person has to do. */
  | { kind: 'needs_human' };

export type AskFn = (question: Question, signal: AbortSignal) => Promise<Answer>;

export interface ToolContext {
  cwd: string;
  signal: AbortSignal;
  ask: AskFn;
}

/** What a call is about to touch, for the permission rules. Computed without touching anything. */
export interface Claims {
  /** What `match` of a rule is compared with, unless the call is a command. */
  subject?: string;
  /** A shell line: every part of it must pass. */
  command?: string;
  /** Paths outside the working directory: always a question. */
  outside?: readonly string[];
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly effect: ToolEffect;
  claims?(args: unknown, cwd: string): Claims;
  /** Null or undefined is `DONE`; text is taken as it is, the rest as JSON. A failure is thrown. */
  run(args: unknown, context: ToolContext): Promise<unknown>;
}

/** The tools of a scope, by name, in order. */
export interface Functions {
  readonly tools: readonly Tool[];
  find(name: string): Tool | undefined;
  declarations(): ToolDeclaration[];
}

/** Of equal names the first counts: built-in before custom is the caller's order. */
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
  /** A new user message: what was repeated before it does not count. */
  reset(): void;
  /** A step of the model begins. */
  nextStep(): void;
  /** `alert`: the model is told that it goes round in circles; `stop`: it was told, and did it again. */
  record(call: { name: string; arguments: unknown; output: string }): 'ok' | 'alert' | 'stop';
}
