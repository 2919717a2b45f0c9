import type { JsonSchemaType, JsonSchemaValidator } from '@modelcontextprotocol/client';

/** Undefined when the arguments fit, else what is wrong with them. */
export type ArgumentCheck = (schema: Readonly<Record<string, unknown>>, args: unknown) => Promise<string | undefined>;

/** Validators are compiled once per schema. A schema nobody can compile refuses nothing: the server decides for itself. */
export function createArgumentCheck(): ArgumentCheck {
  const compiled = new WeakMap<object, JsonSchemaValidator<unknown> | null>();
  return async (schema, args) => {
    let validate = compiled.get(schema);
    if (validate === undefined) {
      validate = await compile(schema);
      compiled.set(schema, validate);
    }
    const verdict = validate?.(args);
    return verdict === undefined || verdict.valid ? undefined : verdict.errorMessage;
  };
}

async function compile(schema: Readonly<Record<string, unknown>>): Promise<JsonSchemaValidator<unknown> | null> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  try {
    return new AjvJsonSchemaValidator().getValidator(schema as JsonSchemaType);
  } catch {
    return null;
  }
}
