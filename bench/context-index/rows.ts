import type { Row } from '../measure.ts';

export function row(what: string, [ours, theirs]: [number, number], most?: number): Row {
  return { what, ours, theirs, unit: 'ms', ...(most !== undefined && { target: { most } }) };
}
