import type { AgentEvent } from '../../protocol/events.ts';

const APART_MS = 10_000;
const MOST_JOBS = 10_000;

/** An agent tells its progress many times a second; the fleet keeps one for every ten of a job, the home all of them. */
export class Thinning {
  #shipped = new Map<string, number>();

  /** What a batch keeps counts only when it was committed. */
  begin(): { keeps(event: AgentEvent): boolean; commit(): void } {
    const shipped = new Map(this.#shipped);
    return {
      keeps: ({ type, agentId, timestamp }) => {
        if (type !== 'progress') return true;
        const at = Date.parse(timestamp);
        const last = shipped.get(agentId);
        if (last !== undefined && at - last < APART_MS && at >= last) return false;
        shipped.delete(agentId);
        shipped.set(agentId, at);
        return true;
      },
      commit: () => {
        for (const [oldest] of shipped) {
          if (shipped.size <= MOST_JOBS) break;
          shipped.delete(oldest);
        }
        this.#shipped = shipped;
      },
    };
  }
}
