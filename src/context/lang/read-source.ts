import { classifyHits } from './classify.ts';
import { decodeSource } from './contract.ts';
import type { Engine, LoadedLanguage } from './engine.ts';
import { readFacts } from './facts.ts';
import { packFacts } from './pack-facts.ts';
import { readableText } from './readable-text.ts';
import { classifySwift, scanSwift } from './swift-scanner.ts';
import type { Answer, ParseRequest } from './worker-messages.ts';

export function readTree(engine: Engine, loaded: LoadedLanguage, request: ParseRequest): Answer {
  const text = decodeSource(request.source);
  const tree = engine.parse(readableText(text, request.language), loaded, engine.clock.bound(request.parseMs));
  if (tree === undefined) return { skipped: 'timeout' };
  try {
    const { language, hits, parseMs } = request;
    // A query gets a bound of its own: at a depth of ten thousand its open matches make it slow as well.
    const source = { text, language, root: tree.rootNode, isLate: engine.clock.bound(parseMs) };
    const answer =
      hits === undefined
        ? packFacts(readFacts({ ...source, query: loaded.definitions }))
        : classifyHits({ ...source, definitions: loaded.definitions, locals: loaded.locals() }, hits);
    return source.isLate() ? { skipped: 'timeout' } : answer;
  } finally {
    tree.delete();
  }
}

export function scanText({ source, hits }: ParseRequest): Answer {
  const text = decodeSource(source);
  return hits === undefined ? packFacts(scanSwift(text)) : classifySwift(text, hits);
}
