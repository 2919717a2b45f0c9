/** What a function is called, out of its source: roberto-mcp shows the line it begins in, which may be `@Override` alone. */

export interface Declaration {
  name: string;
  /** Up to the end of the line with the name, on one line. */
  signature: string;
}

const MOST_LINES = 10;
const MOST_CHARACTERS = 1_000;

/** The source from a place on; `column` counts bytes. */
export function sourceAt(lines: readonly string[], { line, column }: { line: number; column: number }): string {
  const first = Buffer.from(lines[line - 1] ?? '')
    .subarray(column)
    .toString();
  return [first, ...lines.slice(line, line + MOST_LINES)].join('\n').slice(0, MOST_CHARACTERS);
}

/** Annotations, attributes, template parameters and comments: they stand before a declaration and look like calls. */
const DECORATION =
  /^\s*(?:@[\w.]+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?|#?\[[^\]]*\](?=\s)|template\s*<[^{;(]*?>(?=\s)|\/\/.*)/;

const WORD = String.raw`#?[\p{L}_$][\p{L}\p{N}_$]*`;
/** Type parameters, which may have some themselves. */
const TYPES = '<(?:[^<>()]|<[^<>()]*>)*>';

const NAMED = [
  // `fn parse(`, `func (s *Store) Get(`, `fun <T> List<T>.second(`, `def empty?`, `function* tills(`
  new RegExp(
    String.raw`^(?:pub\([^)]*\)|[^({=;])*?\b(?:def|fn|func|fun|function)\b[\s*&]*(?:${TYPES}\s*)?(?:\([^()]*\)\s*)?(?:[\w.]+(?:${TYPES})?\??\.)?(${WORD}[?!]?|${'`[^`]+`'})`,
    'u',
  ),
  // `- (int)totalWithTax:(int)tax`
  new RegExp(String.raw`^[-+]\s*\([^)]*\)\s*(${WORD})`, 'u'),
  // `const round = (x) => x`, `handle: Handler = …`
  new RegExp(String.raw`^[^({=<]*?(${WORD})\s*(?::[^=(]*)?=(?!=)`, 'u'),
];

/** `int count(int depth)`: the word before the first bracket that can be a name. */
const CALLED = new RegExp(String.raw`(${WORD})\s*(?:<[^<>()]*>|\[[^[\]()]*\])?\s*\(`, 'gu');

/** Statements, and modifiers before a type in brackets. */
const NOT_A_NAME = new Set(
  `__attribute__ __declspec async await catch const for if internal new override private protected public return static switch
  synchronized virtual void while`.split(/\s+/),
);

/** Undefined when no name is seen. */
export function readDeclaration(source: string): Declaration | undefined {
  const text = undecorated(source);
  const match = firstMatch(text);
  const name = match?.[1];
  if (!match || name === undefined) return undefined;
  const end = text.indexOf('\n', match.index + match[0].length);
  return { name, signature: (end < 0 ? text : text.slice(0, end)).replace(/\s+/g, ' ').trim() };
}

function undecorated(source: string): string {
  const [decoration = ''] = DECORATION.exec(source) ?? [];
  return decoration === '' ? source.trimStart() : undecorated(source.slice(decoration.length));
}

function firstMatch(text: string): RegExpExecArray | undefined {
  for (const pattern of NAMED) {
    const match = pattern.exec(text);
    if (match) return match;
  }
  return [...text.matchAll(CALLED)].find(([, name = '']) => !NOT_A_NAME.has(name));
}
