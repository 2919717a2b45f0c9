import { ReefError } from '../../protocol/errors.ts';

/** Raised by `reef.fence`. */
const FENCED = 'RF001';
/** The server is away, restarting, full, read-only after a fail-over, or the transaction lost a race: worth another try. */
const PASSING = /^(08|53|57P|40001|40P01|25006|25P03|55P03|57014)/;
const REFUSED = /^(28|3D000|42501|0A000)/;
/** A role, the schema, a table or a column is not there. */
const NOT_PREPARED = /^(22023|3F000|42P01|42703|42883)/;
const NETWORK = /^(E[A-Z]+|ERR_SSL_.*|ERR_TLS_.*|.*CERT.*)$/;
/** The driver gives these no code. */
const DRIVER =
  /^(Connection terminated|timeout e|Client (was closed|has encountered)|Query read timeout|Cannot use a pool)/;

/** What went wrong with the database, in Reef's words; a mistake in a statement stays what it is. */
export function databaseFailure(error: unknown): unknown {
  if (error instanceof ReefError || !(error instanceof Error)) return error;
  const code = String((error as NodeJS.ErrnoException).code ?? '');
  const of = (name: ReefError['code'], message: string) => new ReefError(name, message, { cause: error });
  if (code === FENCED) return of('job_superseded', `This host has lost what it worked on: ${error.message}`);
  if (PASSING.test(code)) return of('storage_unavailable', `The database cannot answer now: ${error.message}`);
  if (REFUSED.test(code)) return of('database_refused', `The database refuses: ${error.message}`);
  if (NOT_PREPARED.test(code)) return of('schema_too_old', `The database is not prepared: ${error.message}`);
  const isSqlState = /^[0-9A-Z]{5}$/.test(code) && 'severity' in error;
  if (!isSqlState && (NETWORK.test(code) || DRIVER.test(error.message)))
    return of('storage_unavailable', `The database cannot be reached: ${error.message || code}`);
  return error;
}
