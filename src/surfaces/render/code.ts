import { printable } from '../../base/printable.ts';
import type { Basis, CodeSymbol, CodeToolResult, OutlineSymbol } from '../../protocol/code.ts';
import type { CodeQuery } from '../../protocol/code-operations.ts';
import type { OperationOutput } from '../../protocol/operations.ts';
import type { Style } from './style.ts';

/** What a field or a tool is called where the answer is read: a person types a flag, an agent fills in a field. */
type Names = (field: string) => string;

interface Look extends Style {
  /** Without it fields and tools keep their names. */
  names?: Names;
}

/** One location per line, and at the end what the answer is based on. */
export function codeAnswer<N extends CodeQuery>(name: N, answer: OperationOutput<N>, look: Look): string {
  const { names = (field) => field } = look;
  const lines = WORDS[name](answer, look, names);
  const { basis, note } = answer as { basis: Basis; note?: string };
  const told = note === undefined ? [] : [namedIn(note, names)];
  return [...(lines.length > 0 ? lines : ['nothing found']), ...told, look.paint('dim', basisWords(basis))]
    .map(printable)
    .join('\n');
}

/** A text of the server names fields and tools in backticks. */
export function namedIn(text: string, names: Names): string {
  return text.replaceAll(/`([a-z_]+(?:: complete)?)`/g, (_, field: string) => names(field));
}

function basisWords({ stage, complete, pending, skipped, dirtyFiles, head, engine }: Basis): string {
  if (engine === 'foreign') return 'completeness unknown: the configured server does not report it';
  const state = complete ? 'complete' : `not complete${pending > 0 ? `, ${pending} files pending` : ''}`;
  const more = [skipped > 0 ? `${skipped} skipped` : '', dirtyFiles > 0 ? `${dirtyFiles} changed files` : ''];
  return [
    `stage ${stage}, ${state}`,
    ...more.filter(Boolean),
    head === '' ? 'no commit yet' : `at ${head.slice(0, 8)}`,
  ].join(', ');
}

type Words = { [N in CodeQuery]: (answer: OperationOutput<N>, style: Style, names: Names) => string[] };

type Verbs = Record<CodeToolResult<'get_impact'>['related'][number]['relation'], string>;
const USES: Verbs = { call: 'calls', use: 'uses', type: 'has the type' };
const USED_BY: Verbs = { call: 'called by', use: 'used by', type: 'type in' };

/** One line for each, by file, with what says so: `12  charge  calls Cart.total at 14, 20`. */
function relatedLines(verbs: Verbs): Words['get_impact'] {
  return (answer, { paint }, names) => {
    const { related, total_count, unresolved, next_cursor } = answer;
    const lines = related.map(
      ({ file_path, line, name, symbol_type, relation, confidence, of, distance, lines: at }) => {
        const place = paint('cyan', `${file_path}:${line}`);
        const far = distance > 1 ? `, ${distance} steps away` : '';
        const doubt = confidence === 'likely' ? ', likely' : '';
        const other = of.slice(of.indexOf('#') + 1).replace(/:\d+$/, '');
        return `${place}  ${symbol_type}  ${paint('bold', name)}  ${verbs[relation]} ${other}, line ${at.join(', ')}${doubt}${far}`;
      },
    );
    const more =
      next_cursor !== undefined &&
      `${related.length} of ${total_count} shown: ${names('cursor')} ${next_cursor} goes on`;
    const open =
      unresolved > 0 &&
      `${unresolved} more uses by name alone: the code does not say what they mean (${names('get_symbol_references')})`;
    return [...lines, ...[more, open].filter((each) => each !== false)];
  };
}

const WORDS: Words = {
  get_file_outline: ({ symbols }) => symbols.map((symbol) => outlineLine(symbol)),
  get_directory_outline: ({ files, summary, next_cursor }, { paint }, names) => [
    ...files.flatMap(({ file_path, symbols }) => [
      paint('bold', file_path),
      ...symbols.map((symbol) => `  ${outlineLine(symbol)}`),
    ]),
    summary,
    ...(next_cursor === undefined ? [] : [`There is more: ${names('cursor')} ${next_cursor} goes on`]),
  ],
  get_symbol: ({ symbols }, style) => symbols.flatMap((symbol) => symbolLines(symbol, style)),
  find_symbols: ({ symbols }, style) => symbols.flatMap((symbol) => symbolLines(symbol, style)),
  get_symbol_references: ({ references, total_count, next_cursor }, { paint }, names) => [
    ...references.map(
      ({ location: { file, start_line }, reference_type, confidence, line_text }) =>
        `${paint('cyan', `${file}:${start_line}`)}  ${reference_type}, ${confidence}  ${line_text.trim()}`,
    ),
    ...(next_cursor === undefined
      ? []
      : [`${references.length} of ${total_count} shown: ${names('cursor')} ${next_cursor} goes on`]),
  ],
  get_callers: relatedLines(USES),
  get_callees: relatedLines(USED_BY),
  get_impact: relatedLines(USES),
  get_tests: relatedLines(USES),
  code_search: ({ results, total_found }, { paint }, names) => [
    ...results.map(({ file_path, line, line_text }) =>
      `${paint('cyan', line === null ? file_path : `${file_path}:${line}`)}  ${line_text.trim()}`.trimEnd(),
    ),
    ...(total_found > results.length
      ? [`${results.length} of ${total_found} files shown: ${names('limit')} shows more`]
      : []),
  ],
  explore_code: ({ slices, map, tokens, left_out }, { paint }, names) => [
    ...slices.flatMap(({ file_path, start_line, end_line, why, text }) => [
      paint('bold', `${file_path}:${start_line}-${end_line}  ${why}`),
      text.trimEnd(),
      '',
    ]),
    ...(map === '' ? [] : [paint('bold', 'map'), map.trimEnd()]),
    ...leftOut(tokens, left_out, names),
  ],
};

/** Places that had no room, the best first. */
const MOST_LEFT_OUT = 8;

function leftOut(tokens: number, places: readonly string[], names: Names): string[] {
  if (places.length === 0) return [`${tokens} tokens`];
  const more = places.length - MOST_LEFT_OUT;
  return [
    `${tokens} tokens; left out: ${places.slice(0, MOST_LEFT_OUT).join(', ')}`,
    ...(more > 0 ? [`and ${more} more places: a larger ${names('budget_tokens')} shows more`] : []),
  ];
}

function outlineLine({ line, symbol_type, signature, container }: OutlineSymbol): string {
  return `${String(line ?? '').padStart(5)}  ${symbol_type}  ${container === undefined ? '' : `${container}.`}${signature}`;
}

function symbolLines(
  { symbol_type, namespace, location: { file, start_line }, signature, source }: CodeSymbol,
  { paint }: Style,
): string[] {
  const kind = namespace === null ? symbol_type : `${symbol_type} of ${namespace}`;
  const head = `${paint('cyan', `${file}:${start_line}`)}  ${kind}  ${signature}`;
  return source === undefined ? [head] : [head, source.trimEnd(), ''];
}

export function indexReport(report: OperationOutput<'code_index'>): string {
  const { files_indexed, symbols_found, reused, pending, duration_ms, errors, basis } = report;
  return [
    `${files_indexed} files, ${symbols_found} definitions, ${reused} reused, ${pending} pending, ${Math.round(duration_ms)} ms`,
    ...errors.map((error) => `  ${printable(error)}`),
    basisWords(basis),
  ].join('\n');
}
