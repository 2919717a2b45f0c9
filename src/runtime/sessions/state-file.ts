import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { writeAtomic } from '../../base/atomic-file.ts';
import { ReefError } from '../../protocol/errors.ts';
import { type SessionState, sessionSchema } from './session-state.ts';

const FILE = 'state.yaml';

export const stateFile = (dir: string) => join(dir, FILE);

export const sessionText = (state: SessionState) => stringify(state, { lineWidth: 0, aliasDuplicateObjects: false });

/** Undefined when there is none. */
export async function readState(dir: string): Promise<SessionState | undefined> {
  const file = stateFile(dir);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : parseSession(text, file);
}

export function parseSession(text: string, file: string): SessionState {
  try {
    return sessionSchema.parse(parse(text, { maxAliasCount: 0 }));
  } catch (error) {
    throw new ReefError('session_invalid', `${file} is no session: ${firstLine(error)}`, { cause: error });
  }
}

export function writeState(dir: string, state: SessionState): Promise<void> {
  return writeAtomic(stateFile(dir), sessionText(state));
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
