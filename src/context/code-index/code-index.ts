import { setTimeout as sleep } from 'node:timers/promises';
import type { Git } from '../../git/git-command.ts';
import type { Oid } from '../../git/ref-name.ts';
import type { Basis } from '../../protocol/code.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { CodeParser } from '../lang/contract.ts';
import { ExtractorVersions } from '../lang/extractor-versions.ts';
import { collect, dropsOf, isDue } from './collect.ts';
import { BaseOrder } from './extract/base-order.ts';
import { BlobSource } from './extract/blob-source.ts';
import { Coverage } from './extract/coverage.ts';
import { StructureStage } from './extract/structure-stage.ts';
import { type Round, WordStage } from './extract/word-stage.ts';
import { FactStore } from './store/fact-store.ts';
import { keptDigests } from './store/kept-digests.ts';
import { NameIndex } from './store/name-index.ts';
import { WordIndex } from './store/word-index.ts';
import { formatOf } from './tree/blob-id.ts';
import { isAnyCode, Languages } from './tree/languages.ts';
import { Remembrance, readOverlay } from './tree/remembrance.ts';
import { View } from './tree/view.ts';
import { type TreeFile, WorktreeTree } from './tree/worktree-tree.ts';

export interface IndexSettings {
  git: Git;
  worktree: string;
  storeFile: string;
  parser: () => Promise<CodeParser>;
  /** Parser threads there are. */
  workers: number;
  engine: string;
  watches?: { readonly state: Basis['watch']; follow(files: Iterable<TreeFile>): void };
}

const IDLE_POLL_MS = 100;
const TROUBLE_MS = 1_000;
const DEADLINE_MS = 20_000;
const NULL_COMMIT_LENGTH = 40;

/** What one worktree's code says about itself: the map of its files, the facts of their contents, and who extracts them. */
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
  readonly #wordStage: WordStage;
  readonly #settings: IndexSettings;
  readonly #remembrance: Remembrance;
  #alarm = Promise.withResolvers<void>();
  /** What last kept the background from its work. */
  trouble: unknown;
  #isTidy = false;
  #isClosed = false;
  #running: Promise<void> | undefined;
  #parsing: Promise<Round> | undefined;
  #view: View | undefined;
  #unparsable: { version: number; count: number } | undefined;
  #unread: { key: string; files: TreeFile[] } | undefined;
  #drops: string;

  static async open(settings: IndexSettings): Promise<CodeIndex> {
    const checkout = await settings.git.locate(settings.worktree);
    if (checkout.toplevel !== settings.worktree) {
      throw new ReefError('path_outside_worktree', `${settings.worktree} is not the top folder of a worktree.`);
    }
    const store = new FactStore(settings.storeFile);
    const kept = store.look(({ registry }) => registry.worktree(checkout.toplevel), undefined);
    const overlay = readOverlay(kept?.overlay);
    const format = formatOf(kept?.head || overlay[0]?.oid || (await headOf(settings.git, checkout)));
    const onListed = (paths: Iterable<string>) => {
      // A thread is ready after some tenths of a second, in which this one looks at the files and reads them.
      if (!store.hasSketches() && isAnyCode(paths)) settings.parser().then((parser) => parser.prepare(), noticedLater);
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
    this.languages = new Languages(tree, new ExtractorVersions(keptDigests(store)));
    const source = new BlobSource(settings.git, tree);
    const shared = { tree, store, coverage: this.coverage, source };
    const order = new BaseOrder(tree, this.words);
    this.#wordStage = new WordStage({
      ...shared,
      words: this.words,
      onRead: (oid) => this.structures.hearRead(oid),
    });
    this.structures = new StructureStage({
      ...shared,
      languages: this.languages,
      parser: settings.parser,
      workers: settings.workers,
      unread: () => this.#wordStage.pending,
      rank: (oid) => order.rank(oid),
    });
    this.#remembrance = new Remembrance({ git: settings.git, tree, store });
  }

  /** The worktree as it is after this call. */
  async view(): Promise<View> {
    const { head, beganAt } = await this.tree.sweep();
    this.#noticeDrops();
    this.start();
    if (this.#view?.version !== this.tree.version) {
      this.#view = new View(this.tree);
      this.#settings.watches?.follow(this.tree.files.values());
    }
    this.#view.head = head;
    this.#view.beganAt = beganAt;
    return this.#view;
  }

  /** Without this an answer would call itself complete over facts that are gone. */
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
    this.#running ??= this.#runOn();
  }

  /** A round that fails, for want of a file descriptor say, is tried again: without it nothing more would be indexed. */
  async #runOn(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#run();
      } catch (error) {
        this.trouble = error;
        this.#replan();
        await sleep(TROUBLE_MS);
      }
    }
  }

  /** Structure goes on beside the words of files that are still to be read: it has threads of its own. */
  async #run(): Promise<void> {
    while (!this.#isClosed) {
      this.#alarm = Promise.withResolvers();
      if (this.coverage.refresh()) this.#replan();
      const parsing = this.#parse();
      const words = await this.#wordStage.round();
      if (words === 'worked') continue;
      const structure = await Promise.race([parsing, this.#woken(words === 'waiting')]);
      if (structure === 'worked' || structure === 'woken') continue;
      const isWaiting = words === 'waiting' || structure === 'waiting';
      if (!isWaiting) await this.#tidy();
      await this.#woken(isWaiting);
    }
  }

  #parse(): Promise<Round> {
    if (this.#parsing) return this.#parsing;
    const parsing = this.structures.round().finally(() => {
      this.#parsing = undefined;
    });
    parsing.catch(() => {}); // heard of where it is waited for
    this.#parsing = parsing;
    return parsing;
  }

  #replan(): void {
    this.#wordStage.replan();
    this.structures.replan();
  }

  /** Until something was asked since this round began. What another server does, nobody tells us. */
  async #woken(isWaiting: boolean): Promise<'woken'> {
    const { promise } = this.#alarm;
    await (isWaiting ? Promise.race([promise, sleep(IDLE_POLL_MS)]) : promise);
    return 'woken';
  }

  async #tidy(): Promise<void> {
    await this.#remembrance.keep();
    const deps = { git: this.git, tree: this.tree, store: this.store };
    if (this.#isTidy || !this.tree.isRead || this.#isClosed) return;
    this.#isTidy = true; // once per server: a worktree rarely outlives a day
    if (isDue(deps)) await collect(deps);
  }

  get pendingWords(): number {
    return this.#wordStage.pending;
  }

  get pendingStructures(): number {
    return this.structures.pending;
  }

  /** Files no parser reads wholly: they may define more than is known. Counted once for a map that is all parsed. */
  unparsable(view: View): number {
    if (this.pendingStructures > 0) return 0;
    if (this.#unparsable?.version !== view.version) {
      const isCut = (file: TreeFile) => this.coverage.isCut(file.oid, this.languages.of(file));
      this.#unparsable = { version: view.version, count: [...view.files.values()].filter(isCut).length };
    }
    return this.#unparsable.count;
  }

  /** Files whose words are not known, because they are still to be read or too large. Counted once while nothing changes. */
  unread(view: View): readonly TreeFile[] {
    const key = `${view.version} ${this.coverage.changes}`;
    if (this.#unread?.key !== key) {
      const isRead = ({ oid }: TreeFile) => ['ok', 'binary'].includes(this.coverage.words(oid) ?? '');
      this.#unread = { key, files: [...view.files.values()].filter((file) => !isRead(file)) };
    }
    return this.#unread.files;
  }

  get extracted(): { words: number; structures: number } {
    return { words: this.#wordStage.extracted, structures: this.structures.extracted };
  }

  /** Resolves when the condition holds, or when the deadline of a call has passed. */
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

  async basis(of: Pick<Basis, 'stage' | 'complete' | 'pending' | 'skipped'>, view?: View): Promise<Basis> {
    return {
      worktree: this.tree.checkout.toplevel,
      head: view?.head ?? (await this.tree.head()),
      ...of,
      dirtyFiles: view?.localCount ?? this.tree.localCount,
      freshAsOf: (view?.beganAt ?? new Date()).toISOString(),
      watch: this.#settings.watches?.state ?? 'off',
      engine: this.#settings.engine,
    };
  }

  /** Memory is short: what can be read again goes. */
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

/** By whoever asks the parser for something. */
function noticedLater(): void {}

async function headOf(git: Git, checkout: WorktreeTree['checkout']): Promise<Oid> {
  const { stdout } = await git.call(checkout, ['rev-parse', '--show-object-format']);
  return '0'.repeat(stdout.toString('latin1').trim() === 'sha256' ? 64 : NULL_COMMIT_LENGTH);
}
