import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { attachCommand } from './headful.ts';

verifies('A-121').test('only the terminal of a job that runs is joined', () => {
  const home = temporaryFolder();
  const dir = join(home, 'jobs', 'J', '1');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'terminal'), JSON.stringify({ tmux: '/opt/tmux', ready: 'x' }));
  const job = { id: 'J', mode: 'headful', status: 'running', launch: 1 } as const;
  const ask = (more: Partial<Parameters<typeof attachCommand>[1]>) => {
    try {
      return attachCommand(home, { ...job, ...more });
    } catch (error) {
      return error instanceof ReefError ? error.code : error;
    }
  };
  expect([
    ask({}),
    ask({ mode: 'headless' }),
    ask({ status: 'killed' }),
    ask({ status: 'queued' }),
    ask({ launch: 2 }),
  ]).toEqual([
    { file: '/opt/tmux', args: ['-S', join(dir, 'tmux'), 'attach-session'] },
    'not_headful',
    'job_ended',
    'invalid_transition',
    'invalid_transition',
  ]);
});
