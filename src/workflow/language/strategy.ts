import { isSegmentType } from './names.ts';

/** How one visit sees the payload; the payload itself is never changed. */
export type Strategy =
  | { do: 'merge'; key: string }
  | { do: 'first'; type: string }
  | { do: 'latest'; type: string }
  | { do: 'only'; types: string[] }
  | { do: 'drop'; type: string };

const MERGE = 'MERGE:STATIC_MEMORY:';

export function parseStrategy(text: string): Strategy | { error: string } {
  if (text.startsWith(MERGE)) {
    const key = text.slice(MERGE.length);
    return key === '' ? { error: 'names no key of static_memory' } : { do: 'merge', key };
  }
  const at = text.indexOf(':');
  const verb = text.slice(0, at);
  const types = text.slice(at + 1).split(',');
  const wrong = types.find((type) => !isSegmentType(type));
  if (at < 0 || !['FIRST', 'LATEST', 'ONLY', 'DROP'].includes(verb)) {
    return { error: 'is none of MERGE:STATIC_MEMORY:<key>, FIRST:, LATEST:, ONLY:, DROP:' };
  }
  if (wrong !== undefined) return { error: `names "${wrong}", which is no segment type` };
  if (verb === 'ONLY') return { do: 'only', types };
  const [type = '', ...more] = types;
  if (more.length > 0) return { error: `takes one type; only ONLY takes several` };
  return { do: verb === 'FIRST' ? 'first' : verb === 'LATEST' ? 'latest' : 'drop', type };
}
