import { withoutEnd } from '../../../base/without-end.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import { candidatesFor, definedHere, type Found, parseMissing } from './definitions.ts';

/** A name as people write it, in parts: `Cart.total()` is `total` of `Cart`. */
export interface WrittenName {
  name: string;
  /** What stands before the name, outermost first: classes, modules, packages, folders. */
  owners: readonly string[];
}

/** `a.b`, `a::b`, `a#b`, `a->b`, `a?.b`, `a/b`, `a\b`. */
const JOINTS = /\?\.|::|->|[.#/\\]/;
const KEYWORD =
  /^(?:(?:export|default|public|private|protected|static|async|const|let|var|class|def|function|func|fn|fun|struct|interface|trait|type|enum)\s+)+/;
/** They say that the name is a member, not of what. */
const OWN = new Set(['this', 'self', 'cls', 'super', 'Self', 'crate', 'static', 'parent', 'prototype', '$this', '']);
const MOST_SHOWN = 80;

/** What is meant, and, when a definition has exactly this name however odd it is, that. */
export async function nameIn(index: CodeIndex, view: View, text: string): Promise<WrittenName> {
  const written = readName(text) ?? nameInFile(view, text);
  const isPlain = written?.name === text;
  // Whether something has the odd name shows only once the files are parsed that hold its word.
  if (written && !isPlain) await parseMissing(index, candidatesFor(index, view, written.name).files);
  if (!isPlain && definedHere(index, view, text).length > 0) return { name: text, owners: [] };
  if (written) return written;
  const shown = JSON.stringify(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
  const advice = 'Give one name, alone or behind its class or module: total, Cart.total, cart::total.';
  const otherwise = '`code_search` finds words, `explore_code` answers questions.';
  throw new ReefError('bad_arguments', `name: ${shown} is not a name. ${advice} ${otherwise}`, {
    details: { field: 'name' },
  });
}

/** A name behind a path with blanks: words before a name are no path, so there must be such a file. */
function nameInFile(view: View, text: string): WrittenName | undefined {
  const [, path = '', inFile = ''] = /^\s*(\S.*?\.[a-z]{1,4})(?:#|::?)(\S+)$/.exec(text) ?? [];
  const name = readName(inFile);
  const isFile = name && view.paths.some((each) => each === path || each.endsWith(`/${path}`));
  return isFile ? { ...name, owners: [...path.replace(/\.[a-z]+$/, '').split('/'), ...name.owners] } : undefined;
}

/** Undefined: the text is no name, but words or nothing. */
export function readName(text: string): WrittenName | undefined {
  const bare = withoutEnd(text.trim().replace(/^[`'"]+/, ''), '`\'";')
    .replace(KEYWORD, '')
    .replace(/:\d+$/, '')
    .replace(/\([^()]*\)$/, '')
    .trimEnd()
    .replace(/(?<=\w)<[^<>]*>/g, '');
  const [, file, inFile] = /^(\S+)\.[a-z]{1,4}(?:#|::?)(\S+)$/.exec(bare) ?? [];
  const [, before = '', operator] = /^(\S*?)(\boperator\b.*)$/.exec(inFile ?? bare) ?? [];
  const parts = (operator === undefined ? (inFile ?? bare) : before).split(JOINTS);
  const all = [...(file?.split('/') ?? []), ...parts, ...(operator === undefined ? [] : [operator])];
  const said = all.filter((part) => !OWN.has(part));
  const name = said.pop() ?? '';
  if (!/[\p{L}\p{N}_$]/u.test(name) || (operator === undefined && /\s/.test(bare))) return undefined;
  return { name, owners: said };
}

/** Those of the definitions that the owners fit: right beside the name if there are such, otherwise further out. */
export function ownedBy(found: readonly Found[], owners: readonly string[]): readonly Found[] {
  if (owners.length === 0) return found;
  const scoped = found.map((each) => ({ each, scope: scopeOf(each) }));
  const beside = scoped.filter(({ scope }) => owners.every((owner, at) => scope.at(at - owners.length) === owner));
  const within = beside.length > 0 ? beside : scoped.filter(({ scope }) => isWithin(owners, scope));
  return within.map(({ each }) => each);
}

/** What stands around a definition, outermost first. */
function scopeOf({ file, definition }: Found): string[] {
  const parts = file.path.replace(/(\.d)?\.[^./]+$/, '').split('/');
  // A file of such a name only stands for its folder.
  if (parts.length > 1 && /^(__init__|index|mod|lib)$/.test(parts.at(-1) ?? '')) parts.pop();
  return [...parts, ...(definition.container?.split('.') ?? [])];
}

/** The owners in their order, with anything between. */
function isWithin(owners: readonly string[], scope: readonly string[]): boolean {
  let met = 0;
  for (const part of scope) if (part === owners[met]) met += 1;
  return met === owners.length;
}

/** Why the answer is about more than what was asked for. */
export function notOwned({ name, owners }: WrittenName): string {
  return `No ${name} belongs to ${owners.join('.')}, so this is about everything called ${name}.`;
}
