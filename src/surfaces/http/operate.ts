import { ReefError, toReefError } from '../../protocol/errors.ts';
import { mayUse, type Operation, type User } from '../../protocol/operation.ts';
import { type Caller, type Core, type OperationName, operations } from '../../protocol/operations.ts';
import type { AuditEntry } from '../../store/audit-table.ts';
import { parseInput } from '../parse-input.ts';

export interface OperationDeps {
  core: Core;
  audit(entry: AuditEntry): void;
}

export interface OperationCall {
  operation: OperationName;
  user: User;
  caller: Omit<Caller, 'isClient'>;
  /** Reads what was sent, and refuses what is no input at all. */
  input(): Promise<unknown>;
  /** The last guard before the work is done; throws to refuse. */
  admit?(): void;
  signal: AbortSignal;
}

/** The one way from a request to the core, whichever door it came in by: who may, what was sent, and a row in the audit. */
export async function operate({ core, audit }: OperationDeps, call: OperationCall): Promise<unknown> {
  const { operation, user, caller, signal } = call;
  const record = (target: string | undefined, outcome: string) => {
    if (operations[operation].effect === 'reads') return;
    audit({ by: caller.by, surface: caller.surface, operation, ...(target ? { target } : {}), outcome });
  };
  let sent: unknown;
  try {
    refuseUser(operation, operations[operation], user);
    sent = await call.input();
    const input = parseInput(operation, sent);
    call.admit?.();
    const output = await core[operation](
      input as never,
      { ...caller, ...(user === 'client' && { isClient: true }) },
      signal,
    );
    record(text(output, 'agentId'), 'ok');
    return output;
  } catch (error) {
    record(text(sent, 'id') ?? text(sent, 'agent'), toReefError(error).code);
    throw error;
  }
}

export function refuseUser(name: string, row: Pick<Operation, 'for'>, user: User): void {
  if (mayUse(row, user)) return;
  if (user === 'client') throw new ReefError('person_needed', `${name} is for a person at the command line`);
  throw new ReefError('not_yours', `${name} is not for ${user === 'job' ? 'jobs' : 'people'}`);
}

function text(value: unknown, key: string): string | undefined {
  const field = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof field === 'string' ? field.slice(0, 200) : undefined;
}
