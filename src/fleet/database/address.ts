import { readFileSync, statSync } from 'node:fs';
import type { Environment } from '../../base/env.ts';
import { ReefError } from '../../protocol/errors.ts';

interface Named {
  /** As typed: whoever lists processes reads it. */
  argument?: string | undefined;
  /** A file with the address, which only its owner may read. */
  file?: string | undefined;
}

const PRIVATE_WAYS = 'REEF_DATABASE_URL, --database-url-file FILE (mode 0600), or a password in the file of PGPASSFILE';

/** The address of the fleet's database, from the command line, a file or `REEF_DATABASE_URL`. */
export function databaseUrl({ argument, file }: Named, env: Environment): string {
  if (argument !== undefined && passwordIn(argument)) {
    const message = `A password on the command line is read by everybody who lists processes; use ${PRIVATE_WAYS}`;
    throw new ReefError('secret_in_argv', message);
  }
  const url = argument ?? (file === undefined ? env.all.REEF_DATABASE_URL : fromFile(file));
  if (!url) throw new ReefError('bad_request', `No database is named: --database-url ADDRESS, or ${PRIVATE_WAYS}`);
  return url.trim();
}

function passwordIn(address: string): boolean {
  const url = parsed(address);
  return url.password !== '' || url.searchParams.has('password');
}

function fromFile(path: string): string {
  const { mode } = statOf(path);
  if ((mode & 0o077) !== 0) throw new ReefError('bad_request', `Others may read ${path}: chmod 600 ${path}`);
  return readFileSync(path, 'utf8');
}

function statOf(path: string): { mode: number } {
  try {
    return statSync(path);
  } catch (cause) {
    throw new ReefError('bad_request', `The file with the database's address cannot be read: ${path}`, { cause });
  }
}

function parsed(address: string): URL {
  try {
    const url = new URL(address);
    if (/^postgres(ql)?:$/.test(url.protocol)) return url;
  } catch {
    // Said below, without the address: it may hold a password.
  }
  throw new ReefError('bad_request', 'The address of the database is not of the form postgres://user@host/database');
}

/** Another machine is spoken to with TLS that knows whom it speaks to, or not at all. */
export function refusePlainRemote(address: string, env: Environment): void {
  const url = parsed(address);
  const host = url.searchParams.get('host') || decodeURIComponent(url.hostname) || env.all.PGHOST || 'localhost';
  if (isThisMachine(host.replace(/^\[|\]$/g, ''))) return;
  const mode = url.searchParams.get('sslmode');
  if (mode === 'verify-full') return;
  const found = mode === null ? 'no sslmode' : `sslmode=${mode}`;
  const message = `The database at ${host} is on another machine, and its address says ${found}: add ?sslmode=verify-full`;
  throw new ReefError('database_tls_required', `${message} (and &sslrootcert=FILE for an authority of your own)`);
}

function isThisMachine(host: string): boolean {
  if (host.startsWith('/') || host === 'localhost' || host === '::1') return true;
  return /^127(\.\d{1,3}){3}$/.test(host);
}
