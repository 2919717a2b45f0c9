import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Environment, readEnvironment } from '../../../base/env.ts';
import { allowedEnv } from '../../../process/environment.ts';
import { run } from '../../../process/run.ts';
import { ReefError } from '../../../protocol/errors.ts';

export interface Throwaway {
  root: string;
  repository: string;
  /** The user's environment, but with another configuration. */
  env: Environment;
  git(...args: string[]): Promise<string>;
}

const files: Record<string, string> = {
  'package.json': `{ "name": "shop", "type": "module", "scripts": { "lint": "node --check tax.mjs", "test": "node --test" } }\n`,
  'tax.mjs': `export function tax(lines, rate) {
  return lines.reduce((sum, cents) => sum + cents * rate, 0);
}
`,
  'tax.test.mjs': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tax } from './tax.mjs';

test('every line is rounded to whole cents', () => assert.equal(tax([105, 215], 0.1), 33));
`,
};

/** The configuration of the demo: three models, each a script beside this file. */
const demoConfig = (agents: Record<string, unknown>) => ({
  reef: { timings: { linger: 100 }, agents },
  clients: [
    {
      type: 'scripted',
      name: 'demo',
      models: ['rounder', 'zero', 'notes'].map((name) => ({
        name,
        script: fileURLToPath(new URL(`./${name}.yaml`, import.meta.url)),
      })),
    },
  ],
});

/** A small repository with a failing test, in a temporary folder. Nothing in it belongs to the user. */
export async function makeThrowaway(env: Environment, agents: Record<string, unknown>): Promise<Throwaway> {
  const root = await mkdtemp(join(tmpdir(), 'reef-demo-'));
  const repository = join(root, 'shop');
  const config = join(root, 'config', 'reef');
  await mkdir(repository);
  await mkdir(config, { recursive: true });
  await writeFile(join(config, 'config.yaml'), JSON.stringify(demoConfig(agents))); // JSON is YAML
  for (const [name, text] of Object.entries(files)) await writeFile(join(repository, name), text);
  const git = async (...args: string[]) => {
    const gitEnv = allowedEnv(env.all, [], { GIT_CONFIG_GLOBAL: '/dev/null' });
    const quiet = ['-c', 'core.hooksPath=/dev/null'];
    const done = await run({ file: 'git', args: [...quiet, ...args], cwd: repository, env: gitEnv, timeoutMs: 20_000 });
    if (done.code !== 0) throw new ReefError('internal', `git ${args[0]}: ${done.stderr.toString().trim()}`);
    return done.stdout.toString();
  };
  await git('init', '-q', '-b', 'main');
  await git('config', 'user.name', 'Reef demo');
  await git('config', 'user.email', 'demo@example.invalid');
  await git('add', '.');
  await git('commit', '-q', '-m', 'A shop with a failing test');
  const { REEF_HOME: _, REEF_SOCKET: __, ...rest } = env.all;
  const own = {
    XDG_CONFIG_HOME: join(root, 'config'),
    XDG_DATA_HOME: join(root, 'data'),
    XDG_STATE_HOME: join(root, 'state'),
  };
  return { root, repository, env: readEnvironment({ ...rest, ...own }), git };
}
