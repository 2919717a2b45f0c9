import type { Queries } from '../database/database.ts';
import { cleanText } from '../store/clean-json.ts';

export interface FleetAuditEntry {
  /** The person. */
  by: string;
  surface: string;
  operation: string;
  target?: string | undefined;
  outcome: string;
  host?: string | undefined;
}

export async function audit(queries: Queries, { by, surface, operation, target, outcome, host }: FleetAuditEntry) {
  await queries.query(
    'INSERT INTO reef.audit (by, surface, operation, target, outcome, host) VALUES ($1, $2, $3, $4, $5, $6)',
    [by, surface, operation, target === undefined ? null : cleanText(target), outcome, host ?? null],
  );
}
