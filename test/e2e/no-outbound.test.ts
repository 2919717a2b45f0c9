import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';
import { hasStrace, traced } from './traced.ts';

const world = makeWorld();
afterAll(() => world.close());

verifies('X-72')
  .needs(hasStrace, 'strace is not installed')
  .test(
    'a job, its daemon, the code index, an answer of a model: nothing is reached but sockets of this machine',
    () => {
      world.configure({ clients: [{ type: 'scripted', models: [{ name: 'm', script: 'model.yaml' }] }] });
      writeFileSync(join(world.root, 'config', 'reef', 'model.yaml'), '- reply: { text: Hello. }\n');
      writeFileSync(join(world.repository, 'a.ts'), 'export function alpha() {}\n');
      const agent = world.script('works', [{ shell: ['git', 'status'] }, { say: 'Done.' }]);
      const { codes, trace } = traced(world, 'connect,sendto,sendmsg', [
        ['spawn', agent, 'look around', '--worktree'],
        ['wait', '@last', '--until', 'done'],
        ['code', 'find', 'alpha'],
        ['ask', '--model', 'scripted:m', 'hello'],
      ]);
      expect(codes).toEqual([0, 0, 0, 0]);
      const addresses = [...trace.matchAll(/sa_family=(AF_\w+)[^}]*/g)].map(([text]) => text);
      expect(addresses.filter((address) => address.startsWith('sa_family=AF_UNIX')).length).toBeGreaterThan(0);
      const beyond = addresses.filter((address) => /AF_INET/.test(address) && !/127\.0\.0\.1|::1"/.test(address));
      expect(beyond).toEqual([]);
    },
    120_000,
  );
