import { z } from 'zod';
import { defined } from '../base/defined.ts';
import { type Field, fieldSchema } from '../protocol/jobs.ts';
import type { Answer, AskedQuestion, Json } from './adapter.ts';

const text = z.string().nullish();
const number = z.number().nullish();
const names = z.array(z.string()).nullish();
const titled = z.array(z.object({ const: z.string(), title: text, description: text })).nullish();

/** A field of a form that an MCP server has an agent ask. `null` and absent mean the same. */
export const formField = z.object({
  type: z.string(),
  title: text,
  description: text,
  enum: names,
  enumNames: names,
  oneOf: titled,
  items: z.object({ enum: names, anyOf: titled }).nullish(),
  minimum: number,
  maximum: number,
  minLength: number,
  maxLength: number,
  format: text,
  minItems: number,
  maxItems: number,
});
export type FormField = z.infer<typeof formField>;

const YES_NO = [
  { id: 'true', label: 'Yes' },
  { id: 'false', label: 'No' },
];

/** Undefined for a field that takes text. */
export function choicesOf(field: FormField): AskedQuestion['choices'] {
  if (field.type === 'boolean') return YES_NO;
  const options = field.oneOf ?? field.items?.anyOf;
  if (options) {
    return options.map(({ const: id, title, description }) => ({
      id,
      label: title ?? id,
      ...defined({ description: description || undefined }),
    }));
  }
  const values = field.enum ?? field.items?.enum;
  return values?.map((id, index) => ({ id, label: field.enumNames?.[index] ?? id }));
}

/** Undefined for a type that no form of MCP has. */
export function fieldOf(name: string, shape: FormField, required: readonly string[]): Field | undefined {
  const { type, minimum, maximum, minLength, maxLength, format, minItems, maxItems } = shape;
  const limits = defined({ minimum, maximum, minLength, maxLength, format, minItems, maxItems });
  return fieldSchema.safeParse({ name, type, required: required.includes(name), ...limits }).data;
}

/** What an answer puts into the field, `undefined` where it leaves it out, or what is wrong with it. */
export function fieldValue(field: Field, answer: Answer | undefined): { value: Json | undefined } | { bad: string } {
  const value =
    answer?.kind === 'choice' ? chosen(field, answer.ids) : written(field, answer?.kind === 'text' ? answer.text : '');
  const bad = value === undefined ? (field.required ? 'it is required' : undefined) : misfit(field, value);
  return bad === undefined ? { value } : { bad };
}

function chosen({ type }: Field, ids: string[]): Json | undefined {
  if (type === 'array') return ids;
  const [id] = ids;
  return type === 'boolean' && id !== undefined ? id === 'true' : id;
}

function written({ type }: Field, text: string): Json | undefined {
  if (text.trim() === '') return undefined;
  const isNumber = type === 'number' || type === 'integer';
  return isNumber && Number.isFinite(Number(text)) ? Number(text) : text;
}

function misfit(field: Field, value: Json): string | undefined {
  if (Array.isArray(value)) return outside(value.length, [field.minItems, field.maxItems], 'choose');
  if (field.type === 'integer' && !Number.isSafeInteger(value)) return `${JSON.stringify(value)} is not a whole number`;
  if (field.type === 'number' && typeof value !== 'number') return `${JSON.stringify(value)} is not a number`;
  if (typeof value === 'number') return outside(value, [field.minimum, field.maximum], 'give a number of');
  if (field.type !== 'string' || typeof value !== 'string') return undefined;
  const length = outside([...value].length, [field.minLength, field.maxLength], 'its length has to be');
  const fits = FORMATS[field.format ?? ''];
  return (
    length ?? (fits?.(value) === false ? `${JSON.stringify(value)} is not of the form ${field.format}` : undefined)
  );
}

function outside(value: number, [least, most]: [number | undefined, number | undefined], words: string) {
  if (least !== undefined && value < least) return `${words} ${least} or more`;
  return most !== undefined && value > most ? `${words} ${most} or less` : undefined;
}

const isDate = (text: string) => !Number.isNaN(Date.parse(text));

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text),
  'date-time': (text) => /^\d{4}-\d\d-\d\d[Tt ]/.test(text) && isDate(text),
};
