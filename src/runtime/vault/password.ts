import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';

const SHORTEST_PASSWORD = 10;

interface PasswordSource {
  /** `vault_password_file`; null asks a person. */
  file: string | null;
  home: string;
  configDir: string;
  /** Asks a person; absent without a terminal. */
  ask?: ((question: string) => Promise<string>) | undefined;
}

/** The password comes from a file that only its owner can read, or from the terminal. */
export function passwordFrom({ file, home, configDir, ask }: PasswordSource): (isNew?: boolean) => Promise<string> {
  return async (isNew = false) => {
    if (file?.startsWith('~/')) return checked(await readPassword(join(home, file.slice(2))));
    if (file !== null) return checked(await readPassword(resolve(configDir, file)));
    if (ask) return isNew ? newPassword(ask) : checked(await ask('Password of the vault: '));
    throw new ReefError(
      'vault_locked',
      'the vault needs its password and nobody can be asked: set vault_password_file',
    );
  };
}

/** Typed unseen, so a slip would lock the vault for good: it is typed twice. */
async function newPassword(ask: (question: string) => Promise<string>): Promise<string> {
  const password = checked(await ask('Password of the new vault: '));
  if ((await ask('The same password again: ')) === password) return password;
  throw new ReefError('vault_password_invalid', 'the two passwords differ: no vault was made');
}

async function readPassword(path: string): Promise<string> {
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) === 0) return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    throw new ReefError('vault_password_invalid', `${path} cannot be read`, { cause: error });
  }
  throw new ReefError('vault_password_invalid', `other users can read ${path}: run \`chmod 600 ${path}\``);
}

function checked(password: string): string {
  if (password.length >= SHORTEST_PASSWORD) return password;
  throw new ReefError(
    'vault_password_invalid',
    `the password of the vault needs at least ${SHORTEST_PASSWORD} characters`,
  );
}
