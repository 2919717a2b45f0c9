import type { Definition, FileFacts, Skipped } from './contract.ts';

/** A definition with all its fields on one line: kind, container, name, range, visibility, signature. */
function definitionRow(one: Definition): string {
  const where = `${one.line}:${one.column}-${one.endLine}:${one.endColumn}`;
  const name = one.container === undefined ? one.name : `${one.container} > ${one.name}`;
  return `${where} ${one.exported ? 'exported ' : ''}${one.kind} ${name} | ${one.signature}`;
}

/** Whole facts, nothing left out, in a form a reader can check against the source. */
export function factRows(facts: FileFacts | Skipped): string[] {
  if ('skipped' in facts) return [`skipped: ${facts.skipped}`];
  const names = ({ name, alias }: { name: string; alias?: string }) =>
    alias === undefined ? name : `${name} as ${alias}`;
  return [
    ...facts.definitions.map(definitionRow),
    ...facts.imports.map((one) => `${one.line} import ${one.source} {${one.names.map(names).join(', ')}}`),
    ...(facts.partial ? ['partial'] : []),
  ];
}
