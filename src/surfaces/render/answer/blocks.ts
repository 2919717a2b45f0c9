/** What a leaf stands in, from the outside in. */
export type Container =
  | { kind: 'quote' }
  /** `indent`: where the text of the item begins, in columns of the source. */
  | { kind: 'item'; marker: string; indent: number };

export type Leaf = { within: readonly Container[] } & (
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'table'; rows: string[] }
  | { kind: 'rule' }
  | { kind: 'fence'; info: string }
  | { kind: 'code'; line: string }
  | { kind: 'fence end' }
  | { kind: 'gap' }
);

interface Open {
  kind: 'paragraph' | 'table' | 'fence' | 'indented';
  within: readonly Container[];
  lines: string[];
  /** Of a table: how many of its lines are on the screen for good. */
  shown: number;
  /** Of a fence: what closes it, and how far it is indented. */
  fence?: { mark: string; indent: number };
}

const DEEPEST = 12;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}(?! )| (?= )|$)/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+) *$/;
const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`]*)$/;
const DELIMITER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const indentOf = (text: string) => /^ */.exec(text)?.[0].length ?? 0;
const isBlank = (text: string) => text.trim() === '';
const cellsOf = (row: string) =>
  row
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|').length;

/**
 * Reads Markdown line by line and hands out each leaf as soon as it is complete: a paragraph, a heading, a line of code. So
 * never more than one of them is kept, however long the list or the code it stands in.
 */
export class Blocks {
  #stack: Container[] = [];
  #open: Open | undefined;
  /** The next line continues the text before it, whatever it begins with. */
  #isMidLine = false;

  /** The leaf that is not complete yet, as it was written. */
  get pending(): readonly string[] {
    return this.#open?.kind === 'paragraph' || this.#open?.kind === 'table'
      ? this.#open.lines.slice(this.#open.shown)
      : [];
  }

  line(source: string): Leaf[] {
    if (this.#isMidLine) {
      this.#isMidLine = false;
      if (this.#open) return this.#continued(this.#open, source);
    }
    const text = source.replace(/^[ \t]+/, (blanks) => blanks.replaceAll('\t', '    '));
    const { rest, depth } = this.#descend(text);
    const isWithin = depth === this.#stack.length;
    if (this.#open?.kind === 'fence' && isWithin) return this.#code(this.#open, rest);
    if (isBlank(rest)) return this.#blank(depth);
    if (this.#isLazy(rest, isWithin)) return this.#continued(this.#open as Open, rest.trimStart());
    const left = isWithin ? [] : this.#leave(depth);
    return [...left, ...this.#begin(rest)];
  }

  end(): Leaf[] {
    return this.#leave(0);
  }

  /** What there is of the open leaf, for good. The text that follows continues it; `isMidLine` when not even the line ended. */
  cut(isMidLine: boolean): Leaf[] {
    this.#isMidLine = isMidLine;
    const open = this.#open;
    if (open === undefined || open.lines.length === 0) return [];
    const leaf = complete(open);
    open.lines = open.kind === 'table' ? open.lines.slice(0, 2) : [];
    open.shown = open.lines.length;
    return leaf;
  }

  /** The open leaf is on the screen already, as it was written. */
  skip(): void {
    if (this.#open?.kind === 'table') this.#open.kind = 'paragraph';
    if (this.#open) this.#open.lines = [];
  }

  /** How many of the containers the line is in, and what is left of it there. */
  #descend(text: string): { rest: string; depth: number } {
    let rest = text;
    for (const [depth, container] of this.#stack.entries()) {
      const cut = container.kind === 'quote' ? QUOTE.exec(rest)?.[0].length : itemCut(rest, container.indent);
      if (cut === undefined) return { rest, depth };
      rest = rest.slice(cut);
    }
    return { rest, depth: this.#stack.length };
  }

  #code(open: Open, rest: string): Leaf[] {
    const { mark, indent } = open.fence ?? { mark: '```', indent: 0 };
    const closing = FENCE.exec(rest);
    if (closing?.[2]?.startsWith(mark) && closing[3]?.trim() === '') {
      this.#open = undefined;
      return [{ kind: 'fence end', within: open.within }];
    }
    return [{ kind: 'code', line: rest.slice(Math.min(indent, indentOf(rest))), within: open.within }];
  }

  #blank(depth: number): Leaf[] {
    const isIndented = this.#open?.kind === 'indented';
    // A quote ends with a line that is not quoted; an item goes on behind a blank line.
    const quotes = this.#stack.findIndex(({ kind }, at) => at >= depth && kind === 'quote');
    const left = quotes === -1 ? this.#close() : this.#leave(quotes);
    if (isIndented && quotes === -1) this.#open = { kind: 'indented', within: [...this.#stack], lines: [], shown: 0 };
    return [...left, { kind: 'gap', within: [...this.#stack] }];
  }

  /** Whether the line can only be the next one of the open paragraph or table. */
  #isLazy(rest: string, isWithin: boolean): boolean {
    const open = this.#open;
    if (open === undefined || open.kind === 'fence' || open.kind === 'indented') return false;
    if (isWithin && open.kind === 'paragraph' && open.lines.length > 0 && UNDERLINE.test(rest)) return true;
    const item = ITEM.exec(rest);
    // A number in the middle of a sentence begins no list, unless the list has begun.
    const isItem = item !== null && item[3] !== '' && (!isWithin || /^([-*+]|1[.)])$/.test(item[2] ?? ''));
    const isOther = [QUOTE, RULE, HEADING, FENCE].some((begins) => begins.test(rest));
    return (isWithin || open.kind === 'paragraph') && !isItem && !isOther;
  }

  #continued(open: Open, text: string): Leaf[] {
    const [first = ''] = open.lines;
    if (open.kind === 'fence' || open.kind === 'indented') return [{ kind: 'code', line: text, within: open.within }];
    const isTitle = open.kind === 'paragraph' && open.lines.length > 0 && UNDERLINE.test(text);
    const isHead = open.lines.length === 1 && first.includes('|') && DELIMITER.test(text);
    if (open.kind === 'paragraph' && isHead && cellsOf(first) === cellsOf(text)) open.kind = 'table';
    else if (isTitle) {
      this.#open = undefined;
      const level = text.includes('=') ? 1 : 2;
      return [{ kind: 'heading', level, text: open.lines.join(' '), within: open.within }];
    }
    open.lines.push(text);
    return [];
  }

  #begin(text: string): Leaf[] {
    const closed = this.#open?.kind === 'indented' && indentOf(text) >= 4 ? [] : this.#close();
    let rest = text;
    while (this.#stack.length < DEEPEST) {
      const container = containerOf(rest);
      if (container === undefined) break;
      this.#stack.push(container.is);
      rest = rest.slice(container.cut);
    }
    return [...closed, ...this.#leaf(rest)];
  }

  #leaf(rest: string): Leaf[] {
    const within = [...this.#stack];
    if (isBlank(rest)) {
      this.#open = { kind: 'paragraph', within, lines: [''], shown: 0 };
      return [];
    }
    if (indentOf(rest) >= 4) {
      this.#open = { kind: 'indented', within, lines: [], shown: 0 };
      return [{ kind: 'code', line: rest.slice(4), within }];
    }
    const heading = HEADING.exec(rest);
    if (heading) return [{ kind: 'heading', level: heading[1]?.length ?? 1, text: heading[2] ?? '', within }];
    if (RULE.test(rest)) return [{ kind: 'rule', within }];
    const fence = FENCE.exec(rest);
    if (fence) {
      const [, blanks = '', mark = '', info = ''] = fence;
      this.#open = { kind: 'fence', within, lines: [], shown: 0, fence: { mark, indent: blanks.length } };
      return [{ kind: 'fence', info: info.trim(), within }];
    }
    this.#open = { kind: 'paragraph', within, lines: [rest.trimStart()], shown: 0 };
    return [];
  }

  #leave(depth: number): Leaf[] {
    const closed = this.#close();
    this.#stack.length = Math.min(depth, this.#stack.length);
    return closed;
  }

  #close(): Leaf[] {
    const open = this.#open;
    this.#open = undefined;
    return open ? complete(open) : [];
  }
}

function complete({ kind, within, lines }: Open): Leaf[] {
  if (kind === 'table') return [{ kind, rows: [...lines], within }];
  if (kind === 'fence') return [{ kind: 'fence end', within }];
  return kind === 'paragraph' && lines.length > 0 ? [{ kind, text: lines.join('\n'), within }] : [];
}

/** Blank lines belong to the item before them. */
function itemCut(rest: string, indent: number): number | undefined {
  if (isBlank(rest)) return Math.min(indent, rest.length);
  return indentOf(rest) >= indent ? indent : undefined;
}

function containerOf(rest: string): { is: Container; cut: number } | undefined {
  const quote = QUOTE.exec(rest);
  if (quote) return { is: { kind: 'quote' }, cut: quote[0].length };
  const item = RULE.test(rest) ? null : ITEM.exec(rest);
  if (!item) return undefined;
  const [whole, , marker = '', blanks] = item;
  const indent = blanks === '' ? whole.length + 1 : whole.length;
  return { is: { kind: 'item', marker, indent }, cut: whole.length };
}
