import type { TokenCounter } from '../../base/tokens.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Message, RepoState } from '../../protocol/repostate.ts';
import { type FormatOptions, formatForPrompt } from '../snapshot/format.ts';
import { cutToTokens } from './caps.ts';
import { OWN_TOTAL } from './limits.ts';

const APPROVED = 'Your plan has been approved. ';
const DELTA = `Complete the remaining open tasks and invoke 'done' when finished.

DO NOT recreate files that already exist. Use read_file to verify state before writing.`;

export interface SnapshotPromptOptions {
  counter: TokenCounter;
  /** Whether a plan was approved: the sentence that says so is only then true. */
  isPlanApproved?: boolean;
  format?: FormatOptions;
  /** Stores a context that was cut, before the prompt is used. */
  keep?(text: string): void;
}

/** The seed's prompt: template, snapshot, delta request; under 5,000 tokens in all (S-25). */
export function buildSnapshotPrompt(
  template: string,
  state: Readonly<RepoState>,
  { additionalContext, ...options }: SnapshotPromptOptions & { additionalContext: string },
): Message[] {
  const { counter, isPlanApproved = false } = options;
  const snapshot = formatForPrompt(state, { count: counter.count, ...options.format });
  const request = `${isPlanApproved ? APPROVED : ''}${DELTA}`;
  const room =
    OWN_TOTAL - 1 - [template, snapshot, request].reduce((sum, text) => sum + counter.count(text), 0) - SPARE;
  if (room < (additionalContext === '' ? 0 : LEAST_CONTEXT)) {
    throw new ReefError('prompt_too_large', `The template leaves no room within ${OWN_TOTAL} tokens.`, {
      details: { template: counter.count(template), limit: OWN_TOTAL },
    });
  }
  const context = cutToTokens(counter, additionalContext, { tokens: room });
  if (context.id !== undefined) options.keep?.(additionalContext);
  return [
    { role: 'system', text: template },
    { role: 'user', text: snapshot },
    { role: 'user', text: [request, context.text].filter((text) => text !== '').join('\n\n') },
  ];
}

/** For the joints between texts, which may tokenise differently together. */
const SPARE = 16;
const LEAST_CONTEXT = 64;
