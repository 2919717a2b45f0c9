import type { Json } from '../../protocol/workflow.ts';
import { isSegmentType } from '../language/names.ts';
import type { ContextSegment } from './segment.ts';

interface Shaped {
  segments: ContextSegment[];
  inherited: Record<string, Json>;
}

/** What one visit sees: a copy, never written back. */
export function shapeView(
  seen: Shaped,
  strategies: readonly string[],
  here: Pick<ContextSegment, 'timestamp' | 'block' | 'visit' | 'branch'>,
): Shaped {
  let { segments } = seen;
  const inherited = { ...seen.inherited };
  const merged: ContextSegment[] = [];
  for (const strategy of strategies.map(parseStrategy)) {
    if ('error' in strategy) continue; // the check refuses such a manifest
    if (strategy.do !== 'merge') segments = reshape(segments, strategy);
    else if (Object.hasOwn(inherited, strategy.key)) {
      const content = inherited[strategy.key] ?? null;
      merged.push({ ...here, id: `static:${strategy.key}`, type: 'STATIC_MEMORY', content });
      delete inherited[strategy.key];
    }
  }
  return { segments: [...segments, ...merged], inherited };
}

function reshape(segments: ContextSegment[], strategy: Exclude<Strategy, { do: 'merge' }>): ContextSegment[] {
  if (strategy.do === 'only') return segments.filter(({ type }) => strategy.types.includes(type));
  const others = segments.filter(({ type }) => type !== strategy.type);
  const ofType = segments.filter(({ type }) => type === strategy.type);
  if (strategy.do === 'drop') return others;
  if (strategy.do === 'first') return [...ofType, ...others];
  const latest = ofType.at(-1);
  return segments.filter((segment) => segment.type !== strategy.type || segment === latest);
}

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
    return { error: 'is not one of MERGE:STATIC_MEMORY:<key>, FIRST:, LATEST:, ONLY:, DROP:' };
  }
  if (wrong !== undefined) return { error: `names "${wrong}", which is not a segment type` };
  if (verb === 'ONLY') return { do: 'only', types };
  const [type = '', ...more] = types;
  if (more.length > 0) return { error: `takes one type; only ONLY takes several` };
  return { do: verb === 'FIRST' ? 'first' : verb === 'LATEST' ? 'latest' : 'drop', type };
}
