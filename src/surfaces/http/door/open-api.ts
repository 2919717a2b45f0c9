import { z } from 'zod';
import { onFirstUse } from '../../../base/lazily.ts';
import type { Operation } from '../../../protocol/operation.ts';
import { operations } from '../../../protocol/operations.ts';
import { completionSchema, questionSchema, sessionSchema } from './asked.ts';
import { hasBody, type RestRoute, restRoutes } from './rest.ts';

type Json = Record<string, unknown>;

const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.string().describe('A code of the error table'),
    message: z.string().describe('What happened'),
    hint: z.string().describe('What to do next'),
    retryable: z.boolean().describe('The same call may succeed later without a change'),
    details: z.record(z.string(), z.unknown()).exactOptional(),
  }),
});

const DESCRIPTION = `Every operation of Reef at an address of its own; each is POST /v1/op/<operationId> as well, with all of its
input as the body. Every call shows the token; its file is named by reef serve. Unknown fields are refused.`;

/** OpenAPI 3.1 of everything that has an address, from the schemas that judge the calls. */
export const openApi = onFirstUse((): Json => {
  const schemas: Json = { Error: z.toJSONSchema(errorSchema) };
  const paths: Record<string, Json> = {};
  for (const route of restRoutes()) {
    const described = describe(route, schemas);
    for (const { path, inPath, operationId } of addresses(route)) {
      const parameters = parametersOf(route, inPath);
      const entry = { operationId, ...described, ...(parameters.length > 0 && { parameters }) };
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: entry };
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Reef', version: '1', description: DESCRIPTION },
    security: [{ token: [] }],
    paths: { ...paths, ...OTHERS, ...completions() },
    components: {
      schemas,
      responses: { Error: answer('A refusal', { $ref: '#/components/schemas/Error' }) },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
});

const ERROR = { default: { $ref: '#/components/responses/Error' } };

const ID = { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } };
const ANY = { type: 'object' };

function asking(operationId: string, summary: string, input?: z.ZodType): Json {
  const body = input && { content: { 'application/json': { schema: z.toJSONSchema(input, { io: 'input' }) } } };
  const requestBody = body && { requestBody: { required: true, ...body } };
  return { operationId, summary, ...requestBody, responses: { 200: answer('The result', ANY), ...ERROR } };
}

/** Questions to models. With `stream` the answer is a `text/event-stream`. */
function completions(): Record<string, Json> {
  const named = ['models', 'roles', 'agents', 'rags'].map((what): [string, Json] => {
    return [`/v1/${what}`, { get: asking(`list_${what}`, `The names of the ${what} that a question may use.`) }];
  });
  return {
    '/v1/completions': { post: asking('complete', 'Ask a model one question.', completionSchema) },
    '/v1/sessions': {
      get: asking('list_sessions', 'The sessions that were begun here.'),
      post: asking('begin_session', 'Begin a session, with the scope of all its questions.', sessionSchema),
    },
    '/v1/sessions/{id}': {
      get: { ...asking('show_session', 'What was said in a session.'), parameters: [ID] },
      delete: { ...asking('forget_session', 'Delete a session.'), parameters: [ID] },
    },
    '/v1/sessions/{id}/completions': {
      post: {
        ...asking('complete_in_session', 'Ask the next question of a session.', questionSchema),
        parameters: [ID],
      },
    },
    ...Object.fromEntries(named),
  };
}

/** What is no operation. */
const OTHERS = {
  '/v1/events': {
    get: {
      operationId: 'event_stream',
      summary: 'What happens, as server-sent events. Last-Event-ID resumes it.',
      parameters: [{ name: 'since', in: 'query', schema: { type: 'string', maxLength: 64 } }],
      responses: {
        200: {
          description: 'job: an event, with its seq as id. changed: look again. gap: events that are no longer kept.',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
        ...ERROR,
      },
    },
  },
  '/metrics': {
    get: {
      operationId: 'metrics',
      summary: 'The figures of the home, in the text format of Prometheus.',
      responses: {
        200: { description: 'Samples', content: { 'text/plain': { schema: { type: 'string' } } } },
        ...ERROR,
      },
    },
  },
};

function answer(description: string, schema: Json): Json {
  return { description, content: { 'application/json': { schema } } };
}

function describe(route: RestRoute, schemas: Json): Json {
  const { summary, input, output }: Operation = operations[route.operation];
  const given = hoisted(z.toJSONSchema(input, { io: 'input' }), route.operation, schemas);
  const result = hoisted(z.toJSONSchema(output, { io: 'output' }), route.operation, schemas);
  const body = hasBody(route) && {
    requestBody: { required: true, content: { 'application/json': { schema: without(given, route.inPath) } } },
  };
  return { summary, ...body, responses: { 200: answer('The result', result), ...ERROR } };
}

/** Definitions that a schema refers to lie where the whole document can refer to them. */
function hoisted(schema: object, operation: string, schemas: Json): Json {
  const place = `#/components/schemas/${operation}.`;
  const text = JSON.stringify(schema, (key, value) =>
    key === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', place) : value,
  );
  const { $schema: _, $defs = {}, ...rest } = JSON.parse(text) as Json & { $defs?: Json };
  for (const [name, definition] of Object.entries($defs)) schemas[`${operation}.${name}`] = definition;
  return rest;
}

function without(schema: Json, names: readonly string[]): Json {
  const { properties = {}, required = [], ...rest } = schema as Json & { properties?: Json; required?: string[] };
  const kept = required.filter((name) => !names.includes(name));
  const others = Object.entries(properties).filter(([name]) => !names.includes(name));
  return { ...rest, properties: Object.fromEntries(others), ...(kept.length > 0 && { required: kept }) };
}

/** A path with an optional end is two paths. */
function addresses({ path, inPath, operation }: RestRoute) {
  const whole = path.replaceAll(/:(\w+)\??/g, '{$1}');
  const named = { path: whole, inPath, operationId: operation as string };
  if (!path.endsWith('?')) return [named];
  const short = { path: whole.slice(0, whole.lastIndexOf('/')), inPath: [], operationId: `${operation}_all` };
  return [short, named];
}

function parametersOf(route: RestRoute, inPath: readonly string[]): Json[] {
  const { required = [] } = z.toJSONSchema(operations[route.operation].input, { io: 'input' });
  return Object.entries(route.fields()).flatMap(([name, { description, ...schema }]): Json[] => {
    const about = { name, ...(description !== undefined && { description }), schema };
    if (inPath.includes(name)) return [{ ...about, in: 'path', required: true }];
    if (hasBody(route) || route.inPath.includes(name)) return [];
    return [{ ...about, in: 'query', required: required.includes(name) }];
  });
}
