import { afterEach, expect } from 'vitest';
import type { JobView } from '../../src/protocol/job-operations.ts';
import { operations } from '../../src/protocol/operations.ts';
import { restRoutes } from '../../src/surfaces/http/door/rest.ts';
import { type Knock, knock } from '../support/surfaces/door.ts';
import { verifies } from '../support/verifies.ts';
import { serve } from './door-rig.ts';
import { makeWorld, type World } from './harness.ts';

/** The addresses of the operations, as a script uses them: the real daemon behind the real door. */

let world: World;
afterEach(() => world.close());

verifies('U-23', 'U-25').test('a job is started, read, answered and ended by addresses alone', async () => {
  world = makeWorld();
  const agent = world.script('asks', [
    { say: 'hello' },
    { permit: { tool: 'deploy', input: {}, steps: [{ say: 'deployed' }] } },
    { sleep: 60_000 },
  ]);
  const { port, token } = await serve(world);
  const ask = async (asked: Knock) => (await knock(port, { ...asked, token })).json as Record<string, never>;
  const { agentId } = await ask({ path: '/v1/jobs', body: { agent, task: 'ask me' } });
  expect(await ask({ path: `/v1/wait?ids=${agentId}&until=needs_input` })).toMatchObject({ met: true });
  const { jobs } = (await ask({ path: `/v1/jobs/${agentId}` })) as unknown as { jobs: JobView[] };
  const [question] = jobs[0]?.questions ?? [];
  const { fingerprint, questionId } = question ?? {};
  const answer = { decision: 'allow_once', fingerprint, questionId };
  expect(await ask({ path: `/v1/jobs/${agentId}/input`, body: answer })).toMatchObject({ agentId, delivered: true });
  const events = await ask({ path: `/v1/jobs/${agentId}/events?limit=1&since=0` });
  expect(events).toMatchObject({
    events: [{ seq: 1 }],
    nextCursor: expect.stringMatching(/^1\.[0-9a-f]{8}$/),
    truncated: true,
  });
  expect(await ask({ path: `/v1/jobs/${agentId}/log?from=0&bytes=100` })).toMatchObject({ agentId, from: 0 });
  expect(await ask({ path: '/v1/usage?by=agent&limit=5' })).toMatchObject({ rows: [{ key: agent, jobs: 1 }] });
  expect(await ask({ path: '/v1/events/page?since=0&limit=1' })).toMatchObject({ events: [{ seq: 1 }] });
  expect(await ask({ path: `/v1/jobs/${agentId}`, method: 'DELETE' })).toMatchObject({ agentId, status: 'killed' });
});

/** What it takes to name one thing of each kind. */
const GIVEN: Record<string, (id: string) => Record<string, string>> = {
  find_symbols: () => ({ query: 'add' }),
  code_search: () => ({ query: 'add' }),
  get_symbol: () => ({ name: 'add' }),
  get_symbol_references: () => ({ name: 'add' }),
  get_callers: () => ({ name: 'add' }),
  get_callees: () => ({ name: 'add' }),
  get_impact: () => ({ name: 'add' }),
  get_tests: () => ({ name: 'add' }),
  get_file_outline: () => ({ file_path: 'README.md' }),
  get_directory_outline: () => ({ directory_path: '.' }),
  wait: () => ({ timeoutMs: '0' }),
};

verifies('U-23').test('each address that reads gives what its operation gives', async () => {
  world = makeWorld();
  const agent = world.script('says', [{ say: 'hello' }]);
  const { port, token } = await serve(world);
  const { agentId = '' } = await world.client.call('spawn', { agent, task: 'say', worktree: 'place' });
  await world.until(agentId, ({ status }) => status === 'completed');
  for (const { method, path, operation, inPath, fields } of restRoutes()) {
    if (method !== 'GET') continue;
    const named = Object.fromEntries(inPath.map((name) => [name, agentId]));
    const others = GIVEN[operation]?.(agentId) ?? {};
    const input = Object.entries({ ...named, ...others }).map(([name, value]) => {
      return [name, fields()[name]?.type === 'integer' ? Number(value) : value];
    });
    const body = Object.fromEntries(input);
    const byName = await knock(port, { path: `/v1/op/${operation}`, body, token });
    const address = `${path.replaceAll(/:\w+\??/g, agentId)}?${new URLSearchParams(others)}`;
    const byAddress = await knock(port, { path: address, token });
    expect([operation, byAddress.status, byAddress.code]).toEqual([operation, byName.status, byName.code]);
    const { output } = operations[operation];
    if (byAddress.status === 200)
      expect([operation, output.safeParse(byAddress.json).error]).toEqual([operation, undefined]);
    else expect([operation, byAddress.code]).toEqual([operation, expect.stringMatching(/_not_found$|^no_run$/)]);
  }
});
