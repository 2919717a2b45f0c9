import type { Answer, AskedQuestion, Json } from '../adapter.ts';
import type { Elicitation, FormProperty } from './messages.ts';

type Choice = NonNullable<AskedQuestion['choices']>[number];

const CONFIRMATION: Choice[] = [
  { id: 'accept', label: 'Accept' },
  { id: 'decline', label: 'Decline' },
];

/** A question per property of the form; an address is shown and never opened. */
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
    return {
      kind: 'choice',
      question,
      ...header,
      choices,
      multi: property.type === 'array',
      freeText: custom !== null,
    };
  });
}

interface Field {
  name: string;
  property: FormProperty;
  /** The property that takes the free text beside a choice. */
  custom: string | null;
}

function fieldsOf(asked: Elicitation): Field[] {
  const properties = asked.requestedSchema?.properties ?? {};
  const names = Object.keys(properties);
  const isChoice = (name: string) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return property !== undefined && choicesOf(property) !== undefined;
  };
  return names.flatMap((name) => {
    const property = properties[name];
    const isFreeText = name.endsWith('_custom') && isChoice(name.slice(0, -'_custom'.length));
    if (!property || isFreeText) return [];
    const custom = isChoice(name) && Object.hasOwn(properties, `${name}_custom`) ? `${name}_custom` : null;
    return [{ name, property, custom }];
  });
}

function choicesOf(property: FormProperty): Choice[] | undefined {
  if (property.type === 'boolean') {
    return [
      { id: 'true', label: 'Yes' },
      { id: 'false', label: 'No' },
    ];
  }
  const titled = property.oneOf ?? property.items?.anyOf;
  if (titled) {
    return titled.map(({ const: id, title, description }) => ({
      id,
      label: title ?? id,
      ...(description ? { description } : {}),
    }));
  }
  return (property.enum ?? property.items?.enum)?.map((id) => ({ id, label: id }));
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

/** Free text never goes where the form lists its values: the agent would drop it. */
function fillChoice({ name, property, custom }: Field, answer: Extract<Answer, { kind: 'choice' }>): [string, Json][] {
  const values = property.type === 'boolean' ? answer.ids.map((id) => id === 'true') : answer.ids;
  const [first] = values;
  const chosen: [string, Json][] =
    property.type === 'array' ? [[name, values]] : first === undefined ? [] : [[name, first]];
  return custom !== null && answer.text ? [...chosen, [custom, answer.text]] : chosen;
}
