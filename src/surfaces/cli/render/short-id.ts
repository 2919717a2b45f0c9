/** The first characters of an id are its time to about a second: enough to tell most jobs apart. */
const SHORTEST = 8;

/** The shortest prefix, the same length for all, by which the given ids differ; what a person types instead (U-04). */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const unique = new Set(ids);
  let length = SHORTEST;
  while (length < 26 && new Set([...unique].map((id) => id.slice(0, length))).size < unique.size) length++;
  return (id) => id.slice(0, length);
}
