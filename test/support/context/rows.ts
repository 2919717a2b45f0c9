import type { Definition, FileFacts, PackedFacts, Skipped } from '../../../src/context/lang/contract.ts';
import { unpackFacts } from '../../../src/context/lang/pack-facts.ts';

/** A definition with all its fields on one line: kind, container, name, range, visibility, signature. */
function definitionRow(one: Definition): string {
  const where = `${one.line}:${one.column}-${one.endLine}:${one.endColumn}`;
  const name = one.container === undefined ? one.name : `${one.container} > ${one.name}`;
  return `${where} ${one.exported ? 'exported ' : ''}${one.kind} ${name} | ${one.signature}`;
}

export function readFacts({ data }: PackedFacts): FileFacts {
  const facts = unpackFacts(data);
  if (facts === undefined) throw new Error('not facts');
  return facts;
}

/** Whole facts, nothing left out, in a form a reader can check against the source. */
export function factRows(answer: PackedFacts | Skipped): string[] {
  if ('skipped' in answer) return [`skipped: ${answer.skipped}`];
  const facts = readFacts(answer);
  const names = ({ name, alias }: { name: string; alias?: string }) =>
    alias === undefined ? name : `${name} as ${alias}`;
  return [
    ...facts.definitions.map(definitionRow),
    ...facts.imports.map((one) => `${one.line} import ${one.source} {${one.names.map(names).join(', ')}}`),
    ...(facts.partial ? ['partial'] : []),
  ];
}
