import type { CodeToolArgs, CodeToolResult, RelatedSymbol } from '../../../protocol/code.ts';
import type { CodeIndex } from '../code-index.ts';
import { ImportPaths } from '../modules/import-paths.ts';
import type { Classifier } from '../query/classifier.ts';
import { definitionsOf, type Found, symbolId } from '../query/definitions.ts';
import type { Pager, Whole } from '../query/paging.ts';
import { pathInside } from '../query/paths.ts';
import { nameIn, notOwned, ownedBy } from '../query/written-name.ts';
import type { View } from '../tree/view.ts';
import { isClass, Sources } from './sources.ts';
import { isTestFile, isTestName, titleAt } from './test-names.ts';
import { type Edge, UseFinder, type Uses } from './uses.ts';

export type RelationTool = 'get_callers' | 'get_callees' | 'get_impact' | 'get_tests';

interface RelationTools {
  index: CodeIndex;
  classifier: Classifier;
  pager: Pager;
}

interface Waits {
  ms?: number | undefined;
  signal?: AbortSignal;
}

interface WholeRelated extends Whole<RelatedSymbol> {
  unresolved: number;
  skipped: number;
  note: string | undefined;
}

type Args = CodeToolArgs<'get_impact'>;

const LIMIT = 200;
/** One step asks for one name, more steps for hundreds. */
const MS: Record<RelationTool, number> = {
  get_callers: 2_000,
  get_callees: 2_000,
  get_impact: 6_000,
  get_tests: 6_000,
};
const DEPTH: Record<RelationTool, number> = { get_callers: 1, get_callees: 1, get_impact: 3, get_tests: 6 };
const MOST_REACHED = 500;
/** Whoever makes an object runs them without their name. */
const CONSTRUCTORS = new Set([
  'constructor',
  '__init__',
  '__new__',
  '__post_init__',
  'initialize',
  'init',
  '__construct',
]);

/** Callers, callees, impact and tests: what stands in relation to a definition, each with the uses that say so. */
export async function related(
  tools: RelationTools,
  { tool, args }: { tool: RelationTool; args: Args },
  waits: Waits = {},
): Promise<CodeToolResult<RelationTool>> {
  const { index, pager } = tools;
  const view = await index.view();
  const { name, file_path, line, cursor, depth } = args;
  const make = () => new UseWalk(tools, view, { tool, ...waits }).answer(args);
  const place = await pager.place({ question: [tool, name, file_path, line, depth], cursor, make }, view);
  const { count, pending, skipped, note, unresolved } = place.whole;
  const { items, nextCursor } = pager.page(place, args.limit ?? LIMIT);
  return {
    related: items,
    total_count: count,
    unresolved,
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    ...(note !== undefined && { note }),
    basis: await index.basis({ pending, skipped }, view),
  };
}

interface Step extends Edge {
  distance: number;
}

/** The way from one definition along its uses, for one question. */
class UseWalk {
  readonly #index: CodeIndex;
  readonly #view: View;
  readonly #tool: RelationTool;
  readonly #sources: Sources;
  readonly #finder: UseFinder;
  readonly #ms: number;
  readonly #counts = { unresolved: 0, pending: 0, skipped: 0 };
  #isCut = false;

  constructor({ index, classifier }: RelationTools, view: View, { tool, ms, signal }: Waits & { tool: RelationTool }) {
    this.#index = index;
    this.#view = view;
    this.#tool = tool;
    this.#ms = ms ?? MS[tool];
    this.#sources = new Sources(index, view);
    const imports = new ImportPaths(index, view);
    const end = performance.now() + this.#ms;
    this.#finder = new UseFinder({ sources: this.#sources, imports, classifier, end, signal });
  }

  async answer(args: Args): Promise<WholeRelated> {
    const { targets, note } = await this.#targets(args);
    const steps = this.#tool === 'get_callees' ? await this.#callees(targets) : await this.#reach(targets, args.depth);
    const items = (await Promise.all(steps.map((step) => this.#told(step)))).filter((item) => item !== undefined);
    items.sort(inOrder);
    const pending = this.#counts.pending + this.#sources.unparsed.size;
    return {
      count: items.length,
      items: (from, to) => items.slice(from, to),
      paths: [...new Set(items.map(({ file_path }) => file_path))],
      ...this.#counts,
      pending: pending + Number(this.#isCut),
      note: [note, lateNote(pending, this.#isCut)].filter(Boolean).join(' ') || undefined,
    };
  }

  /** The definitions that are asked about. */
  async #targets({ name, file_path, line }: Args): Promise<{ targets: Found[]; note: string | undefined }> {
    const written = await nameIn(this.#index, this.#view, name);
    const { found, pending, skipped } = await definitionsOf(this.#index, this.#view, written.name, this.#ms);
    this.#count({ pending, skipped, unresolved: 0 });
    const path = file_path === undefined ? undefined : pathInside(this.#index.tree.checkout.toplevel, file_path);
    const isMeant = ({ file, definition }: Found) =>
      definition.kind !== 'import' &&
      (path === undefined || file.path === path) &&
      (line === undefined || (definition.line <= line && line <= definition.endLine));
    const owned = ownedBy(found, written.owners);
    const targets = (owned.length > 0 ? owned : found).filter(isMeant);
    if (targets.length === 0)
      return { targets, note: `Nothing here is called ${written.name}: \`find_symbols\` shows similar names.` };
    const isWider = owned.length === 0 && notOwned(written);
    const places = targets.map(({ file, definition }) => `${file.path}:${definition.line}`);
    const isSeveral =
      targets.length > 1 &&
      `About ${targets.length} definitions: ${places.slice(0, 5).join(', ')}. Choose one with \`file_path\` and \`line\`.`;
    return { targets, note: [isWider, isSeveral].filter(Boolean).join(' ') || undefined };
  }

  #count({ unresolved, pending, skipped }: Omit<Uses, 'edges'>): void {
    this.#counts.unresolved += unresolved;
    this.#counts.pending += pending;
    this.#counts.skipped = Math.max(this.#counts.skipped, skipped);
  }

  async #callees(targets: readonly Found[]): Promise<Step[]> {
    const uses = await this.#finder.by(targets);
    this.#count(uses);
    const own = new Set(targets.map(symbolId));
    return uses.edges.filter(({ to }) => !own.has(symbolId(to))).map((edge) => ({ ...edge, distance: 1 }));
  }

  /** Breadth first against the direction of the uses. */
  async #reach(targets: readonly Found[], depth = DEPTH[this.#tool]): Promise<Step[]> {
    const steps: Step[] = [];
    const met = new Set(targets.map(symbolId));
    let wave: readonly Found[] = targets;
    for (let distance = 1; distance <= depth && wave.length > 0; distance++) {
      if (distance > 1 && (this.#finder.isLate || steps.length >= MOST_REACHED)) {
        this.#isCut = true;
        break;
      }
      const uses = await this.#finder.of(this.#widened(wave));
      this.#count(uses);
      const fresh = uses.edges.filter(({ from }) => from === undefined || !met.has(symbolId(from)));
      steps.push(...fresh.map((edge) => ({ ...edge, distance })));
      const next = new Map(fresh.flatMap(({ from }) => (from ? [[symbolId(from), from] as const] : [])));
      for (const id of next.keys()) met.add(id);
      wave = [...next.values()];
    }
    return steps;
  }

  /** A constructor is used by the name of its class. */
  #widened(wave: readonly Found[]): Found[] {
    return wave.flatMap((found) => {
      const { definition, file } = found;
      const language = this.#index.languages.of(file);
      const facts = language && this.#index.structures.known(file, language)?.facts;
      if (!facts || definition.container === undefined || !CONSTRUCTORS.has(definition.name)) return [found];
      const owners = facts.definitions.filter(
        (each) => isClass(each) && each.line <= definition.line && definition.endLine <= each.endLine,
      );
      return [found, ...owners.slice(-1).map((owner) => ({ file, definition: owner }))];
    });
  }

  /** Undefined: it is no test, and tests are asked for. */
  async #told({ from, path, lines, to, relation, isSure, distance }: Step): Promise<RelatedSymbol | undefined> {
    const isBack = this.#tool !== 'get_callees';
    const shown = isBack ? from : to;
    const [first = 1] = lines;
    const common = {
      relation,
      confidence: isSure ? ('exact' as const) : ('likely' as const),
      lines,
      of: symbolId(isBack || !from ? to : from),
      distance,
    };
    if (this.#tool === 'get_tests' && !isTestFile(path)) return undefined;
    if (shown) {
      const { definition, file } = shown;
      if (this.#tool === 'get_tests' && !isTestName(file.path, definition.name)) return undefined;
      const { name, kind, line, signature } = definition;
      return { id: symbolId(shown), name, symbol_type: kind, file_path: file.path, line, signature, ...common };
    }
    const source = await this.#sources.of(path);
    const title =
      source && isTestFile(path) ? titleAt(source.text, source.lines.index({ line: first, column: 0 })) : undefined;
    const name = title ?? path.slice(path.lastIndexOf('/') + 1);
    return { id: path, name, symbol_type: 'module', file_path: path, line: first, signature: '', ...common };
  }
}

/** Why the same question may soon be answered better. */
function lateNote(files: number, isCut: boolean): string | undefined {
  if (isCut) return 'There is more than was followed in time: ask again, or with a smaller `depth`.';
  return files === 0
    ? undefined
    : `${files} files were not looked at in time: ask again, or with \`require: complete\`.`;
}

function inOrder(one: RelatedSymbol, other: RelatedSymbol): number {
  const byPath = one.file_path < other.file_path ? -1 : Number(one.file_path > other.file_path);
  return one.distance - other.distance || byPath || one.line - other.line || (one.of < other.of ? -1 : 1);
}
