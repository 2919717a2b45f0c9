import { expect, test } from 'vitest';
import { serverSpec, testFactory } from '../../../../test/support/runtime/mcp.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { printable } from '../../../base/printable.ts';
import { loadTokenCounter } from '../../../base/tokens.ts';
import type { Tool, ToolContext } from '../../tools/tool.ts';
import type { McpTool } from '../factory.ts';
import { acquireRuntime } from '../scope.ts';
import { metaTools } from './meta-tools.ts';
import { searchTools } from './tool-search.ts';

const context: ToolContext = {
  cwd: '/',
  signal: new AbortController().signal,
  ask: async () => ({ kind: 'needs_human' }),
};

async function toolsOf(...names: string[]) {
  const factory = await testFactory();
  const runtime = await acquireRuntime(
    factory,
    names.map((name) => serverSpec(name, { args: ['--tools', '200'] })),
  );
  const tools = metaTools(runtime);
  const run = (name: string, args: unknown) => {
    const tool = tools.find((each) => each.name === name);
    return tool?.run(args, context).catch((error) => ({ code: error.code, message: error.message }));
  };
  return { tools, run, [Symbol.asyncDispose]: () => factory.close() };
}

verifies('R-92').test('three tools stand for a server: search finds, describe shows, invoke calls', async () => {
  await using scope = await toolsOf('fixture');
  expect({
    names: scope.tools.map(({ name, effect }) => [name, effect]),
    found: await scope.run('mcp_search_fixture', { query: 'repeating messages', top_k: 1 }),
    described: await scope.run('mcp_describe_fixture', { tool: 'echo' }),
    invoked: await scope.run('mcp_invoke_fixture', { tool: 'echo', arguments: { message: 'hi', times: 2 } }),
  }).toEqual({
    names: [
      ['mcp_search_fixture', 'read'],
      ['mcp_describe_fixture', 'read'],
      ['mcp_invoke_fixture', 'exec'],
    ],
    found: [{ tool: 'echo', description: 'Repeats a message word for word.' }],
    described: {
      server: 'fixture',
      tool: 'echo',
      description: 'Repeats a message word for word.',
      arguments: expect.objectContaining({ required: ['message'] }),
    },
    invoked: 'hi hi',
  });
});

verifies('X-66', 'X-60').test(
  'what a hostile server says of its tools is bounded, and nothing in it hides',
  async () => {
    const factory = await testFactory();
    await using _ = { [Symbol.asyncDispose]: () => factory.close() };
    const runtime = await acquireRuntime(factory, [serverSpec('evil', { args: ['--hostile'] })]);
    const tools = metaTools(runtime);
    const run = (name: string, args: unknown) => tools.find((each) => each.name === name)?.run(args, context);
    const found = (await run('mcp_search_evil', { query: 'innocent' })) as { tool: string; description: string }[];
    const described = (await run('mcp_describe_evil', { tool: 'innocent' })) as { description: string; server: string };
    const all = JSON.stringify([found, described]);
    expect(
      runtime.servers
        .values()
        .next()
        .value?.value.tools.filter(({ name }) => !/^\w+$/.test(name)),
    ).toEqual([]);
    expect([printable(all) === all, described.server, Buffer.byteLength(described.description) <= 4_096]).toEqual([
      true,
      'evil',
      true,
    ]);
    expect([found[0]?.tool, Buffer.byteLength(found[0]?.description ?? '') <= 300]).toEqual(['innocent', true]);
  },
);

verifies('R-92').test('arguments that do not fit are answered with the schema and never sent', async () => {
  await using scope = await toolsOf('fixture');
  const refused = await scope.run('mcp_invoke_fixture', { tool: 'echo', arguments: { times: 'many' } });
  expect({ refused, calls: await scope.run('mcp_invoke_fixture', { tool: 'count_calls', arguments: {} }) }).toEqual({
    refused: {
      tool_call_error: expect.stringMatching(/^the arguments do not fit echo: .*message/),
      schema: expect.objectContaining({ required: ['message'] }),
    },
    calls: '1',
  });
});

test('an unknown tool is answered with the nearest, a failing one with its words', async () => {
  await using scope = await toolsOf('fixture');
  expect({
    unknown: await scope.run('mcp_describe_fixture', { tool: 'echoes' }),
    failed: await scope.run('mcp_invoke_fixture', { tool: 'fail', arguments: {} }),
    wrong: await scope.run('mcp_search_fixture', { query: 'x', top_k: 21 }),
  }).toEqual({
    unknown: { code: 'tool_unknown', message: expect.stringContaining('the nearest: echo') },
    failed: { code: 'mcp_call_failed', message: 'no such record' },
    wrong: { code: 'bad_request', message: expect.stringContaining('top_k') },
  });
});

verifies('R-92').test('what the prompt costs does not depend on the number of tools', async () => {
  const cost = async (count: string) => {
    await using factory = await testFactory();
    const runtime = await acquireRuntime(factory, [serverSpec('fixture', { args: ['--tools', count] })]);
    const prompt = metaTools(runtime).map(({ name, description, parameters }: Tool) => ({
      name,
      description,
      parameters,
    }));
    return JSON.stringify(prompt);
  };
  expect(await cost('500')).toBe(await cost('1'));
});

verifies('R-152').test('four servers with 120 tools cost a twentieth of their schemas', async () => {
  await using factory = await testFactory();
  const specs = ['github', 'jira', 'slack', 'files'].map((name) => serverSpec(name, { args: ['--tools', '23'] }));
  const runtime = await acquireRuntime(factory, specs);
  const inlined = [...runtime.servers.values()].flatMap(({ value }) => value.tools);
  const { count } = await loadTokenCounter();
  const costOf = (tools: readonly object[]) => count(JSON.stringify(tools));
  expect({ tools: inlined.length, isCheap: costOf(metaTools(runtime)) <= 0.05 * costOf(inlined) }).toEqual({
    tools: 120,
    isCheap: true,
  });
});

test('names that no provider takes are made fit, and stay apart', async () => {
  await using scope = await toolsOf('my server', 'my.server', 's'.repeat(100));
  const names = scope.tools.map(({ name }) => name);
  expect({
    first: names.slice(0, 4),
    fit: names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)),
    distinct: new Set(names).size,
  }).toEqual({
    first: ['mcp_search_my_server', 'mcp_describe_my_server', 'mcp_invoke_my_server', 'mcp_search_my_server_2'],
    fit: true,
    distinct: 9,
  });
});

test('a rule can name the tool behind an invoke', async () => {
  await using scope = await toolsOf('fixture');
  const invoke = scope.tools[2];
  expect([invoke?.claims?.({ tool: 'echo', arguments: {} }, '/'), invoke?.claims?.(7, '/')]).toEqual([
    { subject: 'echo' },
    {},
  ]);
});

verifies('R-92').test(
  'search ranks by BM25 over name, description and arguments, word forms and identifiers apart',
  () => {
    const tool = (name: string, description: string, ...args: string[]): McpTool => ({
      name,
      description,
      inputSchema: { type: 'object', properties: Object.fromEntries(args.map((arg) => [arg, {}])) },
      hash: name,
    });
    const tools = [
      tool('listIssues', 'Lists issues of a repository.', 'repository'),
      tool('create_issue', 'Opens an issue.', 'title', 'body'),
      tool('delete_branch', 'Removes a branch; issues that name it stay.', 'branchName'),
      tool('get_weather', 'Forecast for a place.', 'latitude'),
    ];
    const ask = (query: string) => searchTools(tools, query, 2).map(({ name }) => name);
    expect([ask('creating issues'), ask('branch names'), ask('latitude'), ask('zebra')]).toEqual([
      ['create_issue', 'listIssues'],
      ['delete_branch'],
      ['get_weather'],
      ['listIssues', 'create_issue'],
    ]);
  },
);
