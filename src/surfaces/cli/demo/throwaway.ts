import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, readEnvironment } from '../../../base/env.ts';
import { allowedEnv } from '../../../process/environment.ts';
import { run } from '../../../process/run.ts';
import { ReefError } from '../../../protocol/errors.ts';

export interface Throwaway {
  root: string;
  repository: string;
  /** As the user's, but with a configuration of its own. */
  env: Environment;
  git(...args: string[]): Promise<string>;
}

const files: Record<string, string> = {
  'greet.mjs': `const greetings = { en: 'Hello', de: 'Guten Tag' };

export function greet(name, language = 'en') {
  return \`\${greetings[language]}, \${name}!\`;
}
`,
  'greet.test.mjs': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greet } from './greet.mjs';

test('greets in English', () => assert.equal(greet('Ada'), 'Hello, Ada!'));
`,
};

/** A small repository in a temporary folder, which nothing of the user's is part of. */
export async function makeThrowaway(env: Environment): Promise<Throwaway> {
  const root = await mkdtemp(join(tmpdir(), 'reef-demo-'));
  const repository = join(root, 'greetings');
  const config = join(root, 'config', 'reef');
  await mkdir(repository);
  await mkdir(config, { recursive: true });
  await writeFile(join(config, 'config.yaml'), 'timings: { linger: 100 }\n');
  for (const [name, text] of Object.entries(files)) await writeFile(join(repository, name), text);
  const git = async (...args: string[]) => {
    const who = [
      '-c',
      'user.name=Reef demo',
      '-c',
      'user.email=demo@example.invalid',
      '-c',
      'core.hooksPath=/dev/null',
    ];
    const gitEnv = allowedEnv(env.all, [], { GIT_CONFIG_GLOBAL: '/dev/null' });
    const done = await run({ file: 'git', args: [...who, ...args], cwd: repository, env: gitEnv, timeoutMs: 20_000 });
    if (done.code !== 0) throw new ReefError('internal', `git ${args[0]}: ${done.stderr.toString().trim()}`);
    return done.stdout.toString();
  };
  await git('init', '-q', '-b', 'main');
  await git('add', '.');
  await git('commit', '-q', '-m', 'A greeting');
  const { REEF_HOME: _, REEF_SOCKET: __, ...rest } = env.all;
  return { root, repository, env: readEnvironment({ ...rest, XDG_CONFIG_HOME: join(root, 'config') }), git };
}
