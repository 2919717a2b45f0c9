import type { StringStream } from '@codemirror/streamparser';
import { type Span, span } from './spans.ts';
import type { Part, Theme } from './theme.ts';

const INDENT = 2;
/** Nobody reads longer lines, and a mode may need long for them. */
const LONGEST_LINE = 2_000;
/** A mode that stands still this often has a fault. */
const MOST_STILL = 10;

interface Mode {
  startState?(indentUnit: number): unknown;
  token(stream: StringStream, state: unknown): string | null | undefined;
  blankLine?(state: unknown, indentUnit: number): void;
}

/** Loaded when an answer has code of that language. */
const MODES = {
  c: async () => (await import('@codemirror/legacy-modes/mode/clike')).c,
  cpp: async () => (await import('@codemirror/legacy-modes/mode/clike')).cpp,
  csharp: async () => (await import('@codemirror/legacy-modes/mode/clike')).csharp,
  css: async () => (await import('@codemirror/legacy-modes/mode/css')).css,
  dart: async () => (await import('@codemirror/legacy-modes/mode/clike')).dart,
  diff: async () => (await import('@codemirror/legacy-modes/mode/diff')).diff,
  dockerfile: async () => (await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile,
  go: async () => (await import('@codemirror/legacy-modes/mode/go')).go,
  haskell: async () => (await import('@codemirror/legacy-modes/mode/haskell')).haskell,
  html: async () => (await import('@codemirror/legacy-modes/mode/xml')).html,
  ini: async () => (await import('@codemirror/legacy-modes/mode/properties')).properties,
  java: async () => (await import('@codemirror/legacy-modes/mode/clike')).java,
  javascript: async () => (await import('@codemirror/legacy-modes/mode/javascript')).javascript,
  json: async () => (await import('@codemirror/legacy-modes/mode/javascript')).json,
  kotlin: async () => (await import('@codemirror/legacy-modes/mode/clike')).kotlin,
  lua: async () => (await import('@codemirror/legacy-modes/mode/lua')).lua,
  objectivec: async () => (await import('@codemirror/legacy-modes/mode/clike')).objectiveC,
  perl: async () => (await import('@codemirror/legacy-modes/mode/perl')).perl,
  powershell: async () => (await import('@codemirror/legacy-modes/mode/powershell')).powerShell,
  python: async () => (await import('@codemirror/legacy-modes/mode/python')).python,
  r: async () => (await import('@codemirror/legacy-modes/mode/r')).r,
  ruby: async () => (await import('@codemirror/legacy-modes/mode/ruby')).ruby,
  rust: async () => (await import('@codemirror/legacy-modes/mode/rust')).rust,
  scala: async () => (await import('@codemirror/legacy-modes/mode/clike')).scala,
  scss: async () => (await import('@codemirror/legacy-modes/mode/css')).sCSS,
  shell: async () => (await import('@codemirror/legacy-modes/mode/shell')).shell,
  sql: async () => (await import('@codemirror/legacy-modes/mode/sql')).standardSQL,
  swift: async () => (await import('@codemirror/legacy-modes/mode/swift')).swift,
  toml: async () => (await import('@codemirror/legacy-modes/mode/toml')).toml,
  typescript: async () => (await import('@codemirror/legacy-modes/mode/javascript')).typescript,
  xml: async () => (await import('@codemirror/legacy-modes/mode/xml')).xml,
  yaml: async () => (await import('@codemirror/legacy-modes/mode/yaml')).yaml,
} satisfies Record<string, () => Promise<Mode>>;

const OTHER_NAMES: Readonly<Record<string, keyof typeof MODES>> = {
  ...{ js: 'javascript', jsx: 'javascript', mjs: 'javascript', cjs: 'javascript', node: 'javascript' },
  ...{ ts: 'typescript', tsx: 'typescript', mts: 'typescript', jsonc: 'json', json5: 'json', jsonl: 'json' },
  ...{
    py: 'python',
    python3: 'python',
    rb: 'ruby',
    rs: 'rust',
    golang: 'go',
    kt: 'kotlin',
    cs: 'csharp',
    hs: 'haskell',
  },
  ...{ sh: 'shell', bash: 'shell', zsh: 'shell', console: 'shell', ps1: 'powershell', pl: 'perl', objc: 'objectivec' },
  ...{ h: 'c', cc: 'cpp', cxx: 'cpp', hpp: 'cpp', 'c++': 'cpp', 'c#': 'csharp', yml: 'yaml', patch: 'diff' },
  ...{ docker: 'dockerfile', svg: 'xml', vue: 'html', postgresql: 'sql', mysql: 'sql', sqlite: 'sql', less: 'scss' },
  ...{ env: 'ini', dotenv: 'ini', properties: 'ini', conf: 'ini' },
};

/** By the first word that a mode says of a token, unless the whole has a row of its own. */
const PARTS: Readonly<Record<string, Part>> = {
  ...{ keyword: 'keyword', modifier: 'keyword', controlKeyword: 'keyword', operatorKeyword: 'keyword' },
  ...{ string: 'string', regexp: 'string', character: 'string', url: 'string', attributeValue: 'string' },
  ...{ comment: 'comment', meta: 'comment', documentMeta: 'comment', processingInstruction: 'comment' },
  ...{ number: 'number', atom: 'number', bool: 'number', null: 'number', unit: 'number', color: 'number' },
  ...{ typeName: 'type', className: 'type', tagName: 'type', namespace: 'type', labelName: 'type' },
  ...{ macroName: 'function', builtin: 'function', 'variableName.function': 'function' },
  ...{ 'variableName.definition': 'function', 'variableName.standard': 'function' },
  // What some modes still say.
  ...{ def: 'function', type: 'type', tag: 'type', 'variable-3': 'type', property: 'name', attribute: 'name' },
  ...{ 'string-2': 'string', qualifier: 'keyword', header: 'heading' },
  ...{ propertyName: 'name', attributeName: 'name', inserted: 'inserted', deleted: 'deleted', heading: 'heading' },
};

/** Colours code line by line: what a line leaves open is known to the next one. */
export interface Highlighter {
  line(text: string): Span[];
}

export const plainCode: Highlighter = { line: (text) => [span(text)] };

/** For the word behind the opening fence. Code of a language that is not known stays plain. */
export async function openHighlighter(info: string, theme: Theme): Promise<Highlighter> {
  const word = /^[\w+#-]*/.exec(info.trim())?.[0].toLowerCase() ?? '';
  const name = Object.hasOwn(OTHER_NAMES, word) ? OTHER_NAMES[word] : word;
  if (name === undefined || !Object.hasOwn(MODES, name)) return plainCode;
  const [mode, { StringStream: Stream }] = await Promise.all([
    MODES[name as keyof typeof MODES]() as Promise<Mode>,
    import('@codemirror/streamparser'),
  ]);
  return new Lines(mode, theme, Stream);
}

class Lines implements Highlighter {
  readonly #mode: Mode;
  readonly #theme: Theme;
  readonly #Stream: typeof StringStream;
  #state: unknown;
  #isBroken = false;

  constructor(mode: Mode, theme: Theme, Stream: typeof StringStream) {
    this.#mode = mode;
    this.#theme = theme;
    this.#Stream = Stream;
    this.#state = mode.startState?.(INDENT) ?? {};
  }

  line(text: string): Span[] {
    if (this.#isBroken || text.length > LONGEST_LINE) return [span(text)];
    try {
      return this.#spans(text);
    } catch {
      // The text of a stranger may find a fault in a mode: the rest of this code stays plain.
      this.#isBroken = true;
      return [span(text)];
    }
  }

  #spans(text: string): Span[] {
    if (text === '') this.#mode.blankLine?.(this.#state, INDENT);
    const stream = new this.#Stream(text, 4, INDENT);
    const spans: Span[] = [];
    let still = 0;
    while (!stream.eol()) {
      stream.start = stream.pos;
      const kind = this.#mode.token(stream, this.#state);
      if (stream.pos > stream.start) {
        spans.push(span(stream.current(), this.#look(kind)));
        still = 0;
      } else if (++still > MOST_STILL) throw new Error('the mode stands still');
    }
    return spans;
  }

  #look(kind: string | null | undefined): string {
    if (!kind) return '';
    const [first = ''] = kind.split(' ');
    const part = PARTS[first] ?? PARTS[first.split('.')[0] ?? ''];
    return part === undefined ? '' : this.#theme[part];
  }
}
