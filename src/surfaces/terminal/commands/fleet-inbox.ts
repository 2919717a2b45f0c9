import { systemClock } from '../../../base/clock.ts';
import { answerOutcome, answerQuestion, openQuestions } from '../../../fleet/store/inbox.ts';
import { oneLine } from '../../render/columns.ts';
import type { Command } from '../cli.ts';
import { audited, type DatabaseOptions, operatorName, withDatabase } from './fleet-database.ts';

export const inbox: Command<DatabaseOptions> = async (cli, _args, named) => {
  const questions = await withDatabase(cli, named, (database) => openQuestions(database));
  cli.print({ questions }, () => {
    if (questions.length === 0) return 'Nobody asks anything.';
    return questions
      .map(({ id, host, doc, answeredBy }) => {
        const options = (doc.options ?? []).map((option, index) => `  ${index + 1}. ${oneLine(String(option), 100)}`);
        const first = answeredBy === null ? [] : [`  ${answeredBy} has answered; the host passes it on.`];
        return [`${id}  on ${host}`, `  ${oneLine(doc.question, 200)}`, ...options, ...first].join('\n');
      })
      .join('\n');
  });
  return 0;
};

interface AnswerOptions extends DatabaseOptions {
  option?: string[];
  allow?: true;
  deny?: true;
}

const LOOK_MS = 200;
const PATIENCE_MS = 10_000;

export const answer: Command<AnswerOptions> = (cli, [question = '', text], { option, allow, deny, ...named }) =>
  audited(cli, { ...named, operation: 'answer', target: question }, async (database) => {
    const decision = allow ? 'allow' : deny ? 'deny' : undefined;
    const asked = (await openQuestions(database)).find(({ id }) => id === question);
    // Whoever allows something allows what the inbox shows now.
    const seen = decision === undefined ? {} : { decision, fingerprint: asked?.doc.fingerprint };
    const id = await answerQuestion(database, { question, value: { text, option, ...seen }, by: operatorName() });
    const deadline = systemClock.monotonicMs() + PATIENCE_MS;
    let outcome = await answerOutcome(database, id);
    while (outcome === undefined && systemClock.monotonicMs() < deadline) {
      await systemClock.sleep(LOOK_MS);
      outcome = await answerOutcome(database, id);
    }
    const delivered = outcome !== undefined;
    cli.print({ id, delivered }, () => (delivered ? 'Answered.' : 'Taken; its host passes it on when it is back.'));
    return 0;
  });
