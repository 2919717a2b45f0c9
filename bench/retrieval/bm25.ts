import type { CodeIndex } from '../../src/context/code-index/code-index.ts';
import { knownDefinitions } from '../../src/context/code-index/query/definitions.ts';
import { estimateTokens } from '../../src/context/code-index/query/tokens.ts';
import type { View } from '../../src/context/code-index/tree/view.ts';
import { type Shown, shownBy } from './wanted.ts';

interface Document {
  line: number;
  endLine: number;
  length: number;
  counts: ReadonlyMap<string, number>;
  text: string;
}

const K1 = 1.2;
const B = 0.75;
const IS_ROUTINE = new Set(['function', 'method']);

/** The peer: plain BM25, each function a document of its words and their parts, whole bodies until the budget is used. */
export class PlainBm25 {
  readonly #kept = new Map<string, Document[]>();

  answer(index: CodeIndex, view: View, { question, isCode }: { question: string; isCode: (path: string) => boolean }) {
    const all: { path: string; document: Document }[] = [];
    for (const file of view.files.values()) {
      if (!isCode(file.path) || index.languages.of(file) === undefined) continue;
      const known = this.#kept.get(file.oid) ?? documentsOf(index, file);
      this.#kept.set(file.oid, known);
      for (const document of known) all.push({ path: file.path, document });
    }
    const mean = all.reduce((sum, { document }) => sum + document.length, 0) / Math.max(1, all.length);
    const terms = [...new Set(wordsOf(question))].map((term) => {
      const having = all.filter(({ document }) => document.counts.has(term)).length;
      return { term, idf: Math.log(1 + (all.length - having + 0.5) / (having + 0.5)) };
    });
    const scored = all.map(({ path, document }) => {
      const norm = K1 * (1 - B + (B * document.length) / mean);
      let score = 0;
      for (const { term, idf } of terms) {
        const count = document.counts.get(term) ?? 0;
        score += (idf * count * (K1 + 1)) / (count + norm);
      }
      return { path, document, score };
    });
    scored.sort((a, b) => b.score - a.score);
    return (budget: number): Shown => {
      let tokens = 0;
      const pieces: { path: string; from: number; to: number }[] = [];
      for (const { path, document } of scored.slice(0, 200)) {
        const cost = estimateTokens(`${path}\n${document.text}\n`);
        if (tokens + cost > budget) continue;
        tokens += cost;
        pieces.push({ path, from: document.line, to: document.endLine });
      }
      return shownBy(pieces, [], tokens);
    };
  }
}

function documentsOf(index: CodeIndex, file: Parameters<typeof knownDefinitions>[1]): Document[] {
  const lines = index.tree.read(file.path)?.bytes.toString('utf8').split('\n') ?? [];
  const routines = knownDefinitions(index, file).filter(({ kind }) => IS_ROUTINE.has(kind));
  return routines.map(({ line, endLine }) => {
    const text = lines.slice(line - 1, endLine).join('\n');
    const words = wordsOf(text);
    const counts = new Map<string, number>();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { line, endLine, length: words.length, counts, text };
  });
}

/** Words, and the parts of those that have several. */
function wordsOf(text: string): string[] {
  return (text.match(/[A-Za-z_]\w+/g) ?? []).flatMap((word) => {
    const parts = word
      .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
      .split('_')
      .filter((part) => part.length > 1);
    const all = parts.length > 1 ? [word, ...parts] : [word];
    return all.map((each) => each.toLowerCase());
  });
}
