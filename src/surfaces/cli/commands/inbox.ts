import type { Command } from '../cli.ts';
import { renderQuestion } from '../render/question.ts';

export const inbox: Command<object> = async (cli) => {
  const result = await cli.client().call('inbox', {});
  if (!cli.json && result.questions.length === 0) cli.talk('Nobody asks anything.');
  else cli.print(result, () => result.questions.map((question) => renderQuestion(question, cli.style)).join('\n\n'));
  return 0;
};
