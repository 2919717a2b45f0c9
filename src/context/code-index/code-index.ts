import { setTimeout as sleep } from 'node:timers/promises';
import type { Git } from '../../git/git-command.ts';
import type { Basis } from '../../protocol/code.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { CodeParser } from '../lang/contract.ts';
import { collect, dropsOf, isDue } from './collect.ts';
import { Coverage } from './extract/coverage.ts';
import { SettledTrees } from './extract/settled-trees.ts';
import { baseOrder } from './extract/structure-queue.ts';
import { StructureStage } from './extract/structure-stage.ts';
import { type Round, WordStage } from './extract/word-stage.ts';
import { FactStore } from './store/fact-store.ts';
import { NameIndex } from './store/name-index.ts';
import { WordIndex } from './store/word-index.ts';
import { formatOf, type ObjectFormat } from './tree/blob-id.ts';
import { isAnyCode, Languages } from './tree/languages.ts';
import { Remembrance, readOverlay } from './tree/remembrance.ts';
import { View } from './tree/view.ts';
import { type TreeFile, WorktreeTree } from './tree/worktree-tree.ts';

export interface IndexSettings {
  git: Git;
  worktree: string;
  storeFile: string;
  parser: () => Promise<CodeParser>;
  workers: number;
  engine: string;
  watches?: { readonly state: Basis['watch']; follow(files: Iterable<TreeFile>): void };
}

/** What an answer rests on. By default it is of stage 2 if nothing is pending, and complete if nothing is skipped either. */
interface Grounds extends Partial<Pick<Basis, 'stage' | 'complete'>> {
  pending: number;
  skipped: number;
}

interface Unread {
  pending: TreeFile[];
  skipped: TreeFile[];
}

const IDLE_POLL_MS = 100;
const TROUBLE_MS = 1_000;
const DEADLINE_MS = 20_000;
/** So few files that were written since the last question are read before it is answered; it takes milliseconds each. */
const FRESH = { files: 200, ms: 3_000 };

/** The code of one worktree: the map of its files, the facts of their contents, and the stages that extract them. */
export class CodeIndex {
  readonly tree: WorktreeTree;
  readonly store: FactStore;
  readonly words: WordIndex;
  readonly names: NameIndex;
  readonly coverage: Coverage;
  readonly languages: Languages;
  readonly structures: StructureStage;
  readonly parser: () => Promise<CodeParser>;
  readonly git: Git;
  readonly #settled: SettledTrees;
  readonly #wordStage: WordStage;
  readonly #settings: IndexSettings;
  readonly #remembrance: Remembrance;
  #alarm = Promise.withResolvers<void>();
  #isTidy = false;
  #isClosed = false;
  #running: Promise<void> | undefined;
  #parsing: Promise<Round> | undefined;
  #view: View | undefined;
  #unparsable: { version: number; count: number } | undefined;
  #unread: (Unread & { key: string }) | undefined;
  #drops: string;

  static async open(settings: IndexSettings): Promise<CodeIndex> {
    const checkout = await settings.git.locate(settings.worktree);
    if (checkout.toplevel !== settings.worktree) {
      throw new ReefError('path_outside_worktree', `${settings.worktree} is not the top folder of a worktree.`);
    }
    const store = new FactStore(settings.storeFile);
    const kept = store.look(({ registry }) => registry.worktree(checkout.toplevel), undefined);
    const overlay = readOverlay(kept?.overlay);
    const known = kept?.head || overlay[0]?.oid;
    const format = known ? formatOf(known) : await askFormat(settings.git, checkout);
    const onListed = (paths: Iterable<string>) => {
      // A parser thread takes some tenths of a second to start; meanwhile this one reads files. Its failure shows at the first parse.
      if (!store.hasSketches() && isAnyCode(paths))
        settings
          .parser()
          .then((parser) => parser.prepare())
          .catch(() => {});
    };
    const tree = new WorktreeTree({ git: settings.git, checkout, format, overlay, onListed });
    return new CodeIndex(settings, tree, store);
  }

  private constructor(settings: IndexSettings, tree: WorktreeTree, store: FactStore) {
    this.#settings = settings;
    this.git = settings.git;
    this.tree = tree;
    this.store = store;
    this.parser = settings.parser;
    this.#drops = dropsOf(store);
    this.words = new WordIndex(store);
    this.names = new NameIndex(store);
    this.coverage = new Coverage(store);
    this.languages = new Languages(tree, store);
    this.#settled = new SettledTrees({ tree, store, coverage: this.coverage, languages: this.languages });
    const shared = { git: settings.git, tree, store, coverage: this.coverage, settled: this.#settled };
    const onRead = (oid: string) => this.structures.hearRead(oid);
    this.#wordStage = new WordStage({ ...shared, words: this.words, onRead });
    this.structures = new StructureStage({
      ...shared,
      languages: this.languages,
      parser: settings.parser,
      workers: settings.workers,
      unread: () => this.#wordStage.pending,
      rank: baseOrder(tree, this.words),
    });
    this.#remembrance = new Remembrance({ git: settings.git, tree, store });
  }

  /** The worktree as it is now. */
  async view(): Promise<View> {
    const { head, beganAt } = await this.tree.sweep();
    this.#noticeDrops();
    this.start();
    const unread = this.pendingWords;
    if (unread > 0 && unread <= FRESH.files) await this.until(() => this.pendingWords === 0, { ms: FRESH.ms });
    if (this.#view?.version !== this.tree.version) {
      this.#view = new View(this.tree);
      this.#settings.watches?.follow(this.tree.files.values());
    }
    this.#view.head = head;
    this.#view.beganAt = beganAt;
    return this.#view;
  }

  /** Otherwise an answer would call itself complete over facts that another server has dropped. */
  #noticeDrops(): void {
    const drops = dropsOf(this.store);
    if (drops === this.#drops) return;
    this.#drops = drops;
    this.coverage.forget();
    this.#replan();
  }

  /** Keeps extracting in the background until closed. */
  start(): void {
    this.#alarm.resolve();
    this.#running ??= this.#run();
  }

  /** A round that fails, for want of a file descriptor for example, is tried again. */
  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#round();
      } catch {
        this.#replan();
        await sleep(TROUBLE_MS);
      }
    }
  }

  /** Parsing has its own threads, so it continues while words are read. */
  async #round(): Promise<void> {
    this.#alarm = Promise.withResolvers();
    if (this.coverage.refresh()) this.#replan();
    const parsing = this.#parse();
    const words = await this.#wordStage.round();
    if (words === 'worked') return;
    const structure = await Promise.race([parsing, this.#woken(words === 'waiting')]);
    if (structure === 'worked' || structure === 'woken') return;
    const isWaiting = words === 'waiting' || structure === 'waiting';
    if (!isWaiting) await this.#tidy();
    await this.#woken(isWaiting);
  }

  #parse(): Promise<Round> {
    if (this.#parsing) return this.#parsing;
    const parsing = this.structures.round().finally(() => {
      this.#parsing = undefined;
    });
    parsing.catch(() => {}); // whoever awaits it handles it
    this.#parsing = parsing;
    return parsing;
  }

  #replan(): void {
    this.#wordStage.replan();
    this.structures.replan();
  }

  /** Waits until somebody asks. Other servers do not report, so whoever waits for them polls. */
  async #woken(isWaiting: boolean): Promise<'woken'> {
    const { promise } = this.#alarm;
    await (isWaiting ? Promise.race([promise, sleep(IDLE_POLL_MS)]) : promise);
    return 'woken';
  }

  async #tidy(): Promise<void> {
    if (this.tree.isRead && this.pending === 0) this.#settled.note();
    await this.#remembrance.keep();
    if (this.#isTidy || !this.tree.isRead || this.#isClosed) return;
    this.#isTidy = true; // once per server: a server rarely outlives a day
    const deps = { git: this.git, tree: this.tree, store: this.store };
    if (isDue(deps)) await collect(deps);
  }

  get pendingWords(): number {
    return this.#wordStage.pending;
  }

  get pendingStructures(): number {
    return this.structures.pending;
  }

  get pending(): number {
    return this.pendingWords + this.pendingStructures;
  }

  /** How many files no parser reads wholly: they may define more than is known. Counted once everything is parsed. */
  unparsable(view: View): number {
    if (this.pendingStructures > 0) return 0;
    if (this.#unparsable?.version !== view.version) {
      const isCut = (file: TreeFile) => this.coverage.isCut(file.oid, this.languages.of(file));
      this.#unparsable = { version: view.version, count: [...view.files.values()].filter(isCut).length };
    }
    return this.#unparsable.count;
  }

  /** Files without words: still to be read, or skipped because they are too large. Found again only after a change. */
  unread(view: View): Unread {
    const key = `${view.version} ${this.coverage.changes}`;
    if (this.#unread?.key !== key) {
      this.#unread = { key, pending: [], skipped: [] };
      for (const file of this.#lookedAt(view)) {
        const status = this.coverage.words(file.oid);
        if (status === undefined) this.#unread.pending.push(file);
        else if (status !== 'ok' && status !== 'binary') this.#unread.skipped.push(file);
      }
    }
    return this.#unread;
  }

  /** The files that may have no words. */
  #lookedAt(view: View): Iterable<TreeFile> {
    const settled = view.version === this.tree.version ? this.#settled.get() : undefined;
    return settled ? settled.skipped.flatMap((oid) => view.withBlob(oid)) : view.files.values();
  }

  get extracted(): { words: number; structures: number } {
    return { words: this.#wordStage.extracted, structures: this.structures.extracted };
  }

  /** Waits until the condition holds. False: the deadline has passed, or the index was closed. */
  async until(
    isMet: () => boolean,
    { signal, ms = DEADLINE_MS }: { signal?: AbortSignal; ms?: number } = {},
  ): Promise<boolean> {
    this.start();
    const end = performance.now() + ms;
    while (!isMet()) {
      signal?.throwIfAborted();
      if (performance.now() > end || this.#isClosed) return false;
      await sleep(10);
    }
    return true;
  }

  async basis({ pending, skipped, stage, complete }: Grounds, view?: View): Promise<Basis> {
    return {
      worktree: this.tree.checkout.toplevel,
      head: view?.head ?? (await this.tree.head()),
      stage: stage ?? (pending > 0 ? 1 : 2),
      complete: complete ?? pending + skipped === 0,
      pending,
      skipped,
      dirtyFiles: view?.localCount ?? this.tree.localCount,
      freshAsOf: (view?.beganAt ?? new Date()).toISOString(),
      watch: this.#settings.watches?.state ?? 'off',
      engine: this.#settings.engine,
    };
  }

  /** Frees what can be read again. */
  shrink(): void {
    this.words.unload();
    this.names.unload();
    this.structures.forget();
    this.#view = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.structures.stop();
    this.#alarm.resolve();
    await Promise.allSettled([this.#running, this.#parsing]);
    await this.#remembrance.keep().catch(() => {});
    this.store.close();
  }
}

async function askFormat(git: Git, checkout: WorktreeTree['checkout']): Promise<ObjectFormat> {
  const { stdout } = await git.call(checkout, ['rev-parse', '--show-object-format']);
  return stdout.toString('latin1').trim() === 'sha256' ? 'sha256' : 'sha1';
}
