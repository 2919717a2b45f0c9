import { describe, expect } from 'vitest';
import { openFleetEngine } from '../../../test/support/fleet/engine.ts';
import { fleetDatabase } from '../../../test/support/fleet/fleet-database.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { scale } from '../../../test/support/scale.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import type { Harness } from '../../../test/support/workflow/conformance/harness.ts';
import { conformance } from '../../../test/support/workflow/conformance.ts';
import { walkKilled, walkOnce } from '../../../test/support/workflow/kills.ts';
import type { DurableEngine } from '../../workflow/durable/durable-engine.ts';

const server = postgresOfFile();

function fleet(url: string): Harness & AsyncDisposable {
  const open = new Map<DurableEngine, () => Promise<void>>();
  const until = async (condition: () => Promise<boolean> | boolean) => void (await eventually(condition, Boolean));
  const lose = async (engine: DurableEngine) => {
    await open.get(engine)?.();
    open.delete(engine);
  };
  return {
    async open() {
      const { engine, close } = await openFleetEngine(url);
      open.set(engine, close);
      return engine;
    },
    lose,
    visits: scale('F-66', { test: 50, faults: 1_000, soak: 1_000 }),
    now: () => new Date(),
    async sleeping() {},
    async advance(ms) {
      const due = Date.now() + ms;
      await until(() => Date.now() >= due);
    },
    until,
    async [Symbol.asyncDispose]() {
      for (const engine of [...open.keys()]) await lose(engine);
    },
  };
}

describe('the engine of a fleet conforms', () => {
  for (const { name, ids, run } of conformance) {
    verifies('W-76', ...ids)
      .needs(hasPostgres, NO_POSTGRES)
      .test(name, async () => {
        await using harness = fleet(await fleetDatabase(server()));
        await run(harness);
      });
  }
});

verifies('F-01', 'W-76')
  .needs(hasPostgres, NO_POSTGRES)
  .test('killed at each point of a run, another process ends it with the trace of the embedded engine', async () => {
    const whole = await walkOnce('embedded', temporaryFolder());
    const url = await fleetDatabase(server());
    const undisturbed = await walkOnce('fleet', url);
    expect({ end: undisturbed.end, trace: undisturbed.trace }).toEqual({ end: whole.end, trace: whole.trace });
    const every = scale('F-66', { test: 9, faults: 1, soak: 1 });
    for (let point = 2; point <= undisturbed.passed; point += every) {
      const place = await fleetDatabase(server());
      const { signal, faults, walked, effects } = await walkKilled('fleet', place, point);
      expect({ signal, end: walked?.end, trace: walked?.trace }, faults).toEqual({
        signal: 'SIGKILL',
        end: whole.end,
        trace: whole.trace,
      });
      expect(new Set(effects).size, faults).toBe(4);
    }
  });
