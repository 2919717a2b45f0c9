import { afterEach, expect } from 'vitest';
import { openStream } from '../support/surfaces/event-stream.ts';
import { verifies } from '../support/verifies.ts';
import { reopened, serve } from './door-rig.ts';
import { makeWorld, type World } from './harness.ts';

/** The event stream of the real daemon, with real agents behind it. */

let world: World;
afterEach(() => world.close());

verifies('U-21').test('a stream goes on after the daemon was killed, with every event once', async () => {
  world = makeWorld();
  const agent = world.script('talker', [{ repeat: { times: 1_500, steps: [{ say: 'word' }, { sleep: 1 }] } }]);
  const { port, token } = await serve(world);
  const { agentId } = await world.client.call('spawn', { agent, task: 'talk' });
  const first = await openStream(port, { token, since: 0 });
  const got = (await first.take(200)).map(({ id, event }) =>
    event === 'job' ? Number.parseInt(id ?? '', 10) : undefined,
  );
  await world.killDaemon();
  for await (const { id, event } of first.messages) if (event === 'job') got.push(Number.parseInt(id ?? '', 10));
  const seen = got.filter((seq) => seq !== undefined);

  await world.client.call('status', {});
  await reopened(world);
  await world.until(agentId, ({ status }) => status === 'completed');
  const { lastSeq = 0 } = (await world.client.daemon()) ?? {};
  const second = await openStream(port, { token, lastEventId: String(seen.at(-1)) });
  while ((seen.at(-1) ?? 0) < lastSeq) {
    for (const { id, event } of await second.take(1)) if (event === 'job') seen.push(Number.parseInt(id ?? '', 10));
  }
  second.close();
  expect(seen).toEqual(Array.from({ length: lastSeq }, (_, n) => n + 1));
  expect(lastSeq).toBeGreaterThan(1_500);
});

verifies('U-21').test('who looks on learns of questions, runs and worktrees that change', async () => {
  world = makeWorld();
  const agent = world.script('asks', [{ permit: { tool: 'deploy', input: {}, steps: [{ say: 'deployed' }] } }]);
  const { port, token } = await serve(world);
  const stream = await openStream(port, { token });
  const { agentId, worktree } = await world.client.call('spawn', { agent, task: 'ask', worktree: 'place' });
  const missing = new Set([`inbox ${agentId}`, `worktree ${worktree}`, 'needs_input', 'started']);
  while (missing.size > 0) {
    const [message] = await stream.take(1);
    const { kind, id, type } = JSON.parse(message?.data ?? '{}');
    missing.delete(message?.event === 'changed' ? `${kind} ${id}` : type);
  }
  stream.close();
  expect(missing.size).toBe(0);
});
