import type { Language } from './contract.ts';

/** Replaces what the grammar cannot read by something of the same length, so every character keeps its position. */
export function readableText(text: string, language: Language): string {
  if (language === 'bash') return plainExpansions(text);
  return language === 'kotlin' ? endMembers(text) : blankMacros(text, language);
}

/**
 * The grammar of C knows no macros: `class API Cart {`, `SQLITE_API int f(void);` or `void f() LOCKS_REQUIRED(m);` are errors to it
 * that swallow what follows. Such a macro says nothing about structure, so the parser gets spaces instead. Names and signatures
 * are cut from the true text.
 */
function blankMacros(text: string, language: Language): string {
  if (language !== 'c' && language !== 'cpp' && language !== 'objc') return text;
  const rules = language === 'objc' ? [...C_FAMILY, ...OBJC] : C_FAMILY;
  const plain = language === 'objc' ? rewriteCalls(text) : text;
  const blanked = rules.reduce((source, rule) => source.replace(rule, blank), plain);
  const guarded = blanked.replace(GUARDED, (...found) => blankGuard(found, blanked));
  return language === 'objc' ? guarded.replace(NS_ENUM, asEnum) : guarded;
}

/*
 * Every repetition below is bounded and no two neighbours match the same character, so that no file makes a pattern slow. A rule
 * keeps its first group and turns the rest into spaces.
 */
const MACRO = '_{0,4}[A-Z][A-Z0-9_]{1,60}';
const ARGUMENTS = String.raw`\((?:[^()\n]|\([^()\n]{0,100}\)){0,100}\)`;
const MACROS = String.raw`(?:${MACRO}(?:${ARGUMENTS})?[ \t]{1,9}){0,3}${MACRO}(?:${ARGUMENTS})?`;
/** With an underscore: `URL` in `(NSURL *)URL;` is a name. */
const GUARD = `(?=[A-Z0-9]{0,30}_)${MACRO}(?:${ARGUMENTS})?`;

const C_FAMILY: readonly RegExp[] = [
  /()\b(?:__cdecl|__stdcall|__fastcall|__thiscall|_Nullable|_Nonnull|__nullable|__nonnull)\b/g,
  // `extern "C" {` for C++ alone, and the brace that ends it
  /(^[ \t]{0,9}#[ \t]{0,9}if(?:def[ \t]{1,9}|[ \t]{1,9}defined[ \t(]{0,9})__cplusplus[^\n]{0,80}\n\s{0,40})(?:extern[ \t]{1,9}"C"[ \t]{0,9}\{|\})/gm,
  // `class API Cart final : …`: the macro stands between the keyword and the name
  new RegExp(
    String.raw`\b((?:class|struct|union|enum)[ \t]{1,9})${MACROS}(?=[ \t]{1,9}[A-Za-z_]\w{0,80}(?:[ \t]{1,9}final)?\s{0,9}[:{<])`,
    'g',
  ),
  // `API const char *name(`: macros before a type and a name; a type alone is followed by the name at once
  new RegExp(
    String.raw`^([ \t]{0,40}(?:extern[ \t]{1,9}|static[ \t]{1,9})?)${MACROS}(?=[ \t]{1,9}(?:[A-Za-z_][\w:<>,]{0,80}[ \t*&]{1,30}){1,6}[A-Za-z_~]\w{0,80}[ \t]{0,9}[(;=[])`,
    'gm',
  ),
  // `typedef int (CALLTYPE *name)(`
  new RegExp(String.raw`(\([ \t]{0,9})${MACRO}(?=[ \t]{0,9}\*[ \t]{0,9}\w{1,80}[ \t]{0,9}\)[ \t]{0,9}\()`, 'g'),
];

/** `int f(int a) const GUARDED_BY(m);`: macros after the parameters. */
const GUARDED = new RegExp(
  String.raw`(\)\s{0,40}(?:(?:const|override|final|noexcept)\s{1,9}){0,3})${GUARD}(?:[ \t]{1,9}${GUARD}){0,3}(?=\s{0,40}[;{])`,
  'g',
);

const OBJC: readonly RegExp[] = [
  /()\b__deprecated_msg\("[^"\n]{0,200}"\)/g,
  // `} NS_SWIFT_NAME(Color);`
  new RegExp(String.raw`^([ \t]{0,40}\}[ \t]{0,9})${MACRO}${ARGUMENTS}(?=[ \t]{0,9};)`, 'gm'),
  // alone on the line before an `@interface`
  new RegExp(String.raw`^()[ \t]{0,40}${MACRO}(?:${ARGUMENTS})?[ \t]{0,9}$(?=\s{1,40}(?:@|NS_|typedef|#|/[/*]))`, 'gm'),
  // behind a method or property: `- (void)save NS_UNAVAILABLE;`
  new RegExp(
    String.raw`^([ \t]{0,40}(?:[-+]|@property)[^;{\n]{0,300}?[ \t])(?:${MACRO}|__attribute__)(?:[ \t]{0,9}\([^;\n]{0,200}\))?(?=[ \t]{0,9};)`,
    'gm',
  ),
  new RegExp(String.raw`^([ \t]{0,40}[-+][^;{\n]{0,300}?[ \t])${GUARD}(?=\s{0,9}\{)`, 'gm'),
];

/** A macro call in the place of an Objective-C declaration: at the start of a line, with an underscore in its name. */
const CALL = /^[ \t]{0,9}([A-Z][A-Z0-9]{0,30}_[A-Z0-9_]{1,60})[ \t]{0,9}\(/gm;
const MOST_ARGUMENTS = 16_000;

/** `RCT_EXPORT_METHOD(add:(Item *)item) {` becomes a method. Calls that define nothing become spaces. Indented ones may be
 * statements and stay. */
function rewriteCalls(text: string): string {
  let read = '';
  let done = 0;
  for (const { index, 0: head, 1: name = '' } of text.matchAll(CALL)) {
    if (index < done || /^(?:NS|CF)_(?:CLOSED_)?(?:ENUM|OPTIONS)$/.test(name)) continue;
    const start = index + head.length;
    const close = closing(text, start);
    const written =
      close === undefined ? text.slice(index, start + MOST_ARGUMENTS) : readCall(text, { index, head, name, close });
    read += text.slice(done, index) + written;
    done = index + written.length; // nothing is read twice: one pass over any file
  }
  return read + text.slice(done);
}

interface Call {
  index: number;
  head: string;
  name: string;
  /** Where its bracket closes. */
  close: number;
}

/** The call with the semicolon after it, as the parser gets it. */
function readCall(text: string, { index, head, name, close }: Call): string {
  const [tail = '', brace] = /^(?:[ \t]{0,9};)?(?=\s{0,40}(\{)?)/.exec(text.slice(close + 1, close + 80)) ?? [];
  const end = close + 1 + tail.length;
  const hasBody = brace === '{';
  const isWhole = hasBody || /^[ \t]{0,9}(?:\n|$)/.test(text.slice(end, end + 10));
  const whole = text.slice(index, end);
  const isMethod = /_METHOD(?:_|$)/.test(name);
  const isIndented = /^\s/.test(head);
  if (!isWhole || (isIndented && !isMethod)) return whole;
  const given = text.slice(index + head.length, close);
  const selector = isMethod || hasBody ? selectorIn(given, isMethod) : undefined;
  if (selector === undefined) return spaces(whole);
  return `-${spaces(head.slice(1))}${selector}${hasBody || tail !== '' ? ' ' : ';'}${tail}`;
}

/** The end of the bracket that opened before `start`. */
function closing(text: string, start: number): number | undefined {
  const end = Math.min(text.length, start + MOST_ARGUMENTS);
  let depth = 1;
  for (let at = start; at < end; at++) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return at;
  }
  return undefined;
}

function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && text[end - 1] === '\\') end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/** A macro of a method has its selector as the last argument, one of a property as the first. */
function selectorIn(given: string, isMethod: boolean): string | undefined {
  const plain = given.replace(/\/\/[^\n]*/g, spaces);
  const comma = isMethod ? plain.lastIndexOf(',') : plain.indexOf(',');
  const selector = isMethod
    ? spaces(plain.slice(0, comma + 1)) + plain.slice(comma + 1)
    : plain.replace(/,[\s\S]*/, spaces);
  return /^\s*[A-Za-z_]\w*\s*(?::|$)/.test(selector) ? selector : undefined;
}

const NS_ENUM =
  /\b(typedef[ \t]{1,9})?((?:NS|CF)_(?:CLOSED_)?(?:ENUM|OPTIONS)[ \t]{0,9}\([^,()\n]{0,80},[ \t]{0,9})(\w{1,80})([ \t]{0,9}\))/g;

function spaces(found: string): string {
  return found.replace(/[^\n]/g, ' ');
}

function blank(found: string, kept: string): string {
  return kept + spaces(found.slice(kept.length));
}

/** A macro after `if (…)` is a statement. */
function blankGuard([found, kept, at]: unknown[], text: string): string {
  const start = text.lastIndexOf('\n', Number(at) - 1) + 1;
  const isStatement = /^\s*(?:if|while|for|switch|else|\}|return|#)/.test(text.slice(start, start + 80));
  return isStatement ? String(found) : blank(String(found), String(kept));
}

/** `typedef NS_ENUM(NSInteger, Color) {` becomes `enum Color {` with the name in its place. */
function asEnum(_found: string, ...parts: (string | undefined)[]): string {
  const [typedef = '', macro = '', name = '', close = ''] = parts;
  return `${spaces(typedef)}${'enum '.padEnd(macro.length)}${name}${spaces(close)}`;
}

const HOLDER = /\b(?:class|object|interface)\b/;
/** After these a body may end without a semicolon. */
const NEEDS_NONE = new Set(['{', ';', ',', '(', '[']);

/** To the grammar `class Cart { val size = 1 }` is an error that swallows the rest, so the blank before the brace becomes `;`. */
function endMembers(text: string): string {
  if (!HOLDER.test(text)) return text;
  return text.split('\n').map(endInLine).join('\n');
}

function endInLine(line: string): string {
  const at = line.search(HOLDER);
  const brace = at === -1 ? -1 : line.indexOf('{', at);
  if (brace === -1) return line;
  const units = line.split('');
  let isInString = false;
  for (let index = brace + 1; index < units.length; index++) {
    const unit = units[index];
    if (unit === '"' && units[index - 1] !== '\\') isInString = !isInString;
    if (unit === '}' && !isInString && isMemberBefore(line, index)) units[index - 1] = ';';
  }
  return units.join('');
}

/** There is a blank for the semicolon, and before it something that the semicolon can end. */
function isMemberBefore(line: string, brace: number): boolean {
  const before = line.slice(Math.max(0, brace - 80), brace);
  const member = before.trimEnd();
  const last = member.at(-1) ?? '{';
  return member.length < before.length && !NEEDS_NONE.has(last) && !member.endsWith('->');
}

/**
 * The grammar takes five constructs of Bash for errors, which swallow everything up to the next matching quote or brace. They say
 * nothing about structure, so the parser gets something plainer of the same length. Every repetition is bounded, so that no file
 * makes a rule slow.
 */
function plainExpansions(text: string): string {
  return text
    .replace(PATTERN, plainQuoted)
    .replace(COMPARED, plainQuoted)
    .replace(SUBSCRIPT, '$1 $2 ')
    .replace(GROUP, '   ')
    .replace(SLICE, (found) => found.replaceAll(':$', ': '));
}

/** Without `$` and backquotes: between double quotes they are code even in single quotes. */
const QUOTED = "'[^'\"$`\\n]{0,200}'";
const VARIABLE = String.raw`\$\{!?\w{1,80}(?:\[[^\]\n]{0,80}\])?`;
/** `${theme/ '[GTK2/3]'}`: a quoted `/` or `}` does not end the pattern. */
const PATTERN = new RegExp(String.raw`${VARIABLE}[/#%]{1,2}(?:[^'"}\\\n]{0,80}${QUOTED}){1,8}`, 'g');
/** `[[ $x = '( '* ]]` */
const COMPARED = new RegExp(String.raw`[ \t][=!]?=[ \t]{1,9}${QUOTED}`, 'g');
/** `${list[($at - 1)]}` */
const SUBSCRIPT = /(\$\{!?\w{1,80}\[)\(([^()\]\n]{0,80})\)(?=\])/g;
/** `[ \( -d a -o -d b \) ]` */
const GROUP = /[ \t]\\[()](?=\s)/g;
/** `${word:$from:$length}` */
const SLICE = new RegExp(String.raw`${VARIABLE}:\$\w{1,80}(?::\$\w{1,80})?(?=[:}])`, 'g');

function plainQuoted(found: string): string {
  return found.replace(/\$?'([^']*)'/g, (quoted, inside: string) =>
    `'${inside.replace(/\W/g, '_')}'`.padStart(quoted.length, '_'),
  );
}
