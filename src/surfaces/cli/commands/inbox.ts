import { printable } from '../../../base/printable.ts';
import type { Command } from '../cli.ts';
import { renderQuestion } from '../render/question.ts';

export const inbox: Command<object> = async (cli) => {
  const result = await cli.client().call('inbox', {});
  const questions = result.questions.map((question) => renderQuestion(question, cli.style));
  const notices = result.notices.map(
    ({ kind, message }) => `${cli.style.paint('yellow', kind)}  ${printable(message)}`,
  );
  if (!cli.json && questions.length === 0) cli.talk('Nobody asks anything.');
  if (cli.json || questions.length + notices.length > 0) {
    cli.print(result, () => [...questions, ...(notices.length > 0 ? [notices.join('\n')] : [])].join('\n\n'));
  }
  return 0;
};
