import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { verifies } from '../verifies.ts';
import { makeWorld } from './harness.ts';
import { REEF } from './runtime-rig.ts';

const world = makeWorld('reef-outbound-');
afterAll(() => world.close());

const hasStrace = spawnSync('strace', ['-V']).status === 0;

const quoted = (word: string) => `'${word}'`;

/** Every address that the commands, the daemon the first of them starts, or a child of these has tried to reach. */
function reached(...commands: readonly (readonly string[])[]): { status: number | null; addresses: string[] } {
  const trace = join(world.root, 'trace');
  const script = commands.map((args) => [process.execPath, REEF, ...args].map(quoted).join(' ')).join(' && ');
  const tracer = ['-f', '-qq', '-e', 'trace=connect,sendto,sendmsg', '-o', trace];
  const options = { cwd: world.repository, env: world.env, stdio: 'ignore' } as const;
  const { status } = spawnSync('strace', [...tracer, '/bin/sh', '-c', script], options);
  const found = readFileSync(trace, 'utf8').matchAll(/sa_family=(AF_\w+)[^}]*/g);
  return { status, addresses: [...found].map(([text]) => text) };
}

verifies('X-72')
  .needs(hasStrace, 'strace is not installed')
  .test(
    'a job, its daemon, the code index, an answer of a model: nothing is reached but sockets of this machine',
    () => {
      world.configure({ clients: [{ type: 'scripted', models: [{ name: 'm', script: 'model.yaml' }] }] });
      writeFileSync(join(world.root, 'config', 'reef', 'model.yaml'), '- reply: { text: Hello. }\n');
      writeFileSync(join(world.repository, 'a.ts'), 'export function alpha() {}\n');
      const agent = world.script('works', [{ shell: ['git', 'status'] }, { say: 'Done.' }]);
      const { status, addresses } = reached(
        ['spawn', agent, 'look around', '--worktree'],
        ['wait', '@last', '--until', 'done'],
        ['code', 'find', 'alpha'],
        ['ask', '--model', 'scripted:m', 'hello'],
        ['daemon', 'stop'],
      );
      expect(status).toBe(0);
      expect(addresses.filter((address) => address.startsWith('sa_family=AF_UNIX')).length).toBeGreaterThan(0);
      const beyond = addresses.filter((address) => /AF_INET/.test(address) && !/127\.0\.0\.1|::1"/.test(address));
      expect(beyond).toEqual([]);
    },
    120_000,
  );
