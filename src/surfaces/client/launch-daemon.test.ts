import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, vi } from 'vitest';
import { makeWorld, type World } from '../../../test/e2e/harness.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { readEnvironment } from '../../base/env.ts';
import { openClient } from './client.ts';

let world: World;
afterEach(() => world.close());

/** As a desktop starts an editor: hardly a PATH, a key that is none of an agent's business, and the shell the user has. */
function desktop(): NodeJS.ProcessEnv {
  world = makeWorld();
  const SHELL = join(world.root, 'shell');
  writeFileSync(SHELL, '#!/bin/sh\necho Welcome\nshift 3\nPATH=/opt/agents:/usr/bin exec sh -c "$1"\n', {
    mode: 0o755,
  });
  return { ...world.env, PATH: '/usr/bin:/bin', SHELL, MY_API_KEY: 'secret', MY_INDEX: 'there', LC_ALL: 'C.UTF-8' };
}

async function pathOfDaemon(surface: 'cli' | 'mcp', env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const client = openClient({ env: readEnvironment(env), cwd: world.repository, surface });
  await client.call('status', {});
  const given = readFileSync(`/proc/${(await client.daemon())?.pid}/environ`, 'utf8').split('\0');
  return given.find((entry) => entry.startsWith('PATH='))?.slice('PATH='.length);
}

verifies('A-83').test('a daemon that a command starts has the PATH of that command', async () => {
  expect(await pathOfDaemon('cli', desktop())).toBe('/usr/bin:/bin');
});

verifies('A-83', 'J-12').test(
  'one that an editor starts has that of the login shell besides, and agents get that, what is named, and no key',
  async () => {
    const env = desktop();
    expect(await pathOfDaemon('mcp', env)).toBe('/usr/bin:/bin:/opt/agents');
    const seen = join(world.root, 'seen');
    const agent = join(world.root, 'agent');
    writeFileSync(
      agent,
      `#!/bin/sh\n[ "$1" = --version ] && exit\nenv > ${seen}.part\nmv ${seen}.part ${seen}\nexec sleep 600\n`,
      { mode: 0o755 },
    );
    world.configure({
      reef: { pass_env: ['MY_INDEX'], agents: { 'acp:env': { command: [agent], env: { MINE: 'x' } } } },
    });
    const { agentId } = await world.client.call('spawn', { agent: 'acp:env', task: 'look', sandbox: false });
    await vi.waitUntil(() => existsSync(seen), { timeout: 20_000 });
    await world.client.call('kill', { id: agentId });
    const lines = readFileSync(seen, 'utf8').trimEnd().split('\n');
    const given = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    expect(given).toMatchObject({
      PATH: '/usr/bin:/bin:/opt/agents',
      NO_COLOR: '1',
      MINE: 'x',
      MY_INDEX: 'there',
      LC_ALL: 'C.UTF-8',
    });
    // X-20's names, the adapter's, what Reef says of the job, and what a shell adds of its own.
    const known =
      /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TERM|TZ|TMPDIR|NO_COLOR|MINE|MY_INDEX|REEF_\w+|PWD|OLDPWD|SHLVL|_)$/;
    expect(Object.keys(given).filter((name) => !known.test(name))).toEqual([]);
  },
);
