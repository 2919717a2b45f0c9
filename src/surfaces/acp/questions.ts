import type { PermissionOption, RequestPermissionRequest } from '@agentclientprotocol/sdk';
import { printable } from '../../base/printable.ts';
import type { InboxEntry } from '../../protocol/job-operations.ts';
import type { OperationInput } from '../../protocol/operations.ts';
import { renderQuestion } from '../render/question.ts';
import { createStyle } from '../render/style.ts';

type Asked = Omit<RequestPermissionRequest, 'sessionId'>;
type Answer = Pick<OperationInput<'send'>, 'decision' | 'option'>;

const DECISIONS: readonly PermissionOption[] = [
  { optionId: 'allow_once', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'allow_session', name: 'Allow for this task', kind: 'allow_always' },
  { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
];

/** Undefined: nothing to choose from. The person answers by the next message. */
export function toRequest(asked: InboxEntry): Asked | undefined {
  const { questionId, question, kind } = asked;
  const text = renderQuestion(asked, createStyle({ colour: false, width: 100, now: new Date() }), []);
  const toolCall = {
    toolCallId: `question-${questionId}`,
    title: printable(question),
    content: [{ type: 'content' as const, content: { type: 'text' as const, text } }],
  };
  if (kind === 'permission') {
    const covers = asked.grant && ` (${printable(asked.grant.covers)})`;
    const options = DECISIONS.filter(({ kind: of }) => of !== 'allow_always' || covers !== undefined);
    return {
      toolCall,
      options: options.map((each) => (each.kind === 'allow_always' ? { ...each, name: each.name + covers } : each)),
    };
  }
  const labels = asked.choices?.map(({ label }) => label) ?? asked.options ?? [];
  if (labels.length === 0) return undefined;
  const options = labels.map((label, at) => ({
    optionId: `${at + 1}`,
    name: printable(label),
    kind: 'allow_once' as const,
  }));
  return { toolCall, options };
}

export function toAnswer({ kind }: InboxEntry, optionId: string): Answer {
  if (kind !== 'permission') return { option: [Number(optionId)] };
  const { optionId: decision = 'deny' } = DECISIONS.find((each) => each.optionId === optionId) ?? {};
  return { decision: decision as NonNullable<Answer['decision']> };
}
