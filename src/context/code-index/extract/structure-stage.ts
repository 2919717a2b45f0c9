import { setTimeout as sleep } from 'node:timers/promises';
import type { Oid } from '../../../git/ref-name.ts';
import type { CodeParser, FileFacts, Language, PackedFacts, Skipped } from '../../lang/contract.ts';
import { unpackFacts } from '../../lang/pack-facts.ts';
import type { Want } from '../store/claims.ts';
import type { Fact, FactStatus } from '../store/fact.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { Languages } from '../tree/languages.ts';
import type { TreeFile, WorktreeTree } from '../tree/worktree-tree.ts';
import type { BlobBytes, BlobSource } from './blob-source.ts';
import type { Coverage } from './coverage.ts';
import type { Round } from './word-stage.ts';

interface Parts {
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
  /** Files that matter more come first (C-012). Known when all words are. */
  rank: (oid: Oid) => number;
}

const TAKE = 64;
/** So few are soon read, or all of so few: until then nothing is parsed in the wrong order. */
const FEW = { unread: 200, files: 4_000 };
/** For each thread: it goes on while this one writes a batch, or makes words. */
const MOST_UNDER_WAY = { files: 24, bytes: 1024 * 1024 };
/** C-023: so many facts in one transaction. */
const FLUSH_FACTS = 200;
const FLUSH_MS = 500;
const POLL_MS = 20;
const BUSY_POLLS = 100;
const MOST_KEPT = 400;

export type Structure = { facts: FileFacts; status: 'ok' | 'partial' } | { skipped: FactStatus };

interface Missing {
  oid: Oid;
  language: Language;
  isLocal: boolean;
  path: string;
}

/** Stage 2: definitions and imports, in the background and at once for what a question touches. */
export class StructureStage {
  readonly #parts: Parts;
  #planned = -1;
  /** Paths left out of the plan, for the words of their files are not known yet. */
  #unplanned: string[] = [];
  #todo = new Map<string, Missing>();
  readonly #kept = new Map<string, Structure>();
  #isStopping = false;
  readonly #begun = new Map<string, Promise<Fact | undefined>>();
  /** Extracted, and to be written with the next batch. */
  readonly #unwritten = new Map<string, Fact>();
  /** Files parsed by this server. */
  extracted = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get pending(): number {
    this.#plan();
    return this.#todo.size + this.#unplanned.length;
  }

  replan(): void {
    this.#planned = -1;
  }

  stop(): void {
    this.#isStopping = true;
  }

  /** What has no words yet may be no text, and how much each file matters is known when all have: so it is left out, for now. */
  #plan(): void {
    const { tree, unread } = this.#parts;
    const isMoreKnown = this.#unplanned.length > 0 && unread() === 0;
    if (this.#planned === tree.version && !isMoreKnown) return;
    const changed = tree.changedSince(this.#planned);
    this.#planned = tree.version;
    if (!changed) this.#todo = new Map();
    this.#add(changed ? [...this.#unplannedFiles(), ...changed] : tree.files.values());
  }

  #unplannedFiles(): TreeFile[] {
    return this.#unplanned.flatMap((path) => this.#parts.tree.files.get(path) ?? []);
  }

  #add(files: Iterable<TreeFile>): void {
    const { tree, coverage, store, rank, unread } = this.#parts;
    const isAllRead = unread() === 0;
    const isSoonRead = unread() <= FEW.unread || tree.files.size <= FEW.files;
    this.#unplanned = [];
    for (const file of files) {
      const missing = this.#missing(file);
      if (missing === undefined) continue;
      if (isAllRead || (!isSoonRead && coverage.words(file.oid) !== undefined))
        this.#todo.set(`${missing.language} ${missing.oid}`, missing);
      else this.#unplanned.push(file.path);
    }
    const shared = [...this.#todo.values()].filter(({ isLocal }) => !isLocal);
    const wants = shared.map(({ oid, language }) => this.#want(oid, language, isAllRead ? rank(oid) : 0));
    if (wants.length > 0) store.write(({ claims }) => claims.want(wants));
  }

  #missing(file: TreeFile): Missing | undefined {
    const { coverage, languages } = this.#parts;
    const { oid, isLocal, path } = file;
    const language = languages.of(file);
    if (language === undefined || coverage.words(oid) === 'binary') return undefined;
    const isKnown = coverage.structure(oid, language, languages.extractor(language)) !== undefined;
    return isKnown ? undefined : { oid, language, isLocal, path };
  }

  #want(oid: Oid, language: Language, rank = 0): Want {
    return { oid, lang: language, stage: 2, rank, extractor: this.#parts.languages.extractor(language) };
  }

  /** Works until there is nothing left for this server. */
  async round(): Promise<Round> {
    this.#plan();
    if (this.#todo.size + this.#unplanned.length === 0) return 'nothing';
    const before = this.extracted;
    await this.#drain();
    if (this.extracted > before) return 'worked';
    return this.#todo.size > 0 ? 'waiting' : 'nothing';
  }

  async #drain(): Promise<void> {
    const running = new Set<Promise<unknown>>();
    const writer = new FactWriter((facts) => this.#keep(facts));
    const most = {
      files: MOST_UNDER_WAY.files * this.#parts.workers,
      bytes: MOST_UNDER_WAY.bytes * this.#parts.workers,
    };
    const failed: Want[] = [];
    let queue: Want[] = [];
    let bytes = 0;
    while (!this.#isStopping) {
      if (queue.length === 0) queue = this.#take();
      const next = queue.shift();
      if (next === undefined) break;
      if (this.#isKnown(next)) continue; // a question was ahead of the queue
      const size = this.#sizeOf(next);
      const work = this.#extract(next).then(
        (fact) => {
          if (!fact) return;
          this.#unwritten.set(`${fact.lang} ${fact.oid}`, fact);
          writer.add(fact);
        },
        () => failed.push(next), // the parser was closed under it: others may have it
      );
      const tracked: Promise<unknown> = work.finally(() => {
        running.delete(tracked);
        bytes -= size;
      });
      running.add(tracked);
      bytes += size;
      while (running.size >= most.files || bytes >= most.bytes) await Promise.race(running);
    }
    await Promise.allSettled(running);
    writer.flush();
    // Claimed but not begun: others may have them.
    const left = [...queue, ...failed];
    if (left.length > 0) this.#parts.store.write(({ claims }) => claims.giveBack(left));
  }

  #sizeOf({ oid, lang }: Want): number {
    const path = this.#todo.get(`${lang} ${oid}`)?.path ?? '';
    return this.#parts.tree.files.get(path)?.stamp.size ?? 0;
  }

  #isKnown({ oid, lang, extractor }: Pick<Want, 'oid' | 'lang' | 'extractor'>): boolean {
    return this.#parts.coverage.structure(oid, lang, extractor) !== undefined;
  }

  /** Those nobody works at. */
  #first(isWanted: (file: Missing) => boolean): Want[] {
    const wants: Want[] = [];
    for (const file of this.#todo.values()) {
      if (wants.length === TAKE) break;
      if (isWanted(file) && !this.#isUnderWay(file)) wants.push(this.#want(file.oid, file.language));
    }
    return wants;
  }

  #isUnderWay({ language, oid }: Missing): boolean {
    const key = `${language} ${oid}`;
    return this.#begun.has(key) || this.#unwritten.has(key);
  }

  #take(): Want[] {
    this.#plan();
    const taken = this.#claim();
    if (taken.length > 0 || this.#unplanned.length === 0) return taken;
    this.#add(this.#unplannedFiles()); // words were read meanwhile
    return this.#claim();
  }

  #claim(): Want[] {
    if (this.#parts.store.failure !== undefined) return this.#first(() => true);
    const own = this.#first(({ isLocal }) => isLocal);
    const taken = this.#parts.store.write(({ claims }) => {
      const mine = own.filter((want) => claims.claim(want, true) === 'mine');
      if (mine.length > 0) return mine;
      const led = claims.lead() ? claims.take(2, TAKE) : [];
      if (led.length === 0) claims.follow();
      return led;
    });
    return taken ?? [];
  }

  /** A question may want what the background has begun: it is the same work. */
  #extract(want: Want, path?: string): Promise<Fact | undefined> {
    const key = `${want.lang} ${want.oid}`;
    const unwritten = this.#unwritten.get(key);
    const begun = unwritten ? Promise.resolve(unwritten) : this.#begun.get(key);
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
      this.#parts.store.write(({ claims }) => claims.done(want));
      return undefined;
    }
    const language = want.lang as Language;
    const found: PackedFacts | Skipped =
      blob.state === 'too_large'
        ? { skipped: 'too_large' }
        : await (await this.#parts.parser()).extract(blob.bytes, language);
    const size = blob.state === 'too_large' ? blob.size : blob.bytes.length;
    return toFact({ oid: want.oid, language, extractor: want.extractor, bytes: size }, found);
  }

  async #bytesOf(oid: Oid, path: string | undefined): Promise<BlobBytes> {
    const { source } = this.#parts;
    const here = path === undefined ? undefined : source.fromFile(oid, path);
    return here ?? (await source.fromGit([oid])).get(oid) ?? { state: 'gone' };
  }

  /** A question keeps what it waited for at once, also what the background began and will hand in later. */
  #keep(facts: readonly Fact[]): void {
    const { store, coverage } = this.#parts;
    const fresh = facts.filter((fact) => !this.#isKnown(fact));
    store.put(fresh);
    for (const fact of facts) {
      coverage.add(fact);
      this.#todo.delete(`${fact.lang} ${fact.oid}`);
      this.#unwritten.delete(`${fact.lang} ${fact.oid}`);
    }
    this.extracted += fresh.length;
  }

  /** What is known of a file's structure; nothing is parsed for it. The last ones asked for are kept. */
  known({ oid }: Pick<TreeFile, 'oid'>, language: Language): Structure | undefined {
    const key = `${language} ${oid}`;
    const kept = this.#kept.get(key);
    if (kept) return kept;
    const body = this.#parts.store.body({ oid, lang: language, stage: 2 });
    if (!body || body.extractor !== this.#parts.languages.extractor(language)) return undefined;
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
    const { store } = this.#parts;
    for (let polls = 0; polls < BUSY_POLLS; polls++) {
      const known = this.known(file, language);
      if (known) return known;
      const want = this.#want(file.oid, language);
      const claim = store.write(({ claims }) => claims.claim(want, file.isLocal)) ?? 'mine';
      if (claim === 'mine') return this.#extractNow(want, file.path);
      if (claim === 'busy') await sleep(POLL_MS);
    }
    return this.#extractNow(this.#want(file.oid, language), file.path);
  }

  async #extractNow(want: Want, path: string): Promise<Structure | undefined> {
    const fact = await this.#extract(want, path);
    if (!fact) return undefined;
    this.#keep([fact]);
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
  const key = { oid, lang: language, stage: 2, extractor, bytes, lines: 0 } as const;
  if ('skipped' in found) return { ...key, status: found.skipped, data: new Uint8Array() };
  return { ...key, status: found.partial ? 'partial' : 'ok', data: found.data };
}

/** Gathers facts into transactions of a bounded size. */
class FactWriter {
  readonly #write: (facts: readonly Fact[]) => void;
  #facts: Fact[] = [];
  #since = performance.now();

  constructor(write: (facts: readonly Fact[]) => void) {
    this.#write = write;
  }

  add(fact: Fact): void {
    this.#facts.push(fact);
    if (this.#facts.length >= FLUSH_FACTS || performance.now() - this.#since > FLUSH_MS) this.flush();
  }

  flush(): void {
    const facts = this.#facts;
    this.#facts = [];
    this.#since = performance.now();
    if (facts.length > 0) this.#write(facts);
  }
}
