import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import fc from 'fast-check';
import { afterEach, expect } from 'vitest';
import { z } from 'zod';
import { type Knock, knock, openTestDoor, type TestDoor } from '../../../../test/support/surfaces/door.ts';
import { fromSchema } from '../../../../test/support/surfaces/from-schema.ts';
import { smallCore } from '../../../../test/support/surfaces/small-core.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import type { Operation } from '../../../protocol/operation.ts';
import { type Core, type OperationName, operations } from '../../../protocol/operations.ts';
import { hasBody, type RestRoute, restRoutes } from './rest.ts';

const opened: TestDoor[] = [];
async function open(...args: Parameters<typeof openTestDoor>): Promise<TestDoor> {
  const door = await openTestDoor(...args);
  opened.push(door);
  return door;
}
afterEach(async () => {
  for (const door of opened.splice(0)) await door.close();
});

const rows = Object.entries(operations) as [OperationName, Operation][];

/** Notes what it is asked, whatever that is. */
function listener(): { core: Core; heard: [operation: string, input: unknown][] } {
  const heard: [string, unknown][] = [];
  const core = new Proxy(smallCore().core, {
    get: (_, name) => async (input: unknown) => {
      heard.push([String(name), input]);
      return {};
    },
  });
  return { core, heard };
}

/** Puts each field where the description of the route says it is. */
function sentTo({ method, path, inPath }: RestRoute, input: Record<string, unknown>): Knock {
  const named = path.replaceAll(/\/:(\w+)(\??)/g, (_, name: string) =>
    input[name] === undefined ? '' : `/${encodeURIComponent(String(input[name]))}`,
  );
  const rest = Object.entries(input).filter(([name]) => !inPath.includes(name));
  if (hasBody({ method, path })) return { method, path: named, body: Object.fromEntries(rest) };
  const values = rest.flatMap(([name, value]) => [value].flat().map((each): [string, string] => [name, String(each)]));
  return { method, path: `${named}?${new URLSearchParams(values)}` };
}

verifies('U-23').test('each operation has an address of its own, or says why not; GET only reads', () => {
  const addresses = restRoutes().map(({ method, path }) => `${method} ${path.replaceAll(/:\w+\??/g, ':')}`);
  expect(new Set(addresses).size).toBe(addresses.length);
  for (const [name, { rest, noRest, effect, input }] of rows) {
    if (!rest) {
      expect([name, noRest]).toEqual([name, expect.stringMatching(/\w{3}/)]);
      continue;
    }
    const fields = Object.keys(z.toJSONSchema(input, { io: 'input' }).properties ?? {});
    const named = [...rest.path.matchAll(/:(\w+)/g)].map(([, field]) => field);
    expect([name, fields]).toEqual([name, expect.arrayContaining(named)]);
    if (rest.method === 'GET') expect([name, effect]).toEqual([name, 'reads']);
    if (rest.method === 'DELETE') expect([name, effect, fields]).toEqual([name, 'ends', named]);
  }
});

verifies('U-23').test('whatever a schema allows arrives through path, query and body as it was meant', async () => {
  const { core, heard } = listener();
  const { port, token } = await open(core, {
    limits: { headersMs: 5_000, requestMs: 5_000, burst: 10_000, perSecond: 10_000 },
  });
  for (const route of restRoutes()) {
    const { input } = operations[route.operation] as Operation;
    const inputs = fromSchema(z.toJSONSchema(input, { io: 'input' }) as object) as fc.Arbitrary<
      Record<string, unknown>
    >;
    const told = inputs.filter((each) => input.safeParse(each).success && isSayable(route, each));
    for (const each of fc.sample(told, { numRuns: 8, seed: 20_261_119 })) {
      const { status, text } = await knock(port, { ...sentTo(route, each), token });
      expect([route.operation, each, status, text]).toEqual([route.operation, each, 200, '{}']);
      expect(heard.pop()).toEqual([route.operation, input.parse(each)]);
    }
  }
});

/** A segment of a path is not empty and no dots; an empty list cannot be told from none, and half of a character is none. */
function isSayable({ inPath, ...route }: RestRoute, input: Record<string, unknown>): boolean {
  const isSegment = (value: unknown) =>
    value === undefined ? route.path.endsWith('?') : !/^\.{0,2}$/.test(String(value));
  const lists = hasBody(route) ? [] : Object.values(input).filter((value) => Array.isArray(value));
  const isWhole = JSON.stringify(input).isWellFormed() && !/\\ud[89a-f]/i.test(JSON.stringify(input));
  return inPath.every((name) => isSegment(input[name])) && lists.every((list) => list.length > 0) && isWhole;
}

verifies('U-23', 'X-107').test(
  'a field that is unknown, of another kind or in another place is refused by its name',
  async () => {
    const { port, token } = await open();
    const wrong: [Knock, string][] = [
      [{ path: '/v1/jobs/01KB/events?limit=many' }, 'limit'],
      [{ path: '/v1/jobs/01KB/events?limit=1e3' }, 'limit'],
      [{ path: '/v1/jobs/01KB/events?limit=1&limit=2' }, 'limit'],
      [{ path: '/v1/jobs/01KB/events?id=01KC' }, 'id'],
      [{ path: '/v1/jobs?id=01KC' }, 'id'],
      [{ path: '/v1/runs?all=yes' }, 'all'],
      [{ path: '/v1/runs?__proto__=x' }, '__proto__'],
      [{ path: '/v1/wait?until=never' }, 'until'],
      [{ path: '/v1/jobs/01KB/interrupt', body: { id: '01KC' } }, 'id'],
      [{ path: '/v1/jobs/01KB/interrupt?id=01KC', body: {} }, 'id'],
      [{ path: '/v1/jobs/01KB/interrupt', body: { force: true } }, 'force'],
      [{ path: '/v1/jobs/01KB/interrupt', body: '{"__proto__":{}}' }, 'prototypes'],
      [{ path: '/v1/jobs/01KB/interrupt', body: [] }, 'interrupt'],
      [{ path: '/v1/jobs/01KB?force=1', method: 'DELETE' }, 'force'],
    ];
    for (const [asked, named] of wrong) {
      const { code, text } = await knock(port, { ...asked, token });
      expect([asked.path, asked.body, code, text]).toEqual([
        asked.path,
        asked.body,
        'bad_request',
        expect.stringContaining(named),
      ]);
    }
  },
);

/** Everything that has an address, with something in it that may be sent. */
function everyRoute(): Knock[] {
  const sample = ({ operation }: RestRoute) => {
    const { input } = operations[operation] as Operation;
    const whole = fromSchema(z.toJSONSchema(input, { io: 'input' }) as object);
    const good = whole.filter((each) => input.safeParse(each).success);
    return fc.sample(good, { numRuns: 1, seed: 7 })[0] as Record<string, unknown>;
  };
  const named = (route: RestRoute) => {
    const ids = Object.fromEntries(route.inPath.map((name) => [name, '01KB']));
    return sentTo(route, { ...sample(route), ...ids });
  };
  const others: Knock[] = [
    { path: '/v1/info' },
    { path: '/metrics' },
    { path: '/v1/models' },
    { path: '/v1/openapi.json' },
    { path: '/v1/events' },
  ];
  const asking: Knock[] = [
    { method: 'POST', path: '/v1/completions', body: { input: 'hello' } },
    { method: 'POST', path: '/v1/sessions', body: {} },
    { method: 'POST', path: `/v1/sessions/${randomUUID()}/completions`, body: { input: 'hello' } },
  ];
  return [...restRoutes().map(named), ...others, ...asking, { method: 'POST', path: '/v1/op/status', body: {} }];
}

verifies('U-23', 'X-02', 'X-101', 'X-104').test(
  'every route has the guards in the same order, and starts nothing before them',
  async () => {
    const { core, heard } = listener();
    const { port, token } = await open(core, {
      limits: { headersMs: 5_000, requestMs: 5_000, burst: 1, perSecond: 0.001 },
    });
    await knock(port, { path: '/v1/op/status', body: {}, token }); // nothing is left for another call
    heard.length = 0;
    for (const good of everyRoute()) {
      const isPosted = good.body !== undefined;
      const separator = good.path?.includes('?') ? '&' : '?';
      let request: Knock = {
        ...good,
        path: isPosted ? (good.path ?? '') : `${good.path}${separator}unknown=1`,
        ...(isPosted && { body: 'x'.repeat(1_048_577) }),
        headers: {
          host: `evil.test:${port}`,
          origin: 'null',
          authorization: 'Bearer wrong',
          'content-type': 'text/plain',
        },
      };
      const hasSchema = !/^\/(?:v1\/(?:info|openapi|models)|metrics)/.test(good.path ?? '');
      const mended: [Record<string, string | undefined>, Partial<Knock>, string][] = [
        [{}, {}, '403 bad_host'],
        [{ host: `127.0.0.1:${port}` }, {}, '403 bad_origin'],
        [{ origin: `http://127.0.0.1:${port}` }, {}, '401 unauthorized'],
        [{ authorization: undefined }, {}, '401 unauthorized'],
        ...(isPosted
          ? ([
              [{ authorization: `Bearer ${token}` }, {}, '415 unsupported_media_type'],
              [{ 'content-type': 'application/json' }, {}, '413 body_too_large'],
              [{}, { body: '{"unknown":1}' }, '400 bad_request'],
            ] as [Record<string, string>, Partial<Knock>, string][])
          : hasSchema
            ? ([[{ authorization: `Bearer ${token}` }, {}, '400 bad_request']] as [
                Record<string, string>,
                Partial<Knock>,
                string,
              ][])
            : []),
        [{ authorization: `Bearer ${token}` }, good, '429 too_many_requests'],
      ];
      for (const [headers, change, expected] of mended) {
        request = { ...request, ...change, headers: { ...request.headers, ...headers } };
        const { status, code } = await knock(port, request);
        expect([good.method, good.path, `${status} ${code}`]).toEqual([good.method, good.path, expected]);
      }
    }
    expect(heard).toEqual([]);
  },
);

verifies('U-20', 'U-23').test(
  'the door describes itself as valid OpenAPI 3.1, with every operation that has an address',
  async () => {
    const { port, token } = await open();
    const { status, json } = await knock(port, { path: '/v1/openapi.json', token });
    expect(status).toBe(200);
    const document = json as { paths: Record<string, Record<string, PathEntry>>; components: Components };
    // Schema objects are left to their dialect by a reference that the validator resolves wrongly.
    const meta = readFileSync('test/fixtures/openapi-3.1.schema.json', 'utf8').replaceAll(
      '"$dynamicRef": "#meta"',
      '"$ref": "https://json-schema.org/draft/2020-12/schema"',
    );
    const validate = new AjvJsonSchemaValidator().getValidator(JSON.parse(meta));
    expect(validate(document)).toMatchObject({ valid: true, errorMessage: undefined });
    const broken = structuredClone(document);
    Object.assign(broken.components.schemas?.Error ?? {}, { type: 'thing' });
    expect(validate(broken).valid).toBe(false);
    const references = [...JSON.stringify(json).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)];
    for (const [, kind = '', name = ''] of references)
      expect([name, document.components[kind]?.[name]]).toEqual([name, expect.anything()]);
    const described = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((each) => each.operationId),
    );
    expect(described).toEqual(expect.arrayContaining(restRoutes().map(({ operation }) => operation)));
    expect(new Set(described).size).toBe(described.length);
  },
);

interface PathEntry {
  operationId: string;
}
type Components = Record<string, Record<string, object>>;
