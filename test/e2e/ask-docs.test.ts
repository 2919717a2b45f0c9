import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { initRepository } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';
import { makeUser, REEF } from './runtime-rig.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/runtime.md'), 'utf8');
const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));

verifies('R-114', 'R-15').test(
  'every command of docs/runtime.md works, in its order',
  async () => {
    const user = makeUser();
    user.write('work/notes.txt', 'Coral grows slowly.\n');
    user.write('work/docs/keys.md', 'Keys are rotated every month.\n');
    cpSync(join(root, 'test/fixtures/runtime/loki'), join(user.cwd, 'loki'), { recursive: true });
    initRepository(user.cwd);
    const author = { GIT_AUTHOR_NAME: 'T', GIT_AUTHOR_EMAIL: 't@example.invalid' };
    const env = { ...user.env, ...author, GIT_COMMITTER_NAME: 'T', GIT_COMMITTER_EMAIL: 't@example.invalid' };
    const failed: unknown[] = [];
    for (const line of commands) {
      const script = `reef() { "${process.execPath}" "${REEF}" "$@"; }\nexec </dev/null\n${line}`;
      await promisify(execFile)('sh', ['-c', script], { cwd: user.cwd, env }).catch((error) =>
        failed.push([line, error.stderr]),
      );
    }
    expect([commands.length, failed]).toEqual([28, []]);
  },
  120_000,
);
