import { defined } from '../base/defined.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Question } from '../protocol/jobs.ts';
import type { OperationRequest } from '../protocol/operations.ts';
import type { Answer } from './adapter.ts';
import { fieldValue } from './form-field.ts';

type SendRequest = OperationRequest<'send'>;

export type Intent = { is: 'message'; text: string } | { is: 'answer'; question: Question; answer: Answer };

/** What a `send` means, given the open questions. Only an exact decision answers a permission; text never does. */
export function interpretSend(request: SendRequest, open: Question[]): Intent {
  const text = request.option ? undefined : request.text;
  const given = [text, request.option, request.decision].filter((part) => part !== undefined);
  if (given.length !== 1) throw new ReefError('bad_request', 'give exactly one of text, option or decision');
  if (text !== undefined && request.questionId === undefined && open.length === 0) return { is: 'message', text };
  const question = chooseQuestion(request, open);
  const answer = toAnswer(request, question);
  refuseMisfit(question, answer);
  return { is: 'answer', question, answer };
}

/** A form is checked field by field before it is taken: a server would refuse it when nobody can be asked any more. */
function refuseMisfit({ field, header }: Question, answer: Answer): void {
  if (!field || answer.kind === 'permission') return;
  const checked = fieldValue(field, answer);
  if ('bad' in checked) throw new ReefError('bad_answer', `${header ?? field.name}: ${checked.bad}`);
}

function chooseQuestion(request: SendRequest, open: Question[]): Question {
  if (request.questionId !== undefined) {
    const named = open.find((question) => question.questionId === request.questionId);
    if (named) return named;
    throw new ReefError('question_not_found', `no open question ${request.questionId}`);
  }
  const [only, ...others] = open;
  if (!only) throw new ReefError('question_not_found', 'this job has no open question');
  if (others.length > 0) {
    const questions = open.map(({ questionId, question }) => ({ questionId, question }));
    throw new ReefError('which_question', `${open.length} questions are open`, { details: { questions } });
  }
  return only;
}

function toAnswer(request: SendRequest, question: Question): Answer {
  if (request.decision !== undefined) return toDecision(request, question);
  if (question.kind === 'permission') {
    throw new ReefError('answer_needs_decision', 'this question asks for a permission, and text does not answer it');
  }
  return request.option ? toChoice(request, question) : toText(request.text ?? '', question);
}

function toDecision(request: SendRequest, question: Question): Answer {
  const isDeclined = request.decision === 'deny' && question.field !== undefined;
  if (request.decision === undefined || (question.kind !== 'permission' && !isDeclined)) {
    throw new ReefError('bad_request', 'a decision answers a permission; this question wants an option or text');
  }
  if (request.fingerprint === undefined) {
    throw new ReefError('bad_request', 'a decision names the fingerprint of the question it is about');
  }
  if (request.fingerprint !== question.fingerprint) {
    throw new ReefError('question_changed', 'the question is not the one this decision was made about');
  }
  if (question.cut && request.decision !== 'deny') {
    throw new ReefError('question_cut', `${question.cut.bytes} bytes were asked about, and not all of them were shown`);
  }
  return { kind: 'permission', decision: request.decision, ...defined({ reason: request.reason }) };
}

function toChoice(request: SendRequest, question: Question): Answer {
  const choices = question.choices ?? [];
  const wanted = request.option ?? [];
  if (wanted.length > 1 && !question.multi) throw badOption('one option only', question);
  const chosen = wanted.map((option) => {
    const found = typeof option === 'number' ? choices[option - 1] : findChoice(choices, option);
    if (!found) throw badOption(`${JSON.stringify(option)} is not an option`, question);
    return found;
  });
  const text = defined({ text: request.text });
  return { kind: 'choice', labels: chosen.map((c) => c.label), ids: chosen.map((c) => c.id), ...text };
}

type Choices = NonNullable<Question['choices']>;

/** By label, then by id, then by the number that people type. */
function findChoice(choices: Choices, option: string) {
  const byName = byLabel(choices, option) ?? choices.find((c) => c.id === option);
  return byName ?? (/^\d{1,3}$/.test(option) ? choices[Number(option) - 1] : undefined);
}

/** People type small letters: they will do where they mean one label alone. */
function byLabel(choices: Choices, typed: string) {
  const exact = choices.find(({ label }) => label === typed);
  const alike = choices.filter(({ label }) => label.toLowerCase() === typed.trim().toLowerCase());
  return exact ?? (alike.length === 1 ? alike[0] : undefined);
}

function toText(text: string, question: Question): Answer {
  const label = byLabel(question.choices ?? [], text);
  if (label) return { kind: 'choice', labels: [label.label], ids: [label.id] };
  const isLeftOut = question.field !== undefined && !question.field.required && text.trim() === '';
  if (isLeftOut && question.kind === 'choice') return { kind: 'choice', labels: [], ids: [] };
  if (!question.freeText) throw badOption('this question takes only its options', question);
  return question.kind === 'choice' ? { kind: 'choice', labels: [], ids: [], text } : { kind: 'text', text };
}

function badOption(what: string, question: Question): ReefError {
  const labels = (question.choices ?? []).map((choice, index) => `${index + 1}. ${choice.label}`);
  const message = `${what}; options: ${labels.join(', ') || 'none'}`;
  return new ReefError('bad_option', message, { details: { options: labels } });
}
