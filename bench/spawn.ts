import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { makeWorld, type World } from '../test/e2e/harness.ts';
import { median, printRows, timed } from './measure.ts';

const PLAYER = join(import.meta.dirname, '../src/agents/reef-protocol/scripted-agent.ts');
const ROUNDS = 10;

/** From the call to the first line of the program: through Reef, and the program alone. */
export async function benchSpawn(): Promise<boolean> {
  // Not in /tmp, of which a sandbox has one of its own: there the worlds of tests use none.
  const world = makeWorld('/var/tmp');
  try {
    const agent = world.script('hello', [{ say: 'hello' }]);
    world.configure({ timings: { linger: 0 } });
    await throughReef(world, agent);
    const ours: number[] = [];
    const bare: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      theirs.push(await timed(() => alone(world, agent.slice('scripted:'.length))));
      ours.push(await timed(() => throughReef(world, agent)));
      bare.push(await timed(() => throughReef(world, agent, false)));
    }
    return printRows('From spawn to the first line of the agent', [
      { what: 'through Reef · the bare command', ours: median(ours), theirs: median(theirs), unit: 'ms' },
      { what: 'in the sandbox · without one (goal: 60 ms more)', ours: median(ours), theirs: median(bare), unit: 'ms' },
    ]);
  } finally {
    await world.close();
  }
}

async function throughReef(world: World, agent: string, sandbox?: boolean): Promise<void> {
  const { agentId } = await world.client.call('spawn', { agent, task: 'hello', sandbox });
  let since = '0';
  for (;;) {
    const page = await world.client.call('output', { id: agentId, since, waitMs: 5_000 });
    if (page.events.some((event) => event.payload.kind === 'text')) return;
    since = page.nextCursor;
  }
}

async function alone(world: World, script: string): Promise<void> {
  const cache = join(world.env.XDG_CACHE_HOME ?? '', 'reef', 'compile-cache');
  const env = { ...world.env, NODE_COMPILE_CACHE: cache };
  const child = spawn(process.execPath, [PLAYER, script], {
    cwd: world.repository,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.write('{"id":"1","text":"hello"}\n');
  let said = '';
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.includes('hello')) break;
  }
  child.kill('SIGKILL');
  await once(child, 'exit');
}
