import type { Answer, AskedQuestion, Json } from '../adapter.ts';
import { choicesOf, type FormField } from '../form-field.ts';
import type { Elicitation } from './messages.ts';

const CONFIRMATION = [
  { id: 'accept', label: 'Accept' },
  { id: 'decline', label: 'Decline' },
];

/** One question per property of the form. An address is shown and never opened. */
export function toQuestions(asked: Elicitation): AskedQuestion[] {
  if (asked.mode === 'url') {
    return [{ kind: 'text', question: `${asked.message}\n${asked.url ?? ''}`, freeText: true }];
  }
  const fields = fieldsOf(asked);
  if (fields.length === 0) return [{ kind: 'choice', question: asked.message, choices: CONFIRMATION }];
  return fields.map(({ name, property, custom }) => {
    const question = fields.length === 1 ? asked.message : (property.description ?? property.title ?? name);
    const header = property.title ? { header: property.title } : {};
    const choices = choicesOf(property);
    if (!choices) return { kind: 'text', question, ...header, freeText: true };
    const multi = property.type === 'array';
    return { kind: 'choice', question, ...header, choices, multi, freeText: custom !== null };
  });
}

interface Field {
  name: string;
  property: FormField;
  /** The property that takes the free text beside a choice. */
  custom: string | null;
}

function fieldsOf(asked: Elicitation): Field[] {
  const properties = new Map(Object.entries(asked.requestedSchema?.properties ?? {}));
  const isChoice = (name: string) => {
    const property = properties.get(name);
    return property !== undefined && choicesOf(property) !== undefined;
  };
  return [...properties].flatMap(([name, property]) => {
    const isFreeText = name.endsWith('_custom') && isChoice(name.slice(0, -'_custom'.length));
    if (isFreeText) return [];
    const custom = isChoice(name) && properties.has(`${name}_custom`) ? `${name}_custom` : null;
    return [{ name, property, custom }];
  });
}

export type FormReply = { result: Json } | { bad: string };

export function toFormReply(asked: Elicitation, answers: Answer[]): FormReply {
  const fields = fieldsOf(asked);
  const [first] = answers;
  if (asked.mode === 'url') return { result: { action: 'accept' } };
  if (fields.length === 0) {
    return { result: { action: first?.kind === 'choice' && first.ids[0] === 'accept' ? 'accept' : 'decline' } };
  }
  const filled = fields.map((field, at) => fill(field, answers[at]));
  const bad = filled.find((entry) => typeof entry === 'string');
  if (bad !== undefined) return { bad };
  const entries = filled.filter((entry) => typeof entry !== 'string').flat();
  return { result: { action: 'accept', content: Object.fromEntries(entries) } };
}

/** The values of one field, or what is wrong with the answer. */
function fill(field: Field, answer: Answer | undefined): [string, Json][] | string {
  if (answer?.kind === 'choice') return fillChoice(field, answer);
  if (answer?.kind !== 'text') return 'a decision is no answer to a form';
  const { type } = field.property;
  if (type !== 'number' && type !== 'integer') return [[field.name, answer.text]];
  const number = answer.text.trim() === '' ? Number.NaN : Number(answer.text);
  const fits = type === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number);
  return fits ? [[field.name, number]] : `${JSON.stringify(answer.text)} is not a number of type ${type}`;
}

/** Free text does not go into the listed property: the agent would drop it. */
function fillChoice({ name, property, custom }: Field, answer: Extract<Answer, { kind: 'choice' }>): [string, Json][] {
  const values = property.type === 'boolean' ? answer.ids.map((id) => id === 'true') : answer.ids;
  const [first] = values;
  const chosen: [string, Json][] =
    property.type === 'array' ? [[name, values]] : first === undefined ? [] : [[name, first]];
  return custom !== null && answer.text ? [...chosen, [custom, answer.text]] : chosen;
}
