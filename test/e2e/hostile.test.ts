import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';

const HOSTILE = join(import.meta.dirname, '../fixtures/programs/hostile.mjs');
const world = makeWorld();
afterAll(() => world.close());

verifies('Q-60', 'Q-61', 'Q-62', 'Q-64').test(
  'what an agent must not write costs a few bounded events, and what stands around it is read',
  async () => {
    world.configure({
      timings: { linger: 100 },
      agents: { 'wire:hostile': { command: [process.execPath, HOSTILE] } },
    });
    const other = await world.client.call('spawn', {
      agent: world.script('calm', [{ sleep: 3000 }, { say: 'calm' }]),
      task: 'x',
    });
    const { agentId } = await world.client.call('spawn', { agent: 'wire:hostile', task: 'x' });
    const job = await world.until(agentId, ({ endedAt }) => endedAt !== undefined, 120_000);
    const calm = await world.until(other.agentId, ({ endedAt }) => endedAt !== undefined, 60_000);
    const events = await world.events(agentId);
    const texts = events.flatMap((event) =>
      event.type === 'progress' && event.payload.kind === 'text' ? [event.payload.text] : [],
    );
    const largest = Math.max(...events.map((event) => JSON.stringify(event).length));
    const pid = (await world.client.daemon())?.pid ?? 0;
    const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
    expect({
      status: job.status,
      calm: calm.status,
      texts: texts.filter((text) => text !== 'proto'),
      isQuiet: events.length < 200,
      isSmall: largest < 70_000,
      isLean: peakMb < 400,
      polluted: ({} as Record<string, unknown>).polluted,
    }).toEqual({
      status: 'completed',
      calm: 'completed',
      texts: ['before', 'after'],
      isQuiet: true,
      isSmall: true,
      isLean: true,
      polluted: undefined,
    });
  },
  180_000,
);
