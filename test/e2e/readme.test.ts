import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeAgentHome, realAgent } from '../agents/real-agents.ts';
import { startModelServer } from '../model-server/server.ts';
import { verifies } from '../verifies.ts';
import { makeWorld } from './harness.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const claude = realAgent('claude');
const world = makeWorld('reef-readme-');
afterAll(() => world.close());

/** The lines of the shell blocks that call reef, without their comments. */
const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)]
  .flatMap(([, block = '']) => block.split('\n'))
  .map((line) => line.replace(/\s+#.*$/, '').trim())
  .filter((line) => line.startsWith('reef '));

async function run(line: string): Promise<{ line: string; code: number }> {
  const words = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', '')).slice(1);
  const child = spawn(process.execPath, [join(root, 'bin/reef.cjs'), ...words], {
    cwd: world.repository,
    env: world.env,
  });
  child.stdout.resume();
  child.stderr.resume();
  const [code] = await once(child, 'close');
  return { line, code };
}

verifies('U-41')
  .needs(claude.available, claude.why ?? '')
  .test(
    'every command of the README does what it says, in its order, with the real Claude Code',
    async () => {
      const turns = [{ tools: [{ shell: 'touch a.test' }] }, { text: 'Added.' }, { text: 'Shorter.' }];
      const model = await startModelServer({ scripts: { readme: turns } });
      const home = makeAgentHome();
      world.configure({
        timings: { linger: 200 },
        agents: { claude: { command: [claude.file], env: claude.env(model.runUrl('readme'), home) } },
      });
      const results: { line: string; code: number }[] = [];
      for (const line of commands) results.push(await run(line));
      await model.close();
      // The first wait comes back with the question (3); doctor may miss other agents but finds no error.
      const expected = commands.map((line) => ({ line, code: line === 'reef wait @last' ? 3 : 0 }));
      expect(results).toEqual(expected);
    },
    120_000,
  );

test('the README is short, and its links lead somewhere', async () => {
  const { existsSync } = await import('node:fs');
  const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)]
    .map(([, path = '']) => path)
    .filter((path) => !path.includes(':'));
  expect({
    isShort: readme.split('\n').length <= 150,
    broken: links.filter((path) => !existsSync(join(root, path))),
  }).toEqual({
    isShort: true,
    broken: [],
  });
});
