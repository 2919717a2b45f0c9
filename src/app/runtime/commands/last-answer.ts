import { ReefError } from '../../../protocol/errors.ts';
import type { PromptBuilder } from '../../../runtime/engine/turn-deps.ts';
import {
  type AssistantMessage,
  type Message,
  textOf,
  type UserMessage,
  userText,
} from '../../../runtime/models/message.ts';
import type { ContextData, LastMessage } from '../../../runtime/state/context-data.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';
import { turnMessages } from '../../../runtime/state/turns.ts';
import type { FollowOn } from './command.ts';

const GO_ON = 'Go on exactly where your last answer stopped. Repeat nothing of it and say nothing about it.';

interface Exchange extends LastMessage {
  question: UserMessage;
}

function lastExchange(ctx: RequestContext): Exchange {
  const last = ctx.lastMessage;
  const question = last?.messages.find((message): message is UserMessage => message.role === 'user');
  if (!last || !question || last.output === '') {
    throw new ReefError('invalid_state', 'there is no answer yet: ask something first');
  }
  return { ...last, question };
}

/** Makes the same answer longer: afterwards the history has one question and one answer. */
export function continued(ctx: RequestContext): FollowOn {
  const last = lastExchange(ctx);
  const isInSession = isLastTurn(ctx, last);
  return {
    question: userText(GO_ON),
    isBare: true,
    adjust: (parts) => ({
      ...parts,
      prompt: {
        async build(turn) {
          const messages = await parts.prompt.build(turn);
          if (isInSession) return messages;
          const at = messages.findLastIndex((message) => message.role === 'user' && textOf(message) === GO_ON);
          return [...messages.slice(0, at), ...last.messages, ...messages.slice(at)];
        },
      },
    }),
    async keep({ messages, text }) {
      const output = last.output + text;
      const answer: AssistantMessage = { role: 'assistant', content: [{ type: 'text', text: output }] };
      const before = last.messages.slice(0, -1);
      const between = messages.slice(1, -1);
      const turn = { messages: [...before, ...between, answer], output };
      await ctx.afterChatCompletion(turn, isInSession ? 'replaces' : 'new');
    },
  };
}

/** Asks the same question again. The old answer stays until there is a new one. */
export function regenerated(ctx: RequestContext): FollowOn {
  const last = lastExchange(ctx);
  const isInSession = isLastTurn(ctx, last);
  return {
    question: last.question,
    isBare: true,
    adjust: (parts) => (isInSession ? { ...parts, prompt: promptBefore(ctx, last.question) } : parts),
    keep: ({ messages, text }) => ctx.afterChatCompletion({ messages, output: text }, isInSession ? 'replaces' : 'new'),
  };
}

/** The history as it was when the question was asked. */
function promptBefore(ctx: RequestContext, { content }: UserMessage): PromptBuilder {
  const session = ctx.session?.copy();
  session?.change({ kind: 'undone' });
  return { build: ([, ...since]) => [...turnMessages({ ...ctx, session }, content), ...since] };
}

function isLastTurn({ session }: ContextData, { question }: Exchange): boolean {
  const asked: Message | undefined = session?.messages.findLast(({ role }) => role === 'user');
  return asked !== undefined && textOf(asked) === textOf(question);
}
