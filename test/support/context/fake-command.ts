import { fileURLToPath } from 'node:url';
import type { ServerCommand } from '../../../src/context/manager/server-command.ts';
import type { FakePlan } from './fake-plan.ts';

export const FAKE_SERVER = fileURLToPath(new URL('fake-server.ts', import.meta.url));

/** The worktree stands in its arguments, so that its processes are found by it. */
export function fakeServer(planOf: (worktreePath: string) => FakePlan): ServerCommand {
  return {
    command: process.execPath,
    args: (path) => [FAKE_SERVER, JSON.stringify(planOf(path)), path],
    env: {},
  };
}
