import type { Json } from '../../protocol/workflow.ts';
import { parseStrategy, type Strategy } from '../language/strategy.ts';
import type { ContextSegment } from './segment.ts';

export interface Shaped {
  segments: ContextSegment[];
  inherited: Record<string, Json>;
}

/** What one visit sees: a copy made for it, never written back. */
export function shapeView(
  seen: Shaped,
  strategies: readonly string[],
  here: Pick<ContextSegment, 'timestamp' | 'block' | 'visit' | 'branch'>,
): Shaped {
  let { segments } = seen;
  const inherited = { ...seen.inherited };
  const merged: ContextSegment[] = [];
  for (const strategy of strategies.map(parseStrategy)) {
    if ('error' in strategy) continue; // the check refuses it
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
