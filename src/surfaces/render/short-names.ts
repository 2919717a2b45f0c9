/** The first characters of an id are its time to about a second: enough to tell most jobs apart. */
const SHORTEST = 8;

/** The shortest prefix, of one length for all, by which the given ids differ. People type it instead of the id. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const unique = new Set(ids);
  let length = SHORTEST;
  while (length < 26 && new Set([...unique].map((id) => id.slice(0, length))).size < unique.size) length++;
  return (id) => id.slice(0, length);
}

/** The name of its file is enough to recognise a script. */
export function shortAgent(agent: string): string {
  return agent.replace(/^scripted:.*\//, 'scripted:');
}

/** A word as a POSIX shell reads it, so that a printed command can be pasted. */
export function shellQuote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
