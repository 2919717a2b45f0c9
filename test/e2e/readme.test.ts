import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { makeAgentHome, realAgent } from '../agents/real-agents.ts';
import type { Turn } from '../model-server/script.ts';
import { startModelServer } from '../model-server/server.ts';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';
import { argumentsOf, commandsOf, firstLie, SHOP, transcriptOf, withQuestion } from './transcript.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const claude = realAgent('claude');
// As a person has it: outside of the temporary folder agents work in a sandbox.
const world = makeWorld('/var/tmp');
const { sandboxesNetwork } = await probeCapabilities();
const needed = [claude.available && sandboxesNetwork, claude.why ?? 'a sandbox with a network of its own'] as const;
afterAll(() => world.close());

const commands = commandsOf(readme);

async function run(line: string, env = world.env): Promise<{ code: number; said: string; err: string }> {
  const child = spawn(process.execPath, [join(root, 'bin/reef.cjs'), ...argumentsOf(line)], {
    cwd: world.repository,
    env,
  });
  child.stdin.end();
  const [said, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, said, err };
}

const git = (...args: string[]) => execFileSync('git', ['-C', world.repository, ...args], { encoding: 'utf8' });

function makeShop(): void {
  for (const [name, content] of Object.entries(SHOP)) writeFileSync(join(world.repository, name), content);
  git('config', 'user.name', 'Ada');
  git('config', 'user.email', 'ada@example.invalid');
  git('add', '-A');
  git('commit', '-qm', 'A shop');
}

const mends: Turn[] = [
  { text: 'I look at the code first.', tools: [{ read: 'tax.mjs' }] },
  { tools: [{ edit: 'tax.mjs', old: 'sum + cents * rate, 0)', new: 'sum + Math.round(cents * rate), 0)' }] },
  { text: 'Every line is rounded now.\n\nSIGNAL:SUCCESS' },
  { text: 'There is nothing to document.\n\nSIGNAL:SUCCESS' },
];
const asks = { ask: [{ question: 'By which runner?', options: ['node:test', 'vitest'] }] };
const adds: Turn[] = [
  { tools: [asks] },
  { tools: [{ shell: 'touch a.test' }] },
  { text: 'Added.' },
  { text: 'Shorter.' },
];

/** As a person has it: the program on PATH, its log-in in the configuration. */
function install(modelUrl: string): NodeJS.ProcessEnv {
  const bin = join(world.root, 'bin');
  mkdirSync(bin, { recursive: true });
  if (!existsSync(join(bin, 'claude'))) symlinkSync(claude.file, join(bin, 'claude'));
  const { PATH: _, ...env } = claude.env(modelUrl, makeAgentHome());
  world.configure({ reef: { timings: { linger: 200 }, agents: { claude: { env } } } });
  return { ...world.env, PATH: `${bin}:${world.env.PATH}` };
}

verifies('U-06', 'U-41')
  .needs(...needed)
  .test(
    'the first ten minutes: init, doctor, trust, a run of the real Claude Code and a merge say what the README says',
    async () => {
      makeShop();
      const bare = await run('reef doctor');
      expect(bare.said).toMatch(
        /warn +agents +no agent is ready\n.*\n +fix: npm install -g @anthropic-ai\/claude-code/,
      );
      const model = await startModelServer({ scripts: { mends } });
      const env = install(model.runUrl('mends', 'first'));
      const typed = transcriptOf(readme);
      expect(typed.length).toBeGreaterThan(5);
      for (const { line, says } of typed) {
        const { code, said } = await run(line, env);
        expect({ line, code, lie: firstLie(says, said), said }).toEqual({ line, code: 0, lie: undefined, said });
      }
      await model.close();
      expect(git('log', '--format=%s')).toBe('Make the failing test pass\nA shop\nfirst\n');
      execFileSync(process.execPath, ['--test'], { cwd: world.repository, stdio: 'pipe' });
      expect((await run('reef doctor', env)).said).toMatch(/\n\nNo problems found\.\n$/);
    },
    300_000,
  );

verifies('U-41')
  .needs(...needed)
  .test(
    'every command of the README does what it says, in its order, with the real Claude Code',
    async () => {
      const model = await startModelServer({ scripts: { adds } });
      const env = install(model.runUrl('adds'));
      await world.stopDaemon();
      const results: { line: string; code: number }[] = [];
      let asked = '';
      for (const line of commands) {
        const { code, said } = await run(withQuestion(line, asked), env);
        results.push({ line, code });
        asked = said;
      }
      await model.close();
      // The first wait comes back with the question.
      const expected = commands.map((line) => ({ line, code: line === 'reef wait @last' ? 3 : 0 }));
      expect(results).toEqual(expected);
    },
    300_000,
  );

verifies('U-41').test('the README names no command that does not exist', async () => {
  const { code, said } = await run('reef --help');
  const known = new Set([...said.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name));
  const named = [...readme.matchAll(/`reef ([a-z]+)/g)].map(([, name]) => name);
  expect([code, named.length > 10, named.filter((name) => !known.has(name))]).toEqual([0, true, []]);
});

test('the README names the two commands that need nothing else', () => {
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block).join('');
  expect(blocks.match(/^npm ci && npm \S+( \w+)?/gm)).toEqual(['npm ci && npm run demo', 'npm ci && npm test']);
});

test('the README is short, and its links lead somewhere', () => {
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
