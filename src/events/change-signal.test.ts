import { describe, expect, test, vi } from 'vitest';
import { ChangeSignal } from './change-signal.ts';

describe('whoever waits for a change', () => {
  test('is woken by it, all of them, once', async () => {
    const signal = new ChangeSignal();
    const woken: string[] = [];
    const waits = ['a', 'b'].map((name) => signal.next(10_000).then(() => woken.push(name)));
    signal.notify();
    await Promise.all(waits);
    signal.notify();
    expect({ woken, waiting: signal.waiting }).toEqual({ woken: ['a', 'b'], waiting: 0 });
  });

  test('goes on when the time is up', async () => {
    vi.useFakeTimers();
    try {
      const signal = new ChangeSignal();
      const wait = signal.next(5_000);
      await vi.advanceTimersByTimeAsync(4_999);
      const before = signal.waiting;
      await vi.advanceTimersByTimeAsync(1);
      await wait;
      expect({ before, after: signal.waiting, timers: vi.getTimerCount() }).toEqual({ before: 1, after: 0, timers: 0 });
    } finally {
      vi.useRealTimers();
    }
  });

  test('goes on when its caller is gone, before or meanwhile, and leaves nothing behind', async () => {
    vi.useFakeTimers();
    try {
      const signal = new ChangeSignal();
      await signal.next(10_000, AbortSignal.abort());
      const caller = new AbortController();
      const wait = signal.next(10_000, caller.signal);
      caller.abort();
      await wait;
      expect({ waiting: signal.waiting, timers: vi.getTimerCount() }).toEqual({ waiting: 0, timers: 0 });
    } finally {
      vi.useRealTimers();
    }
  });

  test('may wait again from within a change without being woken by the same one', async () => {
    const signal = new ChangeSignal();
    let rounds = 0;
    const caller = new AbortController();
    const loop = async () => {
      while (!caller.signal.aborted) {
        await signal.next(10_000, caller.signal);
        rounds += 1;
      }
    };
    const looping = loop();
    signal.notify();
    await vi.waitFor(() => expect({ rounds, waiting: signal.waiting }).toEqual({ rounds: 1, waiting: 1 }), 10_000);
    caller.abort();
    await looping;
    expect(signal.waiting).toBe(0);
  });
});
