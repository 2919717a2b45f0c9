import { plainExpansions } from './bash-expansions.ts';
import { classifyHits } from './classify.ts';
import type { Language } from './contract.ts';
import { decodeSource } from './decode-source.ts';
import type { Engine, LoadedLanguage } from './engine.ts';
import { readFacts } from './facts.ts';
import { endMembers } from './kotlin-bodies.ts';
import { blankMacros } from './macro-blanking.ts';
import { packFacts } from './pack-facts.ts';
import { classifySwift, scanSwift } from './swift-scanner.ts';
import type { Answer, ParseRequest } from './worker-messages.ts';

/** Facts or classes of one file, by its tree. */
export function readTree(engine: Engine, loaded: LoadedLanguage, request: ParseRequest): Answer {
  const text = decodeSource(request.source);
  const tree = engine.parse(readable(text, request.language), loaded, engine.clock.bound(request.parseMs));
  if (tree === undefined) return { skipped: 'timeout' };
  try {
    const { language, hits, parseMs } = request;
    // Patterns half matched at every depth make a query, too, slow on what is nested ten thousand deep.
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

/** What a grammar cannot read is shown to it otherwise, character for character. */
function readable(text: string, language: Language): string {
  if (language === 'bash') return plainExpansions(text);
  return language === 'kotlin' ? endMembers(text) : blankMacros(text, language);
}

/** The same of a language without a grammar. */
export function scanText({ source, hits }: ParseRequest): Answer {
  const text = decodeSource(source);
  return hits === undefined ? packFacts(scanSwift(text)) : classifySwift(text, hits);
}
