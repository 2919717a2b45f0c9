import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { writeAtomic } from '../../base/atomic-file.ts';
import { ReefError } from '../../protocol/errors.ts';
import { readIfThere } from '../config/settings-file.ts';
import { type SessionState, sessionSchema } from './session-state.ts';

export const stateFile = (dir: string) => join(dir, 'state.yaml');

export const sessionText = (state: SessionState) => stringify(state, { lineWidth: 0, aliasDuplicateObjects: false });

/** Undefined when there is no such session. */
export function readState(dir: string): SessionState | undefined {
  const file = stateFile(dir);
  const text = readIfThere(file);
  return text === undefined ? undefined : parseSession(text, file);
}

/** Loses nothing, unlike the reader of settings: what was said in a session may hold any key. */
export function parseSession(text: string, file: string): SessionState {
  try {
    return sessionSchema.parse(parse(text, { maxAliasCount: 0 }));
  } catch (error) {
    const [why] = String((error as Error).message).split('\n');
    throw new ReefError('session_invalid', `${file} is not a session: ${why}`, { cause: error });
  }
}

export function writeState(dir: string, state: SessionState): Promise<void> {
  return writeAtomic(stateFile(dir), sessionText(state));
}
