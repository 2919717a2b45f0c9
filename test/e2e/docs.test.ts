import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';
import { argumentsOf, commandsOf, SHOP } from './transcript.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const world = makeWorld();
afterAll(() => world.close());

const CODER = join(root, 'test/fixtures/docs-coder.yaml');

const commandsIn = (page: string) => commandsOf(readFileSync(join(root, 'docs', page), 'utf8'));

async function reef(line: string): Promise<{ line: string; code: number; said?: string }> {
  const running = run(process.execPath, [join(root, 'bin/reef.cjs'), ...argumentsOf(line)], {
    cwd: world.repository,
    env: world.env,
  });
  // Nobody types: a shell that is opened ends at once.
  running.child.stdin?.end();
  return running.then(
    () => ({ line, code: 0 }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      line,
      code: error.code,
      said: error.stdout + error.stderr,
    }),
  );
}

verifies('U-41').test(
  'every command of the pages about workflows, worktrees, code, the coder and its state does what it says, in its order',
  async () => {
    for (const [name, text] of Object.entries(SHOP)) writeFileSync(join(world.repository, name), text);
    await run('git', ['add', '.'], { cwd: world.repository });
    await run('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', 'commit', '-qm', 'a shop'], {
      cwd: world.repository,
    });
    await run('git', ['config', 'user.name', 'x'], { cwd: world.repository });
    await run('git', ['config', 'user.email', 'x@y'], { cwd: world.repository });
    const player = join(root, 'src/agents/reef-protocol/scripted-agent.ts');
    const script = join(root, 'test/fixtures/scripts/docs-agent.yaml');
    world.configure({
      clients: [{ type: 'scripted', name: 'demo', models: [{ name: 'coder', script: CODER }] }],
      reef: {
        timings: { linger: 100 },
        default_agent: 'wire:docs',
        agents: { 'wire:docs': { command: [process.execPath, player, script] } },
      },
    });
    const lines = ['workflow.md', 'worktrees.md', 'code-context.md', 'coder.md', 'repostate.md'].flatMap(commandsIn);
    expect(lines.length).toBeGreaterThan(25);
    for (const line of lines) expect(await reef(line)).toEqual({ line, code: 0 });
  },
  600_000,
);
