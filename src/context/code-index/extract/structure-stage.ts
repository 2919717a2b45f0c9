import { setTimeout as sleep } from 'node:timers/promises';
import { freeBytes } from '../../../base/free-bytes.ts';
import type { Oid } from '../../../git/ref-name.ts';
import type { CodeParser, FileFacts, Language, PackedFacts, Skipped } from '../../lang/contract.ts';
import { unpackFacts } from '../../lang/pack-facts.ts';
import type { Claims, OwnWant, Want } from '../store/claims.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { Fact, FactStatus } from '../store/fact-table.ts';
import type { Languages } from '../tree/languages.ts';
import type { TreeFile, WorktreeTree } from '../tree/worktree-tree.ts';
import type { BlobBytes, BlobSource } from './blob-source.ts';
import type { Coverage } from './coverage.ts';
import { type Missing, UnderWay, Unread } from './structure-queue.ts';
import type { Round } from './word-stage.ts';

interface StageDeps {
  tree: WorktreeTree;
  store: FactStore;
  coverage: Coverage;
  source: BlobSource;
  languages: Languages;
  parser: () => Promise<CodeParser>;
  /** Threads of the parser. */
  workers: number;
  /** Files whose words are still to be read. */
  unread: () => number;
  /** Files that matter more come first. Known when all words are. */
  rank: (oid: Oid) => number;
}

const TAKE = 64;
/** So few are soon read, or all of so few: until then nothing is parsed in the wrong order. */
const FEW = { unread: 200, files: 4_000 };
/** What makes the memory of a thread grow, and seldom matters: minified, generated, or data. */
const LARGE_BYTES = 256 * 1024;
/** Other servers wait no longer for what this one has extracted. */
const MOST_HELD_MS = 500;
const POLL_MS = 20;
const BUSY_POLLS = 100;
const MOST_KEPT = 400;

export type Structure = { facts: FileFacts; status: 'ok' | 'partial' } | { skipped: FactStatus };

/** Stage 2: definitions and imports, in the background and at once for what a question touches. */
export class StructureStage {
  readonly #deps: StageDeps;
  #planned = -1;
  /** Left out of the plan, for their words are not known yet. */
  readonly #unread = new Unread();
  /** In the order in which it is to be done. */
  #todo = new Map<string, Missing>();
  /** Whoever leads knows what is missing here. */
  #isAsked = false;
  readonly #kept = new Map<string, Structure>();
  #isStopping = false;
  readonly #begun = new Map<string, Promise<Fact | undefined>>();
  #flushedAt = 0;
  /** Files parsed by this server. */
  extracted = 0;

  constructor(deps: StageDeps) {
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

  /** What has no words yet may be no text, and how much each file matters is known when all have: so it is left out, for now. */
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
    }
    for (const file of changed ?? tree.files.values()) this.#add(file, isAllRead);
    if (!isAllRead) return;
    for (const missing of this.#unread.takeAll()) this.#addTodo(missing);
    this.#order();
  }

  #add(file: TreeFile, isAllRead: boolean): void {
    const { oid, isLocal, path, stamp } = file;
    const language = this.#deps.languages.of(file);
    if (language === undefined) return;
    const missing = { oid, language, isLocal, path, bytes: stamp.size };
    if (isAllRead) this.#addTodo(missing);
    else if (this.#isMissing(missing)) this.#unread.add(missing);
  }

  /** Its words say what is no text, and a question may have been ahead. */
  #addTodo(missing: Missing): void {
    if (this.#isMissing(missing)) this.#todo.set(`${missing.language} ${missing.oid}`, missing);
  }

  #isMissing({ oid, language }: Missing): boolean {
    const { coverage, languages } = this.#deps;
    const isKnown = coverage.structure(oid, language, languages.extractor(language)) !== undefined;
    return !isKnown && coverage.words(oid) !== 'binary';
  }

  /** Of a large repository what has been read is begun with, in whatever order. */
  hearRead(oid: Oid): void {
    const { tree, unread } = this.#deps;
    if (tree.files.size <= FEW.files || unread() <= FEW.unread) return; // all are, soon
    for (const missing of this.#unread.take(oid, LARGE_BYTES)) this.#addTodo(missing);
  }

  #order(): void {
    const ranked = [...this.#todo].map(([key, missing]) => ({ key, missing, rank: this.#rankOf(missing) }));
    ranked.sort((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank));
    this.#todo = new Map(ranked.map(({ key, missing }) => [key, missing]));
  }

  /** What is edited here comes first, then what matters to most. */
  #rankOf({ oid, isLocal, bytes }: Missing): number {
    if (isLocal) return Number.POSITIVE_INFINITY;
    return bytes > LARGE_BYTES ? -1 : this.#deps.rank(oid);
  }

  #want({ oid, language, isLocal }: Pick<Missing, 'oid' | 'language' | 'isLocal'>, rank = 0): OwnWant {
    return { oid, lang: language, stage: 2, rank, extractor: this.#deps.languages.extractor(language), isLocal };
  }

  /** Works until there is nothing left for this server. */
  async round(): Promise<Round> {
    this.#plan();
    if (this.#todo.size === 0) return this.#unread.count > 0 ? 'waiting' : 'nothing';
    const before = this.extracted;
    await this.#drain();
    if (this.extracted > before) return 'worked';
    return this.#todo.size > 0 ? 'waiting' : 'nothing';
  }

  async #drain(): Promise<void> {
    const underWay = new UnderWay(this.#deps.workers);
    const failed: Want[] = [];
    let queue: Want[] = [];
    while (!this.#isStopping) {
      if (queue.length === 0) queue = this.#take();
      const next = queue.shift();
      if (next === undefined) break;
      if (this.#isKnown(next)) continue; // a question was ahead of the queue
      const bytes = this.#todo.get(`${next.lang} ${next.oid}`)?.bytes ?? 0;
      // If the parser is closed under it others may have it.
      underWay.add(
        this.#extract(next).catch(() => failed.push(next)),
        bytes,
      );
      await underWay.room();
      if (performance.now() - this.#flushedAt > MOST_HELD_MS) this.#flush();
    }
    await underWay.end();
    this.#flush();
    // Claimed but not begun: others may have them.
    const left = [...queue, ...failed];
    if (left.length > 0) this.#deps.store.write(({ claims }) => claims.giveBack(left));
  }

  #isKnown({ oid, lang, extractor }: Pick<Want, 'oid' | 'lang' | 'extractor'>): boolean {
    return this.#deps.coverage.structure(oid, lang, extractor) !== undefined;
  }

  /** Those nobody works at. */
  #first(isWanted: (file: Missing) => boolean): OwnWant[] {
    const wants: OwnWant[] = [];
    for (const file of this.#todo.values()) {
      if (wants.length === TAKE) break;
      if (isWanted(file) && !this.#begun.has(`${file.language} ${file.oid}`)) wants.push(this.#want(file));
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
    claims.want(shared.map((missing) => this.#want(missing, this.#unread.count === 0 ? this.#rankOf(missing) : 0)));
  }

  /** A question may want what the background has begun: it is the same work. */
  #extract(want: Want, path?: string): Promise<Fact | undefined> {
    const key = `${want.lang} ${want.oid}`;
    const begun = this.#begun.get(key);
    if (begun) return begun;
    const work = this.#extractOnce(want, path ?? this.#todo.get(key)?.path).finally(() => this.#begun.delete(key));
    this.#begun.set(key, work);
    return work;
  }

  async #extractOnce(want: Want, path: string | undefined): Promise<Fact | undefined> {
    const key = `${want.lang} ${want.oid}`;
    const blob = await this.#bytesOf(want.oid, path);
    if (blob.state === 'gone') {
      this.#todo.delete(key);
      this.#deps.store.write(({ claims }) => claims.done(want));
      return undefined;
    }
    const language = want.lang as Language;
    const size = blob.state === 'too_large' ? blob.size : blob.bytes.length;
    const found: PackedFacts | Skipped =
      blob.state === 'too_large'
        ? { skipped: 'too_large' }
        : await (await this.#deps.parser()).extract(blob.bytes, language);
    if (blob.state === 'read') freeBytes(blob.bytes);
    const fact = toFact({ oid: want.oid, language, extractor: want.extractor, bytes: size }, found);
    this.#keep(fact);
    return fact;
  }

  async #bytesOf(oid: Oid, path: string | undefined): Promise<BlobBytes> {
    const { source } = this.#deps;
    const here = path === undefined ? undefined : source.fromFile(oid, path);
    return here ?? (await source.fromGit([oid])).get(oid) ?? { state: 'gone' };
  }

  #keep(fact: Fact): void {
    const { store, coverage } = this.#deps;
    store.put([fact]);
    coverage.add(fact);
    this.#todo.delete(`${fact.lang} ${fact.oid}`);
    this.extracted += 1;
  }

  #flush(): void {
    this.#flushedAt = performance.now();
    while (this.#deps.store.flush(2));
  }

  /** What is known of a file's structure; nothing is parsed for it. The last ones asked for are kept. */
  known({ oid }: Pick<TreeFile, 'oid'>, language: Language): Structure | undefined {
    const key = `${language} ${oid}`;
    const kept = this.#kept.get(key);
    if (kept) return kept;
    const body = this.#deps.store.body({ oid, lang: language, stage: 2 });
    if (!body || body.extractor !== this.#deps.languages.extractor(language)) return undefined;
    const facts = unpackFacts(body.data);
    const isRead = (body.status === 'ok' || body.status === 'partial') && facts !== undefined;
    const structure: Structure = isRead ? { facts, status: body.status as 'ok' | 'partial' } : { skipped: body.status };
    if (!isRead && body.status === 'ok') return undefined;
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
    const { store } = this.#deps;
    for (let polls = 0; polls < BUSY_POLLS; polls++) {
      const known = this.known(file, language);
      if (known) return known;
      const want = this.#want({ ...file, language });
      const claim = store.write(({ claims }) => claims.claim(want, file.isLocal)) ?? 'mine';
      if (claim === 'mine') return this.#extractNow(want, file.path);
      if (claim === 'busy') await sleep(POLL_MS);
    }
    return this.#extractNow(this.#want({ ...file, language }), file.path);
  }

  async #extractNow(want: Want, path: string): Promise<Structure | undefined> {
    const fact = await this.#extract(want, path);
    if (!fact) return undefined;
    this.#flush();
    if (fact.status !== 'ok' && fact.status !== 'partial') return { skipped: fact.status };
    const facts = unpackFacts(fact.data);
    return facts && { facts, status: fact.status };
  }
}

interface Extracted {
  oid: Oid;
  language: Language;
  extractor: string;
  bytes: number;
}

function toFact({ oid, language, extractor, bytes }: Extracted, found: PackedFacts | Skipped): Fact {
  const key = { oid, lang: language, stage: 2, extractor, bytes } as const;
  if ('skipped' in found) return { ...key, status: found.skipped, data: new Uint8Array() };
  return { ...key, status: found.partial ? 'partial' : 'ok', data: found.data, summary: found.summary };
}
