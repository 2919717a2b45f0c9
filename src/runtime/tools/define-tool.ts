import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { JsonSchema } from '../models/client.ts';
import type { Claims, Tool, ToolContext, ToolEffect } from './tool.ts';

interface Definition<Schema extends z.ZodObject> {
  name: string;
  description: string;
  effect: ToolEffect;
  /** A function, for tools that every start creates. */
  arguments: Schema | (() => Schema);
  claims?: (args: z.output<Schema>, cwd: string) => Claims;
  run: (args: z.output<Schema>, context: ToolContext) => Promise<unknown>;
}

/** The model is shown the schema of the arguments, and its calls are checked by it. */
export function defineTool<Schema extends z.ZodObject>(definition: Definition<Schema>): Tool {
  const { name, description, effect, claims, run } = definition;
  const given = definition.arguments;
  const schema = onFirstUse(() => (typeof given === 'function' ? given() : given));
  const parse = (args: unknown) => parseArguments(name, schema(), args);
  const parameters = onFirstUse(() => toJsonSchema(schema()));
  return {
    name,
    description,
    effect,
    get parameters() {
      return parameters();
    },
    ...(claims && { claims: (args: unknown, cwd: string) => claims(parse(args), cwd) }),
    run: async (args, context) => run(parse(args), context),
  };
}

export function parseArguments<Schema extends z.ZodObject>(
  name: string,
  schema: Schema,
  args: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(args ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
  throw new ReefError('bad_request', `The arguments of ${name} do not fit: ${problems.join('; ')}`);
}

/** Without what tells a model nothing: a bound that every safe integer keeps costs as many tokens as a field. */
function toJsonSchema(schema: z.ZodObject): JsonSchema {
  const {
    $schema: _,
    additionalProperties: __,
    ...rest
  } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return rest;
}
