import { z } from 'zod';
import { defined } from '../base/defined.ts';
import type { AskedQuestion } from './adapter.ts';

const text = z.string().nullish();
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
