import fc from 'fast-check';

/** What JSON Schema says of a value, as far as our own inputs use it. */
interface Schema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | false;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
}

const LONGEST = 40;

/** Values of every kind that a schema allows, small ones. */
export function fromSchema(schema: Schema): fc.Arbitrary<unknown> {
  const { const: only, enum: some, anyOf, type } = schema;
  if (only !== undefined) return fc.constant(only);
  if (some) return fc.constantFrom(...some);
  if (anyOf) return fc.oneof(...anyOf.map(fromSchema));
  switch (type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer(within(schema));
    case 'number':
      return fc.integer(within(schema));
    case 'string':
      return text(schema);
    case 'array':
      return fc.array(fromSchema(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 3 });
    case 'object':
      return object(schema);
    default:
      throw new Error(`no values for ${JSON.stringify(schema)}`);
  }
}

function within({ minimum = -1_000, maximum = 1_000, exclusiveMinimum }: Schema): { min: number; max: number } {
  const min = exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1;
  return { min: Math.max(min, -1_000), max: Math.min(maximum, Math.max(min, 0) + 1_000) };
}

function text({ pattern, minLength = 0, maxLength = LONGEST }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, minLength + LONGEST) }).filter(
    // Graphemes may be several code units long.
    (value) => value.length <= maxLength,
  );
}

function object({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties).map(([name, field]) => [name, fromSchema(field)] as const);
  const values: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(fields);
  return fc.record(values, { requiredKeys: required });
}
