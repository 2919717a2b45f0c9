import { z } from 'zod';
import { onFirstUse } from '../../../base/lazily.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Operation, Rest } from '../../../protocol/operation.ts';
import { type OperationName, operations } from '../../../protocol/operations.ts';

/** What we read of the JSON Schema of one field. */
interface FieldSchema {
  type?: string;
  items?: FieldSchema;
  description?: string;
}

/** The address of an operation. What is in its path, its query and its body are parts of the one input schema. */
export interface RestRoute extends Rest {
  operation: OperationName;
  inPath: readonly string[];
  /** Of all fields of the input, wherever they are. */
  fields(): Readonly<Record<string, FieldSchema>>;
}

export function restRoutes(): RestRoute[] {
  const rows: Record<OperationName, Operation> = operations;
  return (Object.keys(rows) as OperationName[]).flatMap((operation) => {
    const { rest, input } = rows[operation];
    if (!rest) return [];
    const inPath = [...rest.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
    const fields = onFirstUse(() => z.toJSONSchema(input, { io: 'input' }).properties as Record<string, FieldSchema>);
    return [{ ...rest, operation, inPath, fields }];
  });
}

/** Where the fields are that are not in the path. */
export function hasBody({ method }: Rest): boolean {
  return method === 'POST';
}

interface Sent {
  inPath(name: string): string | undefined;
  query: URLSearchParams;
  body(): Promise<unknown>;
}

/** Puts an input together again. It judges nothing but where each field is: that is for the schema. */
export async function inputAt(route: RestRoute, sent: Sent): Promise<unknown> {
  const named = route.inPath.flatMap((name): [string, string][] => {
    const value = sent.inPath(name);
    return value === undefined ? [] : [[name, value]];
  });
  const body = hasBody(route) ? await sent.body() : {};
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  if (hasBody(route)) refuseFields([...sent.query.keys()], 'it belongs into the body, not into the query');
  const others = Object.entries({ ...body, ...(hasBody(route) ? {} : queried(route, sent.query)) });
  const twice = others.flatMap(([name]) => (route.inPath.includes(name) ? [name] : []));
  refuseFields(twice, `it belongs into the path, ${route.path}`);
  return Object.fromEntries([...others, ...named]);
}

function refuseFields(names: readonly string[], why: string): void {
  if (names.length > 0) throw new ReefError('bad_request', `${names.join(', ').slice(0, 200)}: ${why}`);
}

/** A list is given by repeating its name. */
function queried(route: RestRoute, query: URLSearchParams): Record<string, unknown> {
  const fields = route.fields();
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const schema = Object.hasOwn(fields, name) ? fields[name] : undefined;
      const values = query.getAll(name);
      const isOne = schema?.type !== 'array' && values.length === 1;
      const item = schema?.type === 'array' ? schema.items : schema;
      const read = values.map((value) => typed(value, item?.type));
      return [name, isOne ? read[0] : read];
    }),
  );
}

/** As the field's type is written in JSON; what is not stays a text, which the schema refuses by name. */
function typed(value: string, type: string | undefined): unknown {
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value;
  const isNumber = (type === 'integer' || type === 'number') && /^-?\d+(?:\.\d+)?$/.test(value);
  return isNumber ? Number(value) : value;
}
