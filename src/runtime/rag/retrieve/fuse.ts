export interface Ranking {
  /** Ids, best first. */
  ids: readonly number[];
  weight: number;
}

/** Reciprocal rank fusion: what stands high in any list stands high, what stands high in several stands higher. */
export function fuse(rankings: readonly Ranking[], k: number): { id: number; score: number }[] {
  const scores = new Map<number, number>();
  for (const { ids, weight } of rankings) {
    for (const [rank, id] of ids.entries()) scores.set(id, (scores.get(id) ?? 0) + weight / (k + rank + 1));
  }
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score || a.id - b.id);
}
