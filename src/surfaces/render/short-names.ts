import { plainName } from '../../agents/plain-name.ts';

/** These characters encode the time to about a second, which tells most jobs apart. */
const SHORTEST = 8;

/** Shortens ids to the shortest length at which they all differ. People type such a prefix instead of the id. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const unique = new Set(ids);
  let length = SHORTEST;
  while (length < 26 && new Set([...unique].map((id) => id.slice(0, length))).size < unique.size) length++;
  return (id) => id.slice(0, length);
}

/** Shows a script by the name of its file, and an agent that Reef knows by its plain name. */
export function shortAgent(agent: string): string {
  return plainName(agent).replace(/^scripted:.*\//, 'scripted:');
}

/** A word as a POSIX shell reads it, so that a printed command can be pasted. */
export function shellQuote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
