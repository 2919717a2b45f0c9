export type Page =
  | 'agents'
  | 'reliability'
  | 'security'
  | 'surfaces'
  | 'workflow'
  | 'code-context'
  | 'repostate'
  | 'runtime'
  | 'fleet'
  | 'journeys';
export type Tier = 'test' | 'faults' | 'soak';
type Seed = '000' | '001' | '002' | '003' | '004';

/** Done or todo, nothing else. `tiers` defaults to test; `needs` names what may be missing on a machine. */
type Status =
  | { status: 'done'; tiers?: readonly Tier[]; needs?: readonly string[] }
  | { status: 'todo'; because: string };
type Row = { from: `seed ${Seed}` | '+'; says: string } & Status;
export type Requirement = Row & { page: Page };

/** The rows of one design page, in its order, one line each: `npm run requirements -- --flip` rewrites lines. */
export function page<Id extends string>(name: Page, rows: Record<Id, Row>): Record<Id, Requirement> {
  const entries = Object.entries<Row>(rows).map(([id, row]) => [id, { ...row, page: name }]);
  return Object.fromEntries(entries);
}
