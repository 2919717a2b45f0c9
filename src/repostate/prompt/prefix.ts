import type { TokenCounter } from '../../base/tokens.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Message } from '../../protocol/repostate.ts';
import { identifiersIn } from '../snapshot/names.ts';
import { cutToTokens, INSTRUCTIONS_LIMIT, OWN_LIMITS } from './caps.ts';
import { type Segment, segmentOf } from './ledger.ts';

export interface PrefixInput {
  /** Sorted before they are counted, so that their order does not matter. */
  tools: readonly { name: string }[];
  /** Shared by all jobs of a kind, so it names no time, id or path. */
  system: string;
  /** The project's own instruction files, which are not Reef's text. */
  instructions?: string;
  task: string;
}

export type Prefix = ReturnType<typeof makePrefix>;

/** The part of a prompt that no turn changes: tools, system, instructions and task. */
export function makePrefix(input: PrefixInput, counter: TokenCounter, taskTokens: number) {
  const tools = [...input.tools].sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  const task = cutToTokens(counter, input.task, { tokens: taskTokens, name: 'task' });
  const { system, instructions = '' } = input;
  const segment = (kind: 'tools' | 'system' | 'instructions' | 'task', text: string, limit: number): Segment => {
    const tokens = counter.count(text);
    if (tokens <= limit) return segmentOf(kind, text, tokens);
    throw new ReefError('prompt_too_large', `The ${kind} text has ${tokens} tokens; at most ${limit} are allowed.`, {
      details: { part: kind, tokens, limit },
    });
  };
  const toolSegment = segment('tools', tools.length === 0 ? '' : JSON.stringify(tools), OWN_LIMITS.tools);
  const segments = [
    segment('system', system, OWN_LIMITS.system),
    segment('instructions', instructions, INSTRUCTIONS_LIMIT),
    segment('task', task.text, taskTokens),
  ];
  const messages: Message[] = [
    { role: 'system', text: system },
    ...(instructions === '' ? [] : [{ role: 'user' as const, text: instructions }]),
    { role: 'user', text: task.text },
  ];
  return {
    messages,
    segments: [toolSegment, ...segments].filter(({ tokens }) => tokens > 0),
    /** Of the messages. */
    tokens: segments.reduce((sum, { tokens }) => sum + tokens, 0),
    toolTokens: toolSegment.tokens,
    identifiers: new Set(messages.flatMap(({ text }) => [...identifiersIn(text)])),
    /** Set when the prompt shows only the head and tail of the task. */
    wholeTask: task.id === undefined ? undefined : input.task,
  };
}
