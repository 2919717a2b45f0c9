import { join } from 'node:path';
import { buildIndex } from '../../src/runtime/rag/index/build.ts';
import { createEmbedder, HASH_MODEL } from '../../src/runtime/rag/index/embedder.ts';
import { IndexReader } from '../../src/runtime/rag/index/reader.ts';
import { retrieve, wordRanking } from '../../src/runtime/rag/index/search.ts';
import { documentsOf } from '../../src/runtime/rag/load/sources.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import { median, printRows, quantile, timed } from '../measure.ts';
import { type Evaluation, evaluate, METHODS, type Method, readQuestions, textDocument } from './evaluation.ts';

const ROOT = join(import.meta.dirname, '../..');
const CHUNK = 1_000;
const TRAITS = { chunk_size: CHUNK, chunk_overlap: 50, wanted_embedder: HASH_MODEL };

/** the evaluation set alone, and hidden among the sources of Reef. */
export async function benchQuality(): Promise<boolean> {
  using folder = disposableFolder();
  const noise = documentsOf([`${ROOT}/src/**/!(*.test).ts`], { cwd: ROOT, run: unused, loaders: {}, fetch });
  const alone = report('Retrieval, the handbook alone', await evaluate(join(folder.path, 'alone.sqlite')));
  const among = await evaluate(join(folder.path, 'noise.sqlite'), noise);
  return report('Retrieval, the handbook among our sources', among) && alone;
}

function report(title: string, evaluation: Evaluation): boolean {
  console.log(`\n${title}: ${evaluation.chunks} chunks, recall@5 / mean reciprocal rank (R-155)`);
  for (const kind of [...evaluation.kinds, undefined]) {
    const figures = METHODS.map((method) => {
      const { recall, rank } = evaluation.quality(method, kind);
      return `${method} ${recall.toFixed(3)} / ${rank.toFixed(3)}`;
    });
    console.log(`  ${(kind ?? 'all').padEnd(12)} ${figures.join('   ')}`);
  }
  const recall = (method: Method) => evaluation.quality(method).recall * 100;
  const row = (what: string, theirs: number) => ({
    what,
    ours: recall('hybrid'),
    theirs,
    unit: '%',
    target: { least: 1 },
  });
  return printRows('  recall@5', [
    row('hybrid · words alone', recall('words')),
    row('hybrid · vectors alone', recall('vectors')),
    row('hybrid · BM25', recall('BM25')),
  ]);
}

/** A word without digits, which would fall apart at its seams. */
function letters(number: number): string {
  return number.toString(26).replace(/./g, (digit) => 'rtnslkmdbepioaughvwycfjqxz'[Number.parseInt(digit, 26)] ?? '');
}

/** Words as texts have them: few are frequent, most are rare. Seeded, so that every run indexes the same. */
function* texts(count: number): Generator<string> {
  let state = 42;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const word = () => letters(Math.floor(20_000 ** random()) + 26);
  for (let n = 0; n < count; n += 1) {
    let text = `# Chunk ${n}\n`;
    while (text.length < CHUNK - 20) text += `${word()} `;
    yield text;
  }
}

const FILES = 1_000;

/** Made before the clock starts. */
function makeFiles(chunks: number): string[] {
  const all = [...texts(chunks)];
  const perFile = chunks / FILES;
  return Array.from({ length: FILES }, (_, n) => all.slice(n * perFile, (n + 1) * perFile).join('\n'));
}

async function* documents(files: readonly string[], changed?: number) {
  for (const [n, text] of files.entries())
    yield textDocument(`/files/${n}.md`, n === changed ? `${text}\none line more` : text);
}

const unused = () => Promise.reject(new Error('no model is used here'));

/** Build, question and re-index at two sizes; R-155 promises the last. */
export async function benchIndex(): Promise<boolean> {
  using folder = disposableFolder();
  let isMet = true;
  for (const chunks of [2_000, 50_000])
    isMet = (await measureIndex(join(folder.path, `${chunks}.sqlite`), chunks)) && isMet;
  return isMet;
}

async function measureIndex(path: string, chunks: number): Promise<boolean> {
  const embedder = createEmbedder(HASH_MODEL, { embed: unused, rerank: unused });
  const files = makeFiles(chunks);
  const build = (changed?: number) =>
    buildIndex({ path, traits: TRAITS, embedder, documents: documents(files, changed), warn: console.warn });
  const first = await timed(() => build());
  const again = await timed(() => build(500));
  const index = new IndexReader(path);
  const retrieval = { index, embedder, onEmbedderFailure: console.warn };
  const query = (question: string) => ({ question, topK: 5 });
  const warmUp = await timed(() => retrieve(retrieval, query(`${letters(60)} ${letters(700)}`)));
  const hybrid: number[] = [];
  const words: number[] = [];
  for (const { ask } of readQuestions()) {
    const question = `${ask} ${letters(60)} ${letters(700)} ${letters(9_000)}`;
    hybrid.push(await timed(() => retrieve(retrieval, query(question))));
    words.push(await timed(() => wordRanking(retrieval, query(question))));
  }
  index.close();
  console.log(
    `\n${index.chunks} chunks: built in ${Math.round(first)} ms, ${Math.round((index.chunks / first) * 1000)} chunks/s; ` +
      `first question ${Math.round(warmUp)} ms, then p99 ${quantile(hybrid, 0.99).toFixed(1)} ms`,
  );
  return printRows('  question and re-index (R-155)', [
    { what: 'question, p50 · BM25 alone, p50', ours: median(hybrid), theirs: median(words), unit: 'ms' },
    {
      what: `1 of ${FILES} files changed · first build`,
      ours: again,
      theirs: first,
      unit: 'ms',
      target: { most: 0.05 },
    },
  ]);
}
