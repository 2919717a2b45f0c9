import { setTimeout as sleep } from 'node:timers/promises';
import { freeBytes } from '../../../base/free-bytes.ts';
import type { Oid } from '../../../git/ref-name.ts';
import type { CodeParser, FileFacts, Language } from '../../lang/contract.ts';
import { unpackFacts } from '../../lang/pack-facts.ts';
import type { Claims, Want } from '../store/claims.ts';
import type { Fact, FactBody, FactStatus } from '../store/fact-table.ts';
import type { Languages } from '../tree/languages.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { blobFromFile, blobsFromGit, type ReadBlob } from './blob-source.ts';
import { type Missing, UnderWay, Unread } from './structure-queue.ts';
import type { Round, StageDeps } from './word-stage.ts';

interface StructureDeps extends StageDeps {
  languages: Languages;
  parser: () => Promise<CodeParser>;
  workers: number;
  /** Files whose words are still to be read. */
  unread: () => number;
  /** Files that matter more come first. Known once all words are read. */
  rank: (oid: Oid) => number;
}

const TAKE = 64;
/** With so few files, or so few left to read, parsing waits until all are read and their order is known. */
const FEW = { unread: 200, files: 4_000 };
/** Minified, generated or data: seldom matters, and makes the memory of a thread grow. */
const LARGE_BYTES = 256 * 1024;
/** Other servers wait no longer than this for what this one has extracted. */
const MOST_HELD_MS = 500;
const POLL_MS = 20;
const BUSY_POLLS = 100;
const MOST_KEPT = 400;

/** Only `ok` and `partial` have facts; another status says why the file was skipped. */
export interface Structure {
  status: FactStatus;
  facts?: FileFacts;
}

/** Stage 2: definitions and imports, in the background, and at once for what a question needs. */
export class StructureStage {
  readonly #deps: StructureDeps;
  #planned = -1;
  /** Left out of the plan until their words are known. */
  readonly #unread = new Unread();
  /** By language and blob, in the order of the work. */
  #todo = new Map<string, Missing>();
  /** The leader knows what is missing here. */
  #isAsked = false;
  readonly #kept = new Map<string, Structure>();
  #isStopping = false;
  readonly #begun = new Map<string, Promise<Fact | undefined>>();
  #flushedAt = 0;
  extracted = 0;

  constructor(deps: StructureDeps) {
    this.#deps = deps;
  }

  get pending(): number {
    this.#plan();
    return this.#todo.size + this.#unread.count;
  }

  replan(): void {
    this.#planned = -1;
  }

  stop(): void {
    this.#isStopping = true;
  }

  /** Files without words wait: they may be binary, and the order is known only when all words are. */
  #plan(): void {
    const { tree, unread } = this.#deps;
    const isAllRead = unread() === 0;
    const isMoreKnown = this.#unread.count > 0 && isAllRead;
    if (this.#planned === tree.version && !isMoreKnown) return;
    const changed = tree.changedSince(this.#planned);
    this.#planned = tree.version;
    this.#isAsked = false;
    if (!changed) {
      this.#todo = new Map();
      this.#unread.takeAll();
      if (this.#deps.settled.get()) return;
    }
    for (const file of changed ?? tree.files.values()) this.#add(file, isAllRead);
    if (!isAllRead) return;
    for (const missing of this.#unread.takeAll()) this.#addTodo(missing);
    const ranked = [...this.#todo].map(([key, missing]) => ({ key, missing, rank: this.#rankOf(missing) }));
    ranked.sort((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank));
    this.#todo = new Map(ranked.map(({ key, missing }) => [key, missing]));
  }

  #add(file: TreeFile, isAllRead: boolean): void {
    const { oid, isLocal, path, stamp } = file;
    const language = this.#deps.languages.of(file);
    if (language === undefined) return;
    const missing = { oid, language, isLocal, path, bytes: stamp.size };
    if (isAllRead) this.#addTodo(missing);
    else if (this.#isMissing(missing)) this.#unread.add(missing);
  }

  #addTodo(missing: Missing): void {
    if (this.#isMissing(missing)) this.#todo.set(keyOf(missing.language, missing.oid), missing);
  }

  #isMissing({ oid, language }: Missing): boolean {
    const { coverage, languages } = this.#deps;
    const isKnown = coverage.structure(oid, language, languages.extractor(language)) !== undefined;
    return !isKnown && coverage.words(oid) !== 'binary';
  }

  /** In a large repository parsing begins with what has been read so far, in any order. */
  hearRead(oid: Oid): void {
    const { tree, unread } = this.#deps;
    if (tree.files.size <= FEW.files || unread() <= FEW.unread) return;
    for (const missing of this.#unread.take(oid, LARGE_BYTES)) this.#addTodo(missing);
  }

  /** What is edited here comes first, then what most files use. */
  #rankOf({ oid, isLocal, bytes }: Missing): number {
    if (isLocal) return Number.POSITIVE_INFINITY;
    return bytes > LARGE_BYTES ? -1 : this.#deps.rank(oid);
  }

  #want(oid: Oid, language: Language, rank = 0): Want {
    return { oid, lang: language, stage: 2, rank, extractor: this.#deps.languages.extractor(language) };
  }

  async round(): Promise<Round> {
    this.#plan();
    if (this.#todo.size === 0) return this.#unread.count > 0 ? 'waiting' : 'nothing';
    const before = this.extracted;
    await this.#drain();
    if (this.extracted > before) return 'worked';
    return this.#todo.size > 0 ? 'waiting' : 'nothing';
  }

  async #drain(): Promise<void> {
    const { store, coverage, workers } = this.#deps;
    const underWay = new UnderWay(workers);
    const failed: Want[] = [];
    let queue: Want[] = [];
    while (!this.#isStopping) {
      if (queue.length === 0) queue = this.#take();
      const next = queue.shift();
      if (next === undefined) break;
      if (coverage.structure(next.oid, next.lang, next.extractor) !== undefined) continue; // a question came first
      const work = this.#extract(next).catch(() => failed.push(next)); // the parser was closed meanwhile
      underWay.add(work, this.#todo.get(keyOf(next.lang, next.oid))?.bytes ?? 0);
      await underWay.room();
      if (performance.now() - this.#flushedAt > MOST_HELD_MS) this.#flush();
    }
    await underWay.end();
    this.#flush();
    const left = [...queue, ...failed];
    if (left.length > 0) store.write(({ claims }) => claims.giveBack(left));
  }

  /** The first that nobody works on. */
  #first(isWanted: (file: Missing) => boolean): Want[] {
    const wants: Want[] = [];
    for (const [key, file] of this.#todo) {
      if (wants.length === TAKE) break;
      if (isWanted(file) && !this.#begun.has(key)) wants.push(this.#want(file.oid, file.language));
    }
    return wants;
  }

  #take(): Want[] {
    const { store } = this.#deps;
    this.#plan();
    if (store.failure !== undefined) return this.#first(() => true);
    return store.write(({ claims }) => this.#claim(claims)) ?? [];
  }

  #claim(claims: Claims): Want[] {
    const isLeading = claims.lead();
    const own = claims.claimAll(this.#first(({ isLocal }) => isLocal || isLeading));
    if (own.length > 0) return own;
    if (!isLeading) this.#ask(claims);
    const others = isLeading ? claims.take(2, TAKE) : [];
    if (others.length === 0 && this.#unread.count === 0) claims.follow();
    return others;
  }

  #ask(claims: Claims): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const shared = [...this.#todo.values()].filter(({ isLocal }) => !isLocal);
    const rankOf = (missing: Missing) => (this.#unread.count === 0 ? this.#rankOf(missing) : 0);
    claims.want(shared.map((missing) => this.#want(missing.oid, missing.language, rankOf(missing))));
  }

  /** A question may need what the background has begun: both wait for the same work. */
  #extract(want: Want, path?: string): Promise<Fact | undefined> {
    const key = keyOf(want.lang, want.oid);
    const begun = this.#begun.get(key);
    if (begun) return begun;
    const work = this.#extractOnce(want, path ?? this.#todo.get(key)?.path).finally(() => this.#begun.delete(key));
    this.#begun.set(key, work);
    return work;
  }

  async #extractOnce(want: Want, path: string | undefined): Promise<Fact | undefined> {
    const { git, tree, store, coverage } = this.#deps;
    const here = path === undefined ? undefined : blobFromFile(tree, want.oid, path);
    const blob = here ?? (await blobsFromGit(git, tree, [want.oid])).get(want.oid);
    const isLocal = here !== undefined && path !== undefined && tree.files.get(path)?.isLocal === true;
    const made = blob && (await this.#toFact(want, blob));
    const fact = made && (isLocal ? { ...made, localTo: tree.checkout.toplevel } : made);
    this.#todo.delete(keyOf(want.lang, want.oid));
    if (fact) {
      store.put(fact);
      coverage.add(fact);
      this.extracted += 1;
    } else store.write(({ claims }) => claims.done(want));
    return fact;
  }

  async #toFact({ oid, lang, extractor }: Want, { size, bytes }: ReadBlob): Promise<Fact> {
    const key = { oid, lang, stage: 2, extractor, bytes: size } as const;
    if (bytes === undefined) return { ...key, status: 'too_large', data: new Uint8Array() };
    const found = await (await this.#deps.parser()).extract(bytes, lang as Language);
    freeBytes(bytes);
    if ('skipped' in found) return { ...key, status: found.skipped, data: new Uint8Array() };
    return { ...key, status: found.partial ? 'partial' : 'ok', data: found.data, summary: found.summary };
  }

  #flush(): void {
    this.#flushedAt = performance.now();
    while (this.#deps.store.flush(2));
  }

  /** What is known of a file's structure, without parsing it. The last ones asked for are kept. */
  known({ oid }: Pick<TreeFile, 'oid'>, language: Language): Structure | undefined {
    const key = keyOf(language, oid);
    const kept = this.#kept.get(key);
    if (kept) return kept;
    const body = this.#deps.store.body({ oid, lang: language, stage: 2 });
    if (!body || body.extractor !== this.#deps.languages.extractor(language)) return undefined;
    const structure = toStructure(body);
    if (!structure) return undefined;
    this.#kept.set(key, structure);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return structure;
  }

  forget(): void {
    this.#kept.clear();
  }

  /** The structure of one file, parsed now if need be, ahead of the queue. Undefined if its bytes are gone. */
  async of(file: Pick<TreeFile, 'oid' | 'path' | 'isLocal'>, language: Language): Promise<Structure | undefined> {
    const want = this.#want(file.oid, language);
    for (let polls = 0; polls < BUSY_POLLS; polls++) {
      const known = this.known(file, language);
      if (known) return known;
      const claim = this.#deps.store.write(({ claims }) => claims.claim(want, file.isLocal)) ?? 'mine';
      if (claim === 'mine') break;
      if (claim === 'busy') await sleep(POLL_MS);
    }
    const fact = await this.#extract(want, file.path);
    if (fact) this.#flush();
    return fact && toStructure(fact);
  }
}

function keyOf(language: string, oid: Oid): string {
  return `${language} ${oid}`;
}

/** Undefined: the data cannot be read, so it must be extracted again. */
function toStructure({ status, data }: FactBody): Structure | undefined {
  if (status !== 'ok' && status !== 'partial') return { status };
  const facts = unpackFacts(data);
  return facts && { status, facts };
}
