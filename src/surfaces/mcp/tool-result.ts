import type { OperationName, OperationOutput } from '../../protocol/operations.ts';
import { slimResult } from './slim.ts';
import { asTools, textOf } from './text.ts';

const REST = 'the structured result, or a smaller limit';

export interface ToolResult {
  content: [{ type: 'text'; text: string }];
  structuredContent: Record<string, unknown>;
}

/** What a tool answers of the output of its operation. */
export function toolResult<N extends OperationName>(name: N, output: OperationOutput<N>): ToolResult {
  const text = asTools(textOf(name, output, { now: new Date(), rest: REST }));
  return { content: [{ type: 'text', text }], structuredContent: slimResult(name, output) };
}
