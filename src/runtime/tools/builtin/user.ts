import { z } from 'zod';
import { onFirstUse } from '../../../base/lazily.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { defineTool } from '../define-tool.ts';
import type { Answer, Question, Tool, ToolContext } from '../tool.ts';

const OTHER = 'Other (custom)';
const question = onFirstUse(() => z.string().min(1).max(16_384));
const options = onFirstUse(() => z.array(z.string().min(1)).min(1).max(20));

/** Without an answer the model is told to decide, or the run ends and says what a person has to do. */
export function userTools(): Tool[] {
  return [
    choosing('user__ask', 'one of several options', async (args, context) => {
      const answer = await ask({ kind: 'choice', ...args }, context);
      if (answer.kind !== 'choice') return unanswered(answer);
      return answer.choice === OTHER ? custom(args.question, context) : { answer: answer.choice };
    }),
    choosing('user__checkbox', 'any number of several options', async (args, context) => {
      const answer = await ask({ kind: 'choices', ...args }, context);
      if (answer.kind !== 'choices') return unanswered(answer);
      const answers = answer.choices.filter((choice) => choice !== OTHER);
      if (answers.length === answer.choices.length) return { answers };
      const more = await custom(args.question, context);
      return { answers: 'answer' in more ? [...answers, more.answer] : answers };
    }),
    defineTool({
      name: 'user__confirm',
      description: 'Asks the person a question of yes or no.',
      effect: 'ask',
      arguments: () => z.object({ question: question() }),
      async run(args, context) {
        const answer = await ask({ kind: 'confirm', question: args.question }, context);
        return answer.kind === 'confirm' ? { confirmed: answer.confirmed } : unanswered(answer);
      },
    }),
    defineTool({
      name: 'user__input',
      description: 'Asks the person for a text.',
      effect: 'ask',
      arguments: () => z.object({ question: question() }),
      run: (args, context) => custom(args.question, context),
    }),
  ];
}

interface Choice {
  question: string;
  options: string[];
}

/** The person can always give an answer that is not in the list. */
function choosing(name: string, what: string, run: (choice: Choice, context: ToolContext) => Promise<unknown>): Tool {
  return defineTool({
    name,
    description: `Asks the person to choose ${what}.`,
    effect: 'ask',
    arguments: () => z.object({ question: question(), options: options() }),
    run: (args, context) => run({ question: args.question, options: [...args.options, OTHER] }, context),
  });
}

async function custom(text: string, context: ToolContext) {
  const answer = await ask({ kind: 'input', question: text }, context);
  return answer.kind === 'input' ? { answer: answer.text } : unanswered(answer);
}

async function ask(asked: Question, context: ToolContext): Promise<Answer> {
  const answer = await context.ask(asked, context.signal);
  if (answer.kind !== 'needs_human') return answer;
  const options = 'options' in asked ? { options: asked.options } : {};
  throw new ReefError('needs_human', `A person has to answer: ${asked.question}`, {
    details: { needs_human: true, action: asked.kind, question: asked.question, ...options },
  });
}

function unanswered(answer: Answer) {
  const why =
    answer.kind === 'timeout' ? `Nobody answered within ${Math.round(answer.waitedMs / 1000)} s` : 'No answer came';
  return { error: why, fallback: 'Decide yourself, carefully, and say in your answer what you decided.' };
}
