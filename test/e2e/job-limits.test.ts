import { afterAll, expect } from 'vitest';
import { jobSocketPath } from '../../src/agents/sandbox.ts';
import { connect } from '../../src/surfaces/client/client.ts';
import { errorBody } from '../../src/surfaces/client/request.ts';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';

const world = makeWorld();
afterAll(() => world.close());

async function refusal(act: Promise<unknown>): Promise<string> {
  return act.then(
    (answer) => `answered ${JSON.stringify(answer)}`,
    (error: unknown) => errorBody(error).error.code,
  );
}

verifies('X-08', 'U-16').test(
  'an agent sees and starts what is its own: people merge, trust, answer, and look at the work of others',
  async () => {
    const agent = world.script('sleeper', [{ sleep: 60_000 }]);
    const other = await world.client.call('worktree_create', { title: 'of somebody else' });
    const { agentId, worktree = '' } = await world.client.call('spawn', { agent, task: 'wait', worktree: '' });
    await world.until(agentId, ({ status }) => status === 'running');
    const run = await world.client.call('run', { task: 'of a person', agent, workflow: 'test-fix' });
    const door = connect({ socket: jobSocketPath(world.home.sockets, agentId), surface: 'mcp' });
    const refused = {
      accept: door.call('accept', { id: worktree }),
      discard: door.call('worktree_discard', { id: worktree }),
      trust: door.call('trust', {}),
      worktrees: door.call('worktrees', {}),
      calls: door.call('calls', {}),
      control: door.call('run_control', { id: run.runId, verb: 'abort' }),
      diff: door.call('diff', { id: other.id }),
      code: door.call('code_search', { query: 'x', worktree: other.id }),
      state: door.call('repo_state', { worktree: other.id }),
      status: door.call('run_status', { id: run.runId }),
      moving: door.call('spawn', { agent, task: 'x', worktree: other.id }),
      allowing: door.call('run', { task: 'x', yes: true, unsafe: true }),
      merging: door.call('run', { task: 'x', accept: true }),
      script: door.call('run', { task: 'x', agent }),
    };
    const codes = await Promise.all(
      Object.entries(refused).map(async ([name, act]) => [name, await refusal(act)] as const),
    );
    expect(Object.fromEntries(codes)).toEqual(
      Object.fromEntries(Object.keys(refused).map((name) => [name, 'not_yours'])),
    );
    const [own, theirs] = await Promise.all([door.call('diff', { id: worktree }), door.call('run_status', {})]);
    expect([own.files, theirs.runs]).toEqual([[], []]);
    expect(await refusal(door.call('block_result', { signal: 'SIGNAL:SUCCESS', summary: 'x' }))).toBe('not_a_block');
  },
  60_000,
);
