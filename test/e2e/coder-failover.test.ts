import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';

const world = makeWorld();
const keys: string[] = [];
/** An OpenAI-compatible provider whose first key is over its limit. */
const provider = createServer((request, response) => {
  const key = (request.headers.authorization ?? '').replace('Bearer ', '');
  keys.push(key);
  request.resume();
  if (key === 'first-key-of-the-pool') {
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '30' });
    response.end(JSON.stringify({ error: { message: 'slow down', type: 'rate_limit' } }));
    return;
  }
  const call = { index: 0, id: 'c1', type: 'function', function: { name: 'done', arguments: '{"summary":"Done."}' } };
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${chunk({ role: 'assistant', tool_calls: [call] }, null)}${chunk({}, 'tool_calls')}data: [DONE]\n\n`);
});
afterAll(async () => {
  provider.close();
  await world.close();
});

verifies('W-82').test(
  'a key that is refused for now gives way to the next of its pool, and the log of calls says so',
  async () => {
    provider.listen(0, '127.0.0.1');
    await once(provider, 'listening');
    const { port } = provider.address() as AddressInfo;
    world.configure({
      reef: { timings: { linger: 100 } },
      clients: [
        {
          ...{ type: 'openai-compatible', name: 'pool', api_base: `http://127.0.0.1:${port}/v1` },
          api_key: ['first-key-of-the-pool', 'second-key-of-the-pool'],
          models: [{ name: 'm', supports_function_calling: true }],
        },
      ],
    });
    const { agentId } = await world.client.call('spawn', {
      ...{ agent: 'native:coder', task: 'Nothing to do', model: 'pool:m', worktree: '' },
    });
    const job = await world.until(agentId, ({ endedAt }) => endedAt !== undefined, 40_000);
    const { calls } = await world.client.call('calls', { job: agentId });
    expect([job.status, keys]).toEqual(['completed', ['first-key-of-the-pool', 'second-key-of-the-pool']]);
    expect(calls.map(({ failovers }) => failovers.length)).toEqual([1]);
    expect(calls[0]?.failovers[0]).toMatch(/^pool: key \S+ gave /);
    expect(JSON.stringify(calls)).not.toContain('first-key-of-the-pool');
  },
  60_000,
);
