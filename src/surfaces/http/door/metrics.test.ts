import { afterEach, expect } from 'vitest';
import { knock, openTestDoor, type TestDoor } from '../../../../test/support/surfaces/door.ts';
import { readMetrics } from '../../../../test/support/surfaces/prometheus.ts';
import { verifies } from '../../../../test/support/verifies.ts';

let door: TestDoor;
afterEach(() => door.close());

verifies('U-27').test('the figures are text that Prometheus reads, for who shows the token', async () => {
  door = await openTestDoor();
  const { status, headers, text } = await knock(door.port, { path: '/metrics', token: door.token });
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
    'no-store',
  ]);
  const samples = readMetrics(text);
  expect(Object.fromEntries(samples)).toMatchObject({
    'reef_info{version="0.1.0"}': 1,
    'reef_jobs{status="running"}': 2,
    'reef_jobs{status="queued"}': 0,
    'reef_runs{state="asking"}': 3,
    reef_events_total: 7,
    reef_questions_open: 0,
    reef_question_oldest_seconds: 0,
    'reef_gate_verdicts_total{gate="unit \\"fast\\"\\n",result="passed"}': 3,
    reef_database_bytes: 4_096,
    reef_home_bytes: 8_192,
  });
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(1_048_576);
  expect(samples.get('reef_event_loop_delay_seconds{quantile="1"}')).toBeLessThan(60);
  expect((await knock(door.port, { path: '/metrics' })).code).toBe('unauthorized');
});
