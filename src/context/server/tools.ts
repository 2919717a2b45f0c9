import { lazily } from '../../base/lazily.ts';
import { Limiter } from '../../base/serial.ts';
import {
  type CodeToolArgs,
  type CodeToolName,
  type CodeToolResult,
  codeTools,
  type OutlineSymbol,
} from '../../protocol/code.ts';
import { errorTable } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { CodeIndex } from '../code-index/code-index.ts';
import { Classifier } from '../code-index/query/classifier.ts';
import { KeptClasses } from '../code-index/query/kept-classes.ts';
import { NameList } from '../code-index/query/name-list.ts';
import { directoryOutline, fileOutline } from '../code-index/query/outlines.ts';
import { Pager } from '../code-index/query/paging.ts';
import type { RepoGraph } from '../code-index/query/repo-graph.ts';
import type { SureUses } from '../code-index/relations/hops.ts';
import type { RelationTool } from '../code-index/relations/relations.ts';

const DEADLINE_MS = 20_000;
/** A scan holds all it has found, perhaps 200,000 places, and one thread reads for all scans. */
const SCANS_AT_ONCE = 2;
/** Time to refuse before the caller gives up by itself. */
const MARGIN_MS = 1_000;

interface CallResult {
  content: { type: 'text'; text: string }[];
  structuredContent: object;
  isError?: true;
}

type Tools = {
  [N in CodeToolName]: (
    args: CodeToolArgs<N>,
    waits: { ms: number | undefined; signal: AbortSignal },
  ) => Promise<CodeToolResult<N>>;
};

interface ToolSetOptions {
  open: () => Promise<CodeIndex>;
  workers: number;
  /** How long to wait for an answer that must be complete. */
  deadlineMs?: number;
}

export class ToolSet {
  readonly #options: ToolSetOptions;
  /** Opened at the first call, because a server must answer `initialize` at once. */
  readonly #opened = lazily(() => this.#open());

  constructor(options: ToolSetOptions) {
    this.#options = options;
  }

  async #open() {
    const index = await this.#options.open();
    const classifier = new Classifier(
      index.parser,
      this.#options.workers + 1,
      new KeptClasses(index.store, (language) => index.languages.extractor(language)),
    );
    const pager = new Pager();
    const scans = new Limiter(SCANS_AT_ONCE);
    const names = new NameList(index.store);
    let graph: Promise<RepoGraph> | undefined;
    let sure: SureUses | undefined;
    const graphOf = () => {
      graph ??= import('../code-index/query/repo-graph.ts').then((module) => new module.RepoGraph(index));
      return graph;
    };
    const relation =
      (tool: RelationTool): Tools['get_impact'] =>
      async (args, waits) => {
        const { related } = await import('../code-index/relations/relations.ts');
        return scans.run(() => related({ index, classifier, pager }, { tool, args }, waits));
      };
    // A warm start loads only what it needs. The rest is loaded with the first question.
    const tools: Tools = {
      index_code: async (args, { signal }) =>
        (await import('../code-index/query/index-code.ts')).indexCode(index, args, signal),
      get_symbol: async (args, { ms }) =>
        (await import('../code-index/query/symbols.ts')).getSymbol({ index, names }, args, ms),
      get_symbol_references: async (args, { ms, signal }) => {
        const { references } = await import('../code-index/query/references.ts');
        return scans.run(() => {
          signal.throwIfAborted();
          return references({ index, classifier, pager }, args, {
            signal,
            ...(ms !== undefined && { classifyMs: ms }),
          });
        });
      },
      get_callers: relation('get_callers'),
      get_callees: relation('get_callees'),
      get_impact: relation('get_impact'),
      get_tests: relation('get_tests'),
      find_symbols: async (args) =>
        (await import('../code-index/query/symbols.ts')).findSymbols({ index, names }, args),
      code_search: async (args) => (await import('../code-index/query/search.ts')).codeSearch(index, args),
      get_file_outline: (args) => fileOutline(index, args),
      get_directory_outline: (args, { ms }) => directoryOutline({ index, pager }, args, ms),
      get_hops: async (args, { ms }) => {
        const { hops, SureUses } = await import('../code-index/relations/hops.ts');
        sure ??= new SureUses(index);
        return hops({ index, graph: await graphOf(), sure }, args, ms);
      },
      explore_code: async (args, { ms }) => {
        const { explore } = await import('../code-index/explore/explore.ts');
        return explore({ index, graph: await graphOf() }, args, { parseMs: ms });
      },
    };
    const shrink = (what: 'cheap' | 'all') => {
      index.shrink();
      classifier.forget();
      names.unload();
      sure?.forget();
      if (what === 'all') void graph?.then((made) => made.unload());
    };
    const rest = () => classifier.rest() || index.pendingStructures > 0;
    return { index, tools, shrink, rest };
  }

  async call(name: string, args: unknown, signal: AbortSignal): Promise<CallResult> {
    try {
      if (!isTool(name))
        throw new ReefError('bad_arguments', `name: there is no tool ${JSON.stringify(name.slice(0, 100))}.`);
      const result = await this.#answer(name, parseArgs(name, args), signal);
      return { content: [{ type: 'text', text: textOf(name, result) }], structuredContent: result };
    } catch (error) {
      signal.throwIfAborted();
      return refusal(error);
    }
  }

  /** With `require: 'complete'` it waits for pending work and asks again, until the deadline. */
  async #answer<N extends CodeToolName>(
    name: N,
    args: CodeToolArgs<N>,
    signal: AbortSignal,
  ): Promise<CodeToolResult<N>> {
    const { index, tools } = await this.#opened.get();
    const mustBeComplete = args.require === 'complete';
    const end = performance.now() + (this.#options.deadlineMs ?? DEADLINE_MS - MARGIN_MS);
    for (;;) {
      const left = Math.max(0, end - performance.now());
      const result = await tools[name](args, { ms: mustBeComplete ? left : undefined, signal });
      const { complete, pending } = result.basis;
      // Skipped files never come, so waiting for them is useless.
      if (!mustBeComplete || complete || (pending === 0 && name !== 'find_symbols')) return result;
      if (performance.now() >= end) {
        throw new ReefError('index_incomplete', `${pending} files of this question are still to be read.`, {
          details: { pending },
        });
      }
      await index.until(() => index.pendingWords + index.pendingStructures === 0, { signal, ms: Math.min(left, 200) });
    }
  }

  /** Reads files again after a watch saw them change, before anybody asks. */
  async changed(paths: readonly string[]): Promise<void> {
    const { index } = (await this.#opened.made()) ?? {};
    if (!index) return;
    for (const path of paths) {
      // A watch reports any name. Only files of the map are read.
      const file = index.tree.files.has(path) ? index.tree.refresh(path) : undefined;
      const language = file && index.languages.of(file);
      if (file && language) await index.structures.of(file, language);
    }
    index.start();
  }

  /** Who wrote these files says so: unlike a watch it is right about files that are new. */
  async announced(paths: readonly string[]): Promise<void> {
    const { index } = (await this.#opened.made()) ?? {};
    if (!index) return;
    const isKnown = paths.length > 0 && paths.every((path) => index.tree.files.has(path));
    if (!isKnown) await index.view(); // only git knows whether a new file is ignored
    await this.changed(paths);
  }

  /** Stops the work nobody waits for. Returns whether the parser is still needed. */
  async rest(): Promise<boolean> {
    return (await this.#opened.made())?.rest() ?? false;
  }

  async shrink(what: 'cheap' | 'all'): Promise<void> {
    (await this.#opened.made())?.shrink(what);
  }

  async close(): Promise<void> {
    const opened = await this.#opened.made()?.catch(() => undefined);
    await opened?.index.close();
  }
}

function isTool(name: string): name is CodeToolName {
  return Object.hasOwn(codeTools, name);
}

function parseArgs<N extends CodeToolName>(name: N, args: unknown): CodeToolArgs<N> {
  const parsed = codeTools[name].input.safeParse(args ?? {});
  if (parsed.success) return parsed.data as CodeToolArgs<N>;
  const fields = parsed.error.issues.map((issue) => ({ field: issue.path.join('.'), message: issue.message }));
  const sentence = fields.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join('; ');
  throw new ReefError('bad_arguments', `${name}: ${sentence}`, { details: { fields } });
}

function refusal(error: unknown): CallResult {
  const { code, message, details } = error instanceof ReefError ? error : new ReefError('internal', String(error));
  const { hint, retryable } = errorTable[code];
  const body = { error: { code, message, hint, retryable, ...(details && { details }) } };
  return { isError: true, content: [{ type: 'text', text: `${code}: ${message} ${hint}` }], structuredContent: body };
}

/** For a model that reads only text: outlines as an indented list, everything else as JSON. */
function textOf<N extends CodeToolName>(name: N, result: CodeToolResult<N>): string {
  if (name === 'get_file_outline') return outlineText(result as CodeToolResult<'get_file_outline'>);
  if (name === 'get_directory_outline') return directoryText(result as CodeToolResult<'get_directory_outline'>);
  return JSON.stringify(result);
}

function outlineText({ file_path, symbols, note, basis }: CodeToolResult<'get_file_outline'>): string {
  const head = `${file_path}${basis.complete ? '' : ' (incomplete)'}`;
  return [head, ...symbols.map(symbolLine), ...(note === undefined ? [] : [note])].join('\n');
}

function directoryText({ files, summary, next_cursor, basis }: CodeToolResult<'get_directory_outline'>): string {
  const listed = files.flatMap(({ file_path, symbols }) => [file_path, ...symbols.map(symbolLine)]);
  const more = next_cursor === undefined ? [] : [`more: cursor ${next_cursor}`];
  return [`${summary}${basis.complete ? '' : ' (incomplete)'}`, ...listed, ...more].join('\n');
}

function symbolLine({ symbol_type, line, signature, name, container }: OutlineSymbol): string {
  const depth = container === undefined ? 1 : 1 + container.split('.').length;
  return `${'  '.repeat(depth)}${line} ${symbol_type} ${signature === '' ? name : signature}`;
}
