/** The queue as a pure decision: who starts now, who waits for whom. */
export interface QueueItem {
  id: string;
  /** `active` has or gets a folder and takes room; `held` blocks without room. */
  state: 'waiting' | 'active' | 'held';
  /** Order of arrival. */
  since: number;
  /** 1 goes first; without one, last. */
  priority?: number;
  /** How often a later task with which it clashes went before it. */
  overtaken: number;
  /** Waits for nobody. */
  anyway: boolean;
}

export interface Decision {
  start: string[];
  overtaken: string[];
  /** In order of their turn; an empty list of names waits for room. */
  waiting: { id: string; waitsFor: string[] }[];
}

const MOST_OVERTAKES = 3;

/**
 * Goes through the waiting in order of their turn. One starts unless it clashes with somebody who is at work, held, or
 * still waiting before it. Deterministic: the same items give the same decision.
 */
export function decide(
  items: readonly QueueItem[],
  clash: (one: string, other: string) => boolean,
  maxActive: number,
): Decision {
  const busy = items.filter(({ state }) => state !== 'waiting').map(({ id }) => id);
  let room = maxActive - items.filter(({ state }) => state === 'active').length;
  const decision: Decision = { start: [], overtaken: [], waiting: [] };
  const turns = items.filter(({ state }) => state === 'waiting').sort(byTurn);
  for (const item of turns) {
    const before = [...busy, ...decision.start, ...decision.waiting.map(({ id }) => id)];
    const waitsFor = item.anyway ? [] : before.filter((id) => clash(item.id, id));
    if (waitsFor.length === 0 && room > 0) {
      decision.start.push(item.id);
      room--;
    } else decision.waiting.push({ id: item.id, waitsFor });
  }
  const started = turns.filter(({ id }) => decision.start.includes(id));
  for (const { id, since } of turns.filter(({ id }) => !decision.start.includes(id))) {
    if (started.some((other) => other.since > since && clash(other.id, id))) decision.overtaken.push(id);
  }
  return decision;
}

function byTurn(a: QueueItem, b: QueueItem): number {
  const [starvedA, starvedB] = [a.overtaken >= MOST_OVERTAKES, b.overtaken >= MOST_OVERTAKES];
  if (starvedA !== starvedB) return starvedA ? -1 : 1;
  const [first, second] = [a.priority ?? Number.MAX_SAFE_INTEGER, b.priority ?? Number.MAX_SAFE_INTEGER];
  return starvedA || first === second ? a.since - b.since : first - second;
}
