import type { Clock } from '../../base/clock.ts';
import type { ManagedProcess } from './managed-process.ts';
import { McpServerError } from './mcp-server-error.ts';

interface Room {
  worktreePath: string;
  signal: AbortSignal;
  /** Called in the same breath in which the room was found, or two would take it. */
  take(): void;
  most: number;
  servers(): Iterable<ManagedProcess>;
  leaving(): Iterable<Promise<void>>;
  clock: Clock;
  busyMs: number;
}

const POLL_MS = 50;

/** Resolves when one more process may be started: the least recently used that has nothing to answer goes (C-076). */
export async function makeRoom(room: Room): Promise<void> {
  const { clock, signal } = room;
  const deadline = clock.monotonicMs() + room.busyMs;
  for (;;) {
    signal.throwIfAborted();
    const admitted = [...room.servers()].filter(({ isAdmitted }) => isAdmitted);
    const leaving = [...room.leaving()];
    if (admitted.length + leaving.length < room.most) return room.take();
    const idle = admitted.filter(({ isBusy }) => !isBusy).sort((a, b) => a.activity.lastAt - b.activity.lastAt);
    if (leaving.length > 0) await Promise.race(leaving);
    else if (idle[0]) await idle[0].leave('ended');
    else if (clock.monotonicMs() < deadline) await clock.sleep(POLL_MS, signal);
    else throw busy(room);
  }
}

function busy({ worktreePath, most }: Room): McpServerError {
  return new McpServerError('analysis_busy', `All ${most} analysis servers are answering.`, { worktreePath });
}
