import type { TokenCounter } from '../../base/tokens.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Message } from '../../protocol/repostate.ts';
import { identifiersIn } from '../snapshot/names.ts';
import { cutToTokens, INSTRUCTIONS_LIMIT, OWN_LIMITS } from './caps.ts';
import { type Segment, segmentHash } from './ledger.ts';

export interface PrefixInput {
  /** Sorted by name here and frozen for the job. */
  tools: readonly { name: string }[];
  /** Without time, id or path: shared by all jobs of a kind. */
  system: string;
  /** The project's own instruction files; not Reef's text. */
  instructions?: string;
  task: string;
  plan?: string;
}

export interface Prefix {
  tools: readonly { name: string }[];
  messages: Message[];
  segments: Segment[];
  /** Of the messages. */
  tokens: number;
  toolTokens: number;
  identifiers: ReadonlySet<string>;
  /** The task, when the prompt shows only its head and tail. */
  wholeTask?: string;
}

/** What no turn changes: tools, system, instructions, task and plan. */
export function makePrefix(input: PrefixInput, counter: TokenCounter, taskTokens: number): Prefix {
  const tools = [...input.tools].sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  const toolText = tools.length === 0 ? '' : JSON.stringify(tools);
  const whole = [input.task, input.plan ?? ''].filter((text) => text !== '').join('\n\nPlan:\n');
  const task = cutToTokens(counter, whole, { tokens: taskTokens, name: 'task' });
  const { instructions = '' } = input;
  const parts = [
    segment('tools', toolText, OWN_LIMITS.tools),
    segment('system', input.system, OWN_LIMITS.system),
    segment('instructions', instructions, INSTRUCTIONS_LIMIT),
    segment('task', task.text, taskTokens),
  ];
  const segments = parts.map(({ kind, text, limit }): Segment => {
    const tokens = counter.count(text);
    if (tokens > limit) {
      throw new ReefError('prompt_too_large', `The ${kind} text has ${tokens} tokens; at most ${limit} are allowed.`, {
        details: { part: kind, tokens, limit },
      });
    }
    return { kind, provenance: kind === 'instructions' ? 'project' : 'reef', tokens, hash: segmentHash(text) };
  });
  const messages: Message[] = [
    { role: 'system', text: input.system },
    ...(instructions === '' ? [] : [{ role: 'user' as const, text: instructions }]),
    { role: 'user', text: task.text },
  ];
  const [{ tokens: toolTokens } = { tokens: 0 }, ...rest] = segments;
  return {
    tools,
    messages,
    segments: segments.filter(({ tokens }) => tokens > 0),
    tokens: rest.reduce((sum, { tokens }) => sum + tokens, 0),
    toolTokens,
    identifiers: new Set(messages.flatMap(({ text }) => [...identifiersIn(text)])),
    ...(task.id !== undefined && { wholeTask: whole }),
  };
}

function segment(kind: 'tools' | 'system' | 'instructions' | 'task', text: string, limit: number) {
  return { kind, text, limit };
}
