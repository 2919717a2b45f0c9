import { mkdir } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { afterEach, expect } from 'vitest';
import { sampleJob } from '../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../../test/support/surfaces/socket.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { jobSocketPath } from '../../agents/sandbox.ts';
import { systemClock } from '../../base/clock.ts';
import type { Core } from '../../protocol/operations.ts';
import { connect } from '../client/client.ts';
import { AgentTree } from './agent-tree.ts';
import { relay } from './relay.ts';
import { RootJob } from './root-job.ts';
import { treeSocketPath } from './tree-socket.ts';

let socket: TestSocket;
afterEach(() => socket.close());

const [FIRST, SECOND] = ['J-first', 'J-second'];

/** The process of a job, as the daemon starts it: it carries the task to whoever hosts it. */
function come(jobId: string): void {
  const door = jobSocketPath(socket.dir, jobId);
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.write(`${JSON.stringify({ id: 'm1', text: 'Begin' })}\n`);
  const hello = { agent: 'boss', jobId, depth: 0, cwd: socket.dir, door, sessionId: 's', keep: false };
  void relay(treeSocketPath(door), hello, { input, output, patienceMs: 30_000 });
}

/** The first job does not come to life; the second does. */
function daemon() {
  const ids = [FIRST, SECOND];
  const changes: Partial<Core> = {
    spawn: async () => {
      const agentId = ids.shift() ?? '';
      if (agentId === SECOND) come(agentId);
      return { agentId, status: 'queued', sandbox: 'none' };
    },
    wait: async ({ ids: [id = ''] }, _caller, signal) => {
      if (id === FIRST) return { met: true, jobs: [sampleJob({ status: 'error' })] };
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    inbox: async () => ({ questions: [], notices: [] }),
  };
  return smallCore(sampleJob(), changes);
}

verifies('R-08').test(
  'a daemon that is away is waited for; a job that did not come to be is ended, and the next child tries afresh',
  async () => {
    socket = await openSocket();
    const { dir, path } = socket;
    await socket.close();
    const over = new AbortController();
    const root = new RootJob({
      ...{ agent: 'boss', task: 'Begin', cwd: dir, model: 'm', clock: systemClock, signal: over.signal },
      runtime: () => undefined,
      daemon: () => ({ client: connect({ socket: path, surface: 'cli' }), sockets: dir }),
      tree: new AgentTree({ runtime: {} as never, cwd: dir, confirmAll: false }),
      onWaiting: () => {},
      onAsked: async () => {},
    });
    const first = expect(root.jobs()).rejects.toMatchObject({ code: 'spawn_failed' });
    await mkdir(dir, { recursive: true });
    const { core, calls } = daemon();
    socket = Object.assign(await openSocket(core, { path }), { dir });
    await first;
    expect([root.id, calls.filter(({ operation }) => operation === 'kill').map(({ input }) => input)]).toEqual([
      '',
      [{ id: FIRST }],
    ]);
    await root.jobs();
    expect(root.id).toBe(SECOND);
    await root.end('killed');
    expect(calls.at(-1)).toMatchObject({ operation: 'kill', input: { id: SECOND } });
  },
);
