import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf } from '../programs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('../../fixtures/engines/walk.ts', import.meta.url));

export interface Walked {
  end: unknown;
  trace: string[];
  /** How many points it passed. */
  passed: number;
}

/** The walk in a process of its own: the signal it died by, or what it came to. */
async function walk(args: string[]): Promise<{ signal: NodeJS.Signals | null; walked?: Walked }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const [, signal] = await once(child, 'close');
  return said === '' ? { signal } : { signal, walked: JSON.parse(said) };
}

/** Undisturbed. */
export async function walkOnce(kind: string, place: string): Promise<Walked> {
  const { walked } = await walk([kind, place, temporaryFolder(), '0']);
  if (!walked) throw new Error('the walk did not end');
  return walked;
}

/** Killed at that point, then taken up by another process. */
export async function walkKilled(kind: string, place: string, killAt: number) {
  const folder = temporaryFolder();
  const { signal } = await walk([kind, place, folder, String(killAt)]);
  const { walked } = await walk([kind, place, folder, '0']);
  const faults = textOf(join(folder, 'faults')).trim();
  const effects = readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n').sort();
  return { signal, faults, walked, effects };
}
