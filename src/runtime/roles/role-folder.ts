import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ReefError } from '../../protocol/errors.ts';
import { type ConfigWarning, readIfThere, writeSettings } from '../config/settings-file.ts';
import { namesIn, type Paths, safeName } from '../paths.ts';
import { exportRole, parseRole, type Role } from './role.ts';

const BUILTIN = fileURLToPath(new URL('builtin', import.meta.url));

/** The user's file wins over a built-in role of the same name. */
export function loadRole(paths: Paths, name: string, warn?: (warning: ConfigWarning) => void): Role {
  const file = paths.roleFile(name);
  const text = readIfThere(file) ?? builtin(name);
  if (text === undefined) throw new ReefError('role_not_found', `there is no role ${name}`);
  return parseRole({ name, file, text }, warn);
}

export function hasRole(paths: Paths, name: string): boolean {
  return existsSync(paths.roleFile(name)) || builtin(name) !== undefined;
}

export function listRoles(paths: Paths, withBuiltin = true): string[] {
  return [...new Set([...namesIn(paths.rolesDir(), '.md'), ...(withBuiltin ? namesIn(BUILTIN, '.md') : [])])].sort();
}

export async function saveRole(paths: Paths, role: Role): Promise<string> {
  const file = paths.roleFile(role.name);
  await writeSettings(file, exportRole(role));
  return file;
}

function builtin(name: string): string | undefined {
  return readIfThere(join(BUILTIN, `${safeName(name)}.md`));
}
