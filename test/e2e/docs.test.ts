import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect } from 'vitest';
import { verifies } from '../verifies.ts';
import { makeWorld } from './harness.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const world = makeWorld('reef-docs-');
afterAll(() => world.close());

const CODER = join(root, 'test/fixtures/docs-coder.yaml');

const FILES = {
  'package.json':
    '{ "name": "shop", "type": "module", "scripts": { "lint": "node --check tax.mjs", "test": "node --test" } }\n',
  'tax.mjs': 'export function tax(lines, rate) {\n  return lines.reduce((sum, cents) => sum + cents * rate, 0);\n}\n',
  'tax.test.mjs': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tax } from './tax.mjs';

test('every line is rounded to whole cents', () => assert.equal(tax([105, 215], 0.1), 33));
`,
};

/** The lines of the shell blocks of a page that call reef. */
function commandsOf(page: string): string[] {
  const text = readFileSync(join(root, 'docs', page), 'utf8');
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)]
    .flatMap(([, block = '']) => block.split('\n'))
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line.startsWith('reef '));
}

async function reef(line: string): Promise<{ line: string; code: number; said?: string }> {
  const words = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', '')).slice(1);
  return run(process.execPath, [join(root, 'bin/reef.cjs'), ...words], { cwd: world.repository, env: world.env }).then(
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
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(world.repository, name), text);
    await run('git', ['add', '.'], { cwd: world.repository });
    await run('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', 'commit', '-qm', 'a shop'], {
      cwd: world.repository,
    });
    await run('git', ['config', 'user.name', 'x'], { cwd: world.repository });
    await run('git', ['config', 'user.email', 'x@y'], { cwd: world.repository });
    const player = join(root, 'src/agents/wire/player.ts');
    const script = join(root, 'test/fixtures/scripts/docs-agent.yaml');
    world.configure({
      clients: [{ type: 'scripted', name: 'demo', models: [{ name: 'coder', script: CODER }] }],
      reef: {
        timings: { linger: 100 },
        default_agent: 'wire:docs',
        agents: { 'wire:docs': { command: [process.execPath, player, script] } },
      },
    });
    const lines = ['workflow.md', 'worktrees.md', 'code-context.md', 'coder.md', 'repostate.md'].flatMap(commandsOf);
    expect(lines.length).toBeGreaterThan(25);
    for (const line of lines) expect(await reef(line)).toEqual({ line, code: 0 });
  },
  180_000,
);
