import type { Definition, Language } from '../../src/context/lang/contract.ts';
import type { Tag } from './ctags.ts';
import type { SwcReferee } from './swc-referee.ts';

export interface Around {
  lines: readonly string[];
  language: Language;
  referee: SwcReferee | undefined;
  /** By index of the text, for Bash. */
  isCode: ((index: number) => boolean) | undefined;
}

const RESERVED = new Set(
  `if else for while do switch case try catch finally return throw new typeof instanceof extends implements from in of as is
   lock using foreach fixed unsafe checked synchronized function class super this with yield await sizeof delete var let
   const static get set`.split(/\s+/),
);

const SLACK = 2;

/** What a rule looks at: the tag, its line, its name made safe for a pattern. */
interface Seen extends Around {
  tag: Tag;
  line: string;
  /** The lines around it too. */
  near: string;
  word: string;
  name: string;
}

type Rule = [reason: string, applies: (seen: Seen) => boolean];

const isCaps = (word: string) => /^[A-Z][A-Z0-9_]+$/.test(word);
const has = (text: string, pattern: string) => new RegExp(pattern).test(text);
const within =
  (languages: readonly Language[], applies: Rule[1]): Rule[1] =>
  (seen) =>
    languages.includes(seen.language) && applies(seen);

/** Errors of universal-ctags 5.9, each told by the text it stands in. The first that applies is the reason. */
const CTAGS_ERRORS: readonly Rule[] = [
  ['ctags names the nameless', ({ tag }) => /^__anon|<lambda>|^[Aa]nonymous|^\(anonymous/.test(tag.name)],
  ['ctags takes a keyword for a name', ({ tag }) => RESERVED.has(tag.name)],
  [
    'ctags only: swc sees no declaration there',
    ({ referee, tag, word }) => referee !== undefined && !referee.declares(word, tag.line, SLACK),
  ],
  [
    'ctags takes an object creation for a method',
    within(['java', 'csharp', 'cpp'], ({ near, name }) => has(near, `\\bnew\\s+[\\w.]*${name}\\s*(<[^>]*>)?\\s*\\(`)),
  ],
  ['ctags takes a call for a method', within(['java', 'kotlin', 'csharp'], ({ tag }) => tag.name.includes('.'))],
  [
    'ctags takes a call for a method',
    within(['java'], ({ line, name }) => has(line, `^\\s*${name}\\(.*\\)[^{]*;$|\\(${name}\\(\\)`)),
  ],
  ['ctags names the nameless', within(['kotlin'], ({ tag }) => tag.name === 'Companion')],
  [
    'ctags takes a parameter or call for a method',
    within(['kotlin'], ({ line, name }) => !has(line, `\\b(fun|class|interface|object|typealias)\\b.*${name}`)),
  ],
  ['ctags takes an array for a function', within(['bash'], ({ tag }) => tag.name.includes('='))],
  [
    'ctags reads a string',
    within(['bash'], ({ tag, lines, line, word, isCode }) => {
      const start = lines.slice(0, tag.line - 1).reduce((sum, above) => sum + above.length + 1, 0);
      return isCode?.(start + line.indexOf(word)) === false;
    }),
  ],
  ['ctags takes a call for a declaration', within(['c', 'cpp'], ({ line }) => /^\s*static_assert\(/.test(line))],
  [
    'ctags takes a macro call for a declaration',
    within(['c', 'cpp', 'objc'], ({ tag, word, line, name }) => {
      return isCaps(word) && tag.kind !== 'macro' && has(line, `(^|[)\\s])${name}\\s*\\(`);
    }),
  ],
  [
    'ctags takes an attribute macro for a name',
    within(['objc'], ({ tag, word }) => isCaps(word) && tag.kind !== 'macro'),
  ],
  [
    "ctags takes an attribute's argument for a name",
    within(['objc'], ({ line, name }) => has(line, `^\\s*\\}.*\\(${name}\\)`) || /^\s*\};/.test(line)),
  ],
  [
    'ctags takes an attribute for a name',
    within(['objc'], ({ tag }) => /^__attribute__$|^_(Nonnull|Nullable)|^__deprecated|^__[A-Z_]+$/.test(tag.name)),
  ],
  [
    "ctags reads a macro's body",
    within(['objc', 'c', 'cpp'], ({ tag, line }) => /\\\s*$/.test(line) && tag.kind !== 'macro'),
  ],
  [
    "ctags reads a macro's body",
    within(['objc'], ({ tag, lines }) => {
      // of the last method in it, which ctags ends where the next name stands
      const above = lines.slice(Math.max(0, tag.line - 12), tag.line).join('\n');
      return has(above, `\\\\\n\\s*[-+]\\s*\\([^)]*\\)\\s*\\w*##`);
    }),
  ],
  [
    'ctags takes a heading for a method',
    within(['objc'], ({ tag, lines, name }) => {
      const above = lines.slice(Math.max(0, tag.line - 12), tag.line).join('\n');
      return has(above, `#pragma mark -\\s*(\\w+\\s+)*${name}\\b`);
    }),
  ],
  [
    'ctags takes the type of a pointer to a function for its name',
    within(['objc'], ({ line, name }) => has(line, `\\b${name}\\s*\\*\\s*\\(\\s*\\*`)),
  ],
  [
    'a forward declaration',
    within(['objc'], ({ tag, line }) => tag.kind === 'protocol' && /^\s*@protocol\s[^{]*;/.test(line)),
  ],
  [
    "ctags takes a block type's parameter for its name",
    within(['objc'], ({ tag, line, name }) => {
      const isLast = has(line, `^[^(^]*\\b${name}\\);`); // of parameters on lines of their own
      return tag.kind === 'typedef' && (isLast || /\(\s*\^\s*\w+\s*\)/.test(line)) && !has(line, `\\^\\s*${name}\\b`);
    }),
  ],
];

/** Why ctags has a name we have not. Empty: a miss of ours. */
export function explainMissing(tag: Tag, around: Around): string {
  const near = around.lines.slice(Math.max(0, tag.line - 1 - SLACK), tag.line + SLACK).join('\n');
  const word = wordOf(tag.name);
  const seen = { ...around, tag, near, line: around.lines[tag.line - 1] ?? '', word, name: quote(word) };
  return CTAGS_ERRORS.find(([, applies]) => applies(seen))?.[0] ?? '';
}

/** How a language declares, by its own keywords: proof by text that a definition ctags lacks is one. */
const WITNESS: Partial<Record<Language, (name: string) => RegExp>> = {
  go: (name) =>
    new RegExp(
      `\\b(func|type)\\b[^{]*\\b${name}\\b|\\b${name}\\b[^={]*(=|:=)\\s*func\\b|^\\s*${name}\\s*(struct|interface|func|\\[|=|\\w)|^\\s*${name}\\(`,
    ),
  rust: (name) =>
    new RegExp(
      `\\b(fn|struct|enum|trait|type|union)\\s+(r#)?${name}\\b|macro_rules!\\s*${name}\\b|\\blet\\s+(mut\\s+)?${name}\\b[^=]*=\\s*(move\\s*)?\\|`,
    ),
  python: (name) => new RegExp(`\\b(def|class|type)\\s+${name}\\b|\\b${name}\\b[^=]*=\\s*lambda\\b`),
  java: (name) =>
    new RegExp(
      `\\b(class|interface|enum|record)\\s+${name}\\b|[\\w>\\]]\\s+${name}\\s*\\(|^\\s*${name}\\s*\\(|\\b${name}\\s*=.*->`,
    ),
  kotlin: (name) =>
    new RegExp(
      `\\b(fun|class|interface|object|typealias)\\b.*\\b${name}\\b|\\b(val|var)\\s+${name}\\b.*=\\s*(\\{|fun)`,
    ),
  c: (name) => cFamily(name),
  cpp: (name) => cFamily(name),
  objc: (name) =>
    new RegExp(
      `^\\s*[-+]\\s*(\\([^)]*\\))?\\s*${name}\\b|^\\s*[A-Z]+_[A-Z_]+\\(([\\w *]+,\\s*)?${name}\\b|\\^\\s*${name}\\)\\(|@(interface|implementation|protocol)\\s+${name}\\b|${cFamily(name).source}`,
      'm',
    ),
  csharp: (name) =>
    new RegExp(
      `\\b(class|interface|enum|struct|record|delegate)\\b.*\\b${name}\\b|[\\w>\\]?]\\s+${name}\\s*(<[^>]*>)?\\s*\\(|operator\\s*${name}|\\b${name}\\s*=.*=>`,
    ),
  php: (name) =>
    new RegExp(
      `\\b(function|class|interface|trait|enum)\\s+&?\\s*${name}\\b|\\$${name}\\s*=\\s*(static\\s+)?(function|fn)\\b`,
    ),
  ruby: (name) =>
    new RegExp(
      `\\b(def|class|module|alias)\\s+(self\\.|\\w+\\.)?${name}|\\b${name}\\s*=\\s*(->|lambda|Struct|Class|Data)`,
    ),
  bash: (name) => new RegExp(`\\b${name}\\s*\\(\\s*\\)|function\\s+${name}\\b`),
};

function cFamily(name: string): RegExp {
  return new RegExp(
    [
      `#\\s*define\\s+${name}\\b`,
      `\\b(class|struct|union|enum|concept)\\b[^;(]*\\b${name}\\b`,
      `\\busing\\s+${name}\\s*=`,
      `\\btypedef\\b[\\s\\S]*\\b${name}\\b`,
      `\\}\\s*\\*?${name}\\s*[;,]`,
      `(^|[\\w>*&~:]\\s*|\\s)~?${name}\\s*(<[^>]*>)?\\s*\\([^;{]*\\)?[^;{]*(\\{|;|$|:)`,
      `operator`,
    ].join('|'),
    'm',
  );
}

/** Why we have a name ctags has not. Empty: a false finding of ours. */
export function explainExtra(definition: Definition, { lines, language, referee }: Around): string {
  const name = wordOf(definition.name);
  if (referee !== undefined) {
    const isKnown = /^\[/.test(definition.name) || referee.declares(name, definition.line, 0);
    return isKnown ? 'ours only: swc sees the declaration' : '';
  }
  const witness = WITNESS[language]?.(quote(name));
  const near = lines.slice(definition.line - 1, definition.line + SLACK).join('\n');
  const isMacroName =
    /^[A-Z][A-Z0-9_]+$/.test(name) && definition.kind !== 'macro' && ['c', 'cpp', 'objc'].includes(language);
  if (isMacroName) return '';
  return witness?.test(near) === true ? 'ours only: the text declares it' : '';
}

function wordOf(name: string): string {
  const last =
    name
      .replace(/^operator\s*(?=\W)/, '')
      .split(/::|\./)
      .at(-1) ?? name;
  const plain = /^['"]/.test(last) ? last : last.replace(/^[~#]/, '');
  return plain.replace(/^['"]|['"]$/g, '').replace(/:.*$/, '');
}

function quote(name: string): string {
  return name.replace(/[^\w]/g, '\\$&');
}
