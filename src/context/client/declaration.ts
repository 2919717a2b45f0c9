export interface Declaration {
  name: string;
  /** From the start to the end of the line with the name, in one line. */
  signature: string;
}

const MOST_LINES = 10;
const MOST_CHARACTERS = 1_000;

/** The source from a place on. `column` counts bytes. */
export function sourceAt(lines: readonly string[], { line, column }: { line: number; column: number }): string {
  const first = Buffer.from(lines[line - 1] ?? '')
    .subarray(column)
    .toString();
  return [first, ...lines.slice(line, line + MOST_LINES)].join('\n').slice(0, MOST_CHARACTERS);
}

/** Annotations, attributes, template parameters and comments, which precede a declaration and look like calls. */
const DECORATION =
  /^\s*(?:@[\w.]+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?|#?\[[^\]]*\](?=\s)|template\s*<[^{;(]*?>(?=\s)|\/\/.*)/;

const WORD = String.raw`#?[\p{L}_$][\p{L}\p{N}_$]*`;
/** Type parameters, nested once at most. */
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

/** `int count(int depth)`: the first word before a bracket that can be a name. */
const CALLED = new RegExp(String.raw`(${WORD})\s*(?:<[^<>()]*>|\[[^[\]()]*\])?\s*\(`, 'gu');

/** Statements, and modifiers that may precede a type in brackets. */
const NOT_A_NAME = new Set(
  `__attribute__ __declspec async await catch const for if internal new override private protected public return static switch
  synchronized virtual void while`.split(/\s+/),
);

/** The name of a function, from its source: the first line, which roberto-mcp shows, may be `@Override` alone. */
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
