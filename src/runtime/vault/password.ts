import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';

const SHORTEST_PASSWORD = 10;

interface PasswordSource {
  /** `vault_password_file`; null asks. */
  file: string | null;
  home: string;
  configDir: string;
  /** Asks a person; absent without a terminal. */
  ask?: ((question: string) => Promise<string>) | undefined;
}

/** From the file, which nobody else may be able to read, or from the terminal. */
export function passwordFrom({ file, home, configDir, ask }: PasswordSource): () => Promise<string> {
  return async () => {
    if (file !== null) return checked(await readPassword(expand(file, { home, configDir })));
    if (!ask)
      throw new ReefError(
        'vault_locked',
        'the vault needs its password and nobody can be asked: set vault_password_file',
      );
    return checked(await ask('Password of the vault: '));
  };
}

function expand(file: string, { home, configDir }: { home: string; configDir: string }): string {
  if (file.startsWith('~/')) return join(home, file.slice(2));
  return isAbsolute(file) ? file : join(configDir, file);
}

async function readPassword(path: string): Promise<string> {
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) === 0) return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    throw new ReefError('vault_password_invalid', `${path} cannot be read`, { cause: error });
  }
  throw new ReefError('vault_password_invalid', `${path} can be read by others: chmod 600 it`);
}

function checked(password: string): string {
  if (password.length >= SHORTEST_PASSWORD) return password;
  throw new ReefError('vault_password_invalid', `the password has fewer than ${SHORTEST_PASSWORD} characters`);
}
