import { actsOnNames, afterOptions, baseName, closingParenthesis, SHELLS, WRAPPERS } from './shell-syntax.ts';

/**
 * Splits a shell line for the permission rules into every command in it, however nested, and every file it redirects to.
 * It is no shell: where it does not understand a line it says so, and a person is asked.
 */
export interface ShellLine {
  /** Words without quotes, joined by single spaces; redirections as `> file`. In the order of the line. */
  parts: string[];
  /** Why the line is not fully understood; undefined if it is. */
  unclear?: string;
}

interface Word {
  text: string;
  /** It contains an expansion, so its value is unknown. */
  isOpen: boolean;
  /** The text before the first quote: only there `=` assigns and keywords act. Undefined if nothing is quoted. */
  bare?: string;
}

const DEEPEST = 8;
const LONGEST = 64 * 1024;
const KEYWORDS = new Set(
  'if then else elif fi for while until do done case esac in function select time coproc { } [[ !'.split(' '),
);
const BLANK = /[ \t]/;
const OPERATORS = ['&&', '||', ';;', '|&', '&', '|', ';', '\n', '(', ')'];
const REDIRECTIONS = ['&>>', '&>', '<<<', '<<', '<&', '<>', '>>', '>&', '>|', '<', '>'];
const NOWHERE = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '1', '2', '-']);

export function splitShellLine(line: string): ShellLine {
  if (line.length > LONGEST) return { parts: [], unclear: `is longer than ${LONGEST} characters` };
  if (line.includes('\0')) return { parts: [], unclear: 'has a NUL character' };
  const reader = new ShellLineReader(line, 0);
  try {
    reader.read();
  } catch (error) {
    if (!(error instanceof Unclear)) throw error;
    return { parts: reader.parts, unclear: error.message };
  }
  return { parts: reader.parts };
}

class Unclear extends Error {}

const joined = (words: readonly Word[]) => words.map(({ text }) => text).join(' ');

class ShellLineReader {
  readonly parts: string[] = [];
  readonly #line: string;
  readonly #depth: number;
  #at = 0;
  #words: Word[] = [];

  constructor(line: string, depth: number) {
    if (depth > DEEPEST) throw new Unclear('is nested too deep');
    this.#line = line;
    this.#depth = depth;
  }

  read(): void {
    while (this.#at < this.#line.length) this.#readNext();
    this.#endCommand();
  }

  #readNext(): void {
    const character = this.#line[this.#at] ?? '';
    if (BLANK.test(character) || this.#line.startsWith('\\\n', this.#at)) {
      this.#at += character === '\\' ? 2 : 1;
      return;
    }
    if (character === '#') {
      this.#skipComment();
      return;
    }
    const redirection = this.#redirection();
    if (redirection !== undefined) {
      this.#redirect(redirection);
      return;
    }
    const operator = OPERATORS.find((each) => this.#line.startsWith(each, this.#at));
    if (operator !== undefined) {
      this.#operate(operator);
      return;
    }
    const start = this.#at;
    this.#words.push(this.#word());
    if (this.#at === start) throw new Unclear('has a sign that is not known');
  }

  #operate(operator: string): void {
    this.#at += operator.length;
    if (operator === ';;') throw new Unclear('has a case');
    if (operator === '(' && this.#words.length > 0) throw new Unclear('defines a function or an array');
    this.#endCommand();
  }

  #skipComment(): void {
    const end = this.#line.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#line.length : end;
  }

  /** A redirection may begin with the number of a descriptor. */
  #redirection(): string | undefined {
    const rest = this.#line.slice(this.#at, this.#at + 16);
    const [digits = ''] = /^\d*/.exec(rest) ?? [];
    const sign = REDIRECTIONS.find((each) => rest.startsWith(each, digits.length));
    if (sign === undefined || (digits !== '' && sign.startsWith('&'))) return undefined;
    // `<(` and `>(` are commands, not files.
    if (rest.startsWith('(', digits.length + sign.length)) return undefined;
    this.#at += digits.length + sign.length;
    return sign;
  }

  #redirect(sign: string): void {
    if (sign === '<<') throw new Unclear('has a here-document');
    while (BLANK.test(this.#line[this.#at] ?? '')) this.#at++;
    const target = this.#word();
    if (target.text === '') throw new Unclear('redirects to nothing');
    if (sign === '<<<' || (!target.isOpen && NOWHERE.has(target.text))) return;
    if (target.isOpen) throw new Unclear('redirects to a place that is not known');
    this.parts.push(`${sign.includes('<') && !sign.includes('>') ? '<' : '>'} ${target.text}`);
  }

  #word(): Word {
    const word: Word = { text: '', isOpen: false };
    while (this.#at < this.#line.length && !this.#isWordEnd()) this.#piece(word);
    return word;
  }

  #isWordEnd(): boolean {
    const rest = this.#line.slice(this.#at, this.#at + 2);
    if (rest === '<(' || rest === '>(') return false;
    return /^[ \t\n;&|()<>]/.test(rest);
  }

  #piece(word: Word): void {
    const character = this.#line[this.#at] ?? '';
    if (character === "'") this.#single(word);
    else if (character === '"') this.#double(word);
    else if (character === '\\') this.#escape(word);
    else if (character === '$' || character === '`') this.#expansion(word);
    else if (character === '<' || character === '>') this.#substitution(word, 2);
    else {
      word.isOpen ||= /[{}*?[~!]/.test(character);
      this.#take(word, 1);
    }
  }

  #take(word: Word, length: number): void {
    word.text += this.#line.slice(this.#at, this.#at + length);
    this.#at += length;
  }

  #single(word: Word): void {
    const end = this.#line.indexOf("'", this.#at + 1);
    if (end === -1) throw new Unclear('has a quote that does not end');
    word.bare ??= word.text;
    word.text += this.#line.slice(this.#at + 1, end);
    this.#at = end + 1;
  }

  #double(word: Word): void {
    this.#at++;
    word.bare ??= word.text;
    while (this.#line[this.#at] !== '"') {
      const character = this.#line[this.#at];
      if (character === undefined) throw new Unclear('has a quote that does not end');
      // Inside quotes a backslash means something else between backquotes, and shells differ in what.
      if (character === '`') throw new Unclear('has backquotes inside quotes');
      if (character === '$') this.#expansion(word);
      else if (character === '\\' && /["\\$`\n]/.test(this.#line[this.#at + 1] ?? '')) this.#escape(word);
      else this.#take(word, 1);
    }
    this.#at++;
  }

  #escape(word: Word): void {
    const next = this.#line[this.#at + 1];
    if (next === undefined) throw new Unclear('ends in a backslash');
    this.#at += 2;
    // A backslash at the end of a line joins it to the next.
    if (next === '\n') return;
    word.bare ??= word.text;
    word.text += next;
  }

  #expansion(word: Word): void {
    const rest = this.#line.slice(this.#at, this.#at + 3);
    if (rest.startsWith('`')) this.#backticks(word);
    else if (rest.startsWith('$((') || rest.startsWith('$[')) throw new Unclear('computes');
    else if (rest.startsWith('$(')) this.#substitution(word, 2);
    else if (rest.startsWith("$'") || rest.startsWith('$"')) throw new Unclear('has a quote with escapes');
    else this.#variable(word);
  }

  #variable(word: Word): void {
    const rest = this.#line.slice(this.#at);
    const [plain] = /^\$(?:\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])/.exec(rest) ?? [];
    if (plain === undefined && rest.startsWith('${')) throw new Unclear('has an expansion that may run commands');
    word.isOpen ||= plain !== undefined;
    this.#take(word, plain?.length ?? 1);
  }

  /** `$( … )` and `<( … )` hold a line of their own. */
  #substitution(word: Word, opening: number): void {
    const start = this.#at + opening;
    const end = closingParenthesis(this.#line, start);
    if (end === undefined) throw new Unclear('has a parenthesis that does not close');
    this.#inner(this.#line.slice(start, end));
    word.isOpen = true;
    word.text += '$(…)';
    this.#at = end + 1;
  }

  #backticks(word: Word): void {
    let inner = '';
    for (this.#at++; this.#line[this.#at] !== '`'; this.#at++) {
      const character = this.#line[this.#at];
      if (character === undefined) throw new Unclear('has a backtick that does not close');
      if (character === '\\' && /[`\\$]/.test(this.#line[this.#at + 1] ?? '')) this.#at++;
      inner += this.#line[this.#at];
    }
    this.#at++;
    this.#inner(inner);
    word.isOpen = true;
    word.text += '$(…)';
  }

  #inner(line: string): void {
    const reader = new ShellLineReader(line, this.#depth + 1);
    try {
      reader.read();
    } finally {
      this.parts.push(...reader.parts);
    }
  }

  #endCommand(): void {
    const words = this.#words;
    this.#words = [];
    if (words.length > 0) this.#command(words);
  }

  #command(words: Word[]): void {
    this.parts.push(joined(words));
    const at = words.findIndex(({ bare, text }) => !/^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(bare ?? text));
    const [name, ...rest] = at === -1 ? [] : words.slice(at);
    if (!name) return;
    if (name.isOpen) throw new Unclear('runs a command whose name is not known');
    if (name.bare === undefined && KEYWORDS.has(name.text)) throw new Unclear(`uses the shell's "${name.text}"`);
    // `X=1 rm` runs rm as much as `rm` does.
    if (at > 0) this.parts.push(joined(words.slice(at)));
    this.#wrapped(baseName(name.text), rest);
  }

  /** Some commands run another command, which must be allowed as well. */
  #wrapped(name: string, rest: Word[]): void {
    if (name === 'eval' || name === 'source' || name === '.' || name === 'trap') {
      if (name !== 'eval' || rest.some(({ isOpen }) => isOpen)) throw new Unclear(`runs what "${name}" is given`);
      const words = rest.map(({ text }) => text);
      this.#inner((words[0] === '--' ? words.slice(1) : words).join(' '));
      return;
    }
    if (actsOnNames(name, rest)) throw new Unclear(`gives "${name}" what it may run`);
    if (SHELLS.has(name)) {
      this.#shell(rest);
      return;
    }
    const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
    if (wrapper === undefined) return;
    if (name === 'env' && rest.some(({ text }) => /^(-[a-zA-Z]*S|--split-string)/.test(text))) {
      throw new Unclear('has a command inside a word');
    }
    const inner = afterOptions(rest, wrapper);
    if (inner.length > 0) this.#command(inner);
  }

  #shell(rest: Word[]): void {
    const takesLine = rest.findIndex(({ text }) => /^-[a-zA-Z]+$/.test(text) && text.includes('c'));
    const isOption = ({ text }: Word) => /^[-+]/.test(text);
    if (takesLine === -1) {
      const readsInput = rest.every(isOption) || rest.some(({ text }) => /^-[a-zA-Z]*s$/.test(text));
      if (readsInput) throw new Unclear('runs what a shell reads from its input');
      return;
    }
    const script = rest.slice(takesLine + 1).find((word) => !isOption(word));
    if (!script || script.isOpen) throw new Unclear('runs a line that is not known');
    this.#inner(script.text);
  }
}
