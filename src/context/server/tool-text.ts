import type { CodeToolName, CodeToolResult, OutlineSymbol } from '../../protocol/code.ts';

/** What a model reads that looks only at text: outlines as an indented list, everything else as its JSON. */
export function textOf<N extends CodeToolName>(name: N, result: CodeToolResult<N>): string {
  if (name === 'get_file_outline') return outlineText(result as CodeToolResult<'get_file_outline'>);
  if (name === 'get_directory_outline') return directoryText(result as CodeToolResult<'get_directory_outline'>);
  return JSON.stringify(result);
}

function outlineText({ file_path, symbols, basis }: CodeToolResult<'get_file_outline'>): string {
  return [`${file_path}${basis.complete ? '' : ' (incomplete)'}`, ...symbols.map(symbolLine)].join('\n');
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
