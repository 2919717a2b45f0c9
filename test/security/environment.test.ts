import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { makeWorld } from '../e2e/harness.ts';
import { spoken } from '../support/surfaces/spoken.ts';
import { verifies } from '../support/verifies.ts';

const world = makeWorld();
afterAll(() => world.close());

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
}

verifies('X-122', 'X-20').test(
  'what stands in the environment of the command line and of the daemon is in no file, event or answer',
  async () => {
    const canary = randomUUID();
    const env = { ...world.env, MY_TOKEN: canary, NODE_ENV_SECRET: `x${canary}`, AWS_SECRET_ACCESS_KEY: canary };
    const reef = (...args: string[]) =>
      spoken({ args, cwd: world.repository, env, person: (stdin) => void stdin.end() });
    const prints = world.script('prints', [
      { shell: ['env'] },
      { shell: ['sh', '-c', 'exit 7'] },
      { permit: { tool: 'Bash', input: { command: 'env' }, steps: [] } },
      { say: 'Done.' },
    ]);
    const broken = world.script('broken', [{ nothing: 'like this' }]);
    const said: string[] = [];
    for (const words of [
      ['spawn', prints, 'print all', '--worktree', '--wait'],
      ['inbox', '--json'],
      ['spawn', broken, 'fail', '--wait'],
      ['status', '--json'],
      ['output', '@last', '--json'],
      ['run', 'write sum', '--agent', prints],
      ['doctor', '--json'],
      ['config', 'show', '--json'],
      ['daemon', 'status', '--json'],
      ['kill', '--all', '--json'],
      ['no-such-command'],
    ]) {
      const { out, err } = await reef(...words);
      said.push(out, err);
    }
    await world.stopDaemon();
    expect(said.join('')).toMatch(/"activity"|awaiting_input/);
    expect(said.filter((text) => text.includes(canary))).toEqual([]);
    const files = filesBelow(world.root);
    expect(files.some((file) => file.endsWith('daemon.log')) && files.length > 20).toBe(true);
    expect(files.filter((file) => readFileSync(file).includes(canary))).toEqual([]);
  },
  60_000,
);
