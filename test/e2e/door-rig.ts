import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { until } from '../support/wait.ts';
import type { World } from './harness.ts';

/** The door over TCP of a world, opened and used by the real command line. */

export const REEF = join(import.meta.dirname, '../../bin/reef.cjs');

export interface Said {
  code: number;
  out: string;
  err: string;
}

export function reef({ repository, env }: World, args: string[], more: NodeJS.ProcessEnv = {}): Promise<Said> {
  return new Promise((resolve) =>
    execFile(process.execPath, [REEF, ...args], { cwd: repository, env: { ...env, ...more } }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    ),
  );
}

/** Opens it as a person does. The token is that of scripts. */
export async function serve(world: World, ...args: string[]): Promise<{ port: number; token: string }> {
  const { code, out, err } = await reef(world, ['serve', '--json', ...args]);
  expect([code, err]).toEqual([0, err]);
  const { address, tokenFile } = JSON.parse(out) as { address: string; tokenFile: string };
  return { port: Number(new URL(address).port), token: readFileSync(tokenFile, 'utf8').trim() };
}

/** Until the daemon that has just been started has its door open again. */
export async function reopened({ client }: World): Promise<string> {
  return until('the door is open again', async () => (await client.daemon())?.door);
}
