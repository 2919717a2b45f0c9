import { z } from 'zod';
import { defined } from '../base/defined.ts';
import type { Field } from '../protocol/jobs.ts';
import type { Answer, AskedQuestion, Json } from './adapter.ts';
import { choicesOf, type FormField, fieldOf, fieldValue, formField } from './form-field.ts';

/** What an MCP server asks a person through an agent. */
const text = z.string().nullish();

export const formSchema = z
  .object({ properties: z.record(z.string(), formField).nullish(), required: z.array(z.string()).nullish() })
  .nullish();

export const elicitationSchema = z.object({
  mode: z.string(),
  message: z.string(),
  toolCallId: text,
  url: text,
  requestedSchema: formSchema,
});
export type Elicitation = z.infer<typeof elicitationSchema>;

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
  return fields.map(({ name, property, custom, field }) => {
    const question =
      fields.length === 1 ? asked.message : `${asked.message}\n${property.description ?? property.title ?? name}`;
    const about = { question, ...defined({ header: property.title || undefined, field }) };
    const choices = choicesOf(property);
    if (!choices) return { kind: 'text', ...about, freeText: true };
    const multi = property.type === 'array';
    return { kind: 'choice', ...about, choices, multi, freeText: custom !== null };
  });
}

interface FormEntry {
  name: string;
  property: FormField;
  /** The property that takes the free text beside a choice. */
  custom: string | null;
  field: Field | undefined;
}

function fieldsOf(asked: Elicitation): FormEntry[] {
  const properties = new Map(Object.entries(asked.requestedSchema?.properties ?? {}));
  const isChoice = (name: string) => {
    const property = properties.get(name);
    return property !== undefined && choicesOf(property) !== undefined;
  };
  return [...properties].flatMap(([name, property]) => {
    const isFreeText = name.endsWith('_custom') && isChoice(name.slice(0, -'_custom'.length));
    if (isFreeText) return [];
    const custom = isChoice(name) && properties.has(`${name}_custom`) ? `${name}_custom` : null;
    // Beside free text a choice may stay empty.
    const required = custom === null ? (asked.requestedSchema?.required ?? []) : [];
    return [{ name, property, custom, field: fieldOf(name, property, required) }];
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
  if (first?.kind === 'permission') return { result: { action: 'decline' } };
  const filled = fields.map((entry, at) => fill(entry, answers[at]));
  const bad = filled.find((entry) => 'bad' in entry);
  if (bad) return bad;
  const entries = filled.flatMap((entry) => ('bad' in entry ? [] : entry.values));
  return { result: { action: 'accept', content: Object.fromEntries(entries) } };
}

/** Free text does not go into the listed property: the agent would drop it. */
function fill(
  { name, custom, field }: FormEntry,
  answer: Answer | undefined,
): { values: [string, Json][] } | { bad: string } {
  if (!field) return { bad: `${name} is of a type that Reef does not know` };
  const filled = fieldValue(field, answer);
  if ('bad' in filled) return { bad: `${name}: ${filled.bad}` };
  const values: [string, Json][] = filled.value === undefined ? [] : [[name, filled.value]];
  const own = answer?.kind === 'choice' ? answer.text : undefined;
  return { values: custom !== null && own ? [...values, [custom, own]] : values };
}
