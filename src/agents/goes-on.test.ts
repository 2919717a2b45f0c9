import { expect } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { goesOnAt } from './goes-on.ts';

const job = {
  status: 'paused',
  reason: 'rate_limit',
  sessionId: 's',
  launch: 1,
  endedAt: '2026-01-01T10:00:00.000Z',
  resumeAt: '2026-01-01T12:00:00.000Z',
} as const;
const at = (more: object) =>
  goesOnAt({ ...job, ...more })
    ?.toISOString()
    .slice(11, 19);

verifies('J-21').test(
  'a limit goes on when it resets, an outage later each time, everything else waits for a person',
  () => {
    expect(at({})).toBe('12:00:00');
    // What should be over and is not: each launch in vain waits twice as long, at most an hour.
    const over = { resumeAt: '2026-01-01T09:00:00.000Z' };
    expect([1, 4, 15].map((launch) => at({ ...over, launch }))).toEqual(['10:00:01', '10:00:08', '11:00:00']);
    const outage = { reason: 'outage', resumeAt: undefined };
    expect([1, 3].map((launch) => at({ ...outage, launch }))).toEqual(['10:01:00', '10:04:00']);
    const person = [{ reason: 'idle' }, { reason: 'interrupted' }, { resumeAt: undefined }, { status: 'running' }];
    const never = [...person, { sessionId: undefined }, { endedAt: undefined }, { launch: 21 }];
    expect(never.filter((more) => at(more) !== undefined)).toEqual([]);
  },
);
