import { ReefError } from '../../protocol/errors.ts';
import { operations } from '../../protocol/operations.ts';
import type { Person, Role } from './people.ts';

const RANK: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 };

/** What is no business of a viewer although it changes nothing: bytes as agents wrote them may hold secrets. */
const RAW: ReadonlySet<string> = new Set(['job_log', 'context_calls', 'artifact_read']);
/** What reaches a branch of others, or the forge. */
const MERGES: ReadonlySet<string> = new Set(['accept', 'worktree_push', 'worktree_pr', 'run_from_pr']);
const ADMINISTERS: ReadonlySet<string> = new Set(['trust', 'prune']);

/** The least role that may use an operation, and whether it merges. */
export function needs(operation: string): { role: Role; merges: boolean } {
  if (ADMINISTERS.has(operation)) return { role: 'admin', merges: false };
  if (MERGES.has(operation)) return { role: 'operator', merges: true };
  const row = Object.hasOwn(operations, operation) ? operations[operation as keyof typeof operations] : undefined;
  // What is not listed acts: completions and tools of models run on the hub's own machine.
  if (!row) return { role: operation.startsWith('read:') ? 'viewer' : 'admin', merges: false };
  return { role: row.effect === 'reads' && !RAW.has(operation) ? 'viewer' : 'operator', merges: false };
}

/** One table for all routes. */
export function refuseBeyondRole(access: { by: string; person?: Person }, operation: string): void {
  const { by, person } = access;
  const needed = needs(operation);
  if (!person) throw new ReefError('role_forbidden', `${by} may use git, and nothing else`);
  if (RANK[person.role] < RANK[needed.role]) {
    throw new ReefError('role_forbidden', `${operation} needs the role ${needed.role}; ${by} is ${person.role}`);
  }
  if (needed.merges && !person.mayMerge && person.role !== 'admin') {
    throw new ReefError('role_forbidden', `${operation} needs the right to merge, which ${by} has not`);
  }
}

export function refuseForeignRepository({ by, person }: { by: string; person?: Person }, repository: string): void {
  if (!person || (person.repositories !== null && !person.repositories.includes(repository))) {
    throw new ReefError('role_forbidden', `${by} has no right to repository ${repository}`);
  }
}
