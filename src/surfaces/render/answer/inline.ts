import { Lexer, type Token, type Tokens } from 'marked';
import { printable } from '../../../base/printable.ts';
import { both, type Span, span } from './spans.ts';
import type { Theme } from './theme.ts';

const DEEPEST = 12;
/** Longer than any paragraph: what is longer was made to keep the lexer busy. */
const LONGEST = 50_000;

/** The text of one paragraph, heading or cell. */
export function inline(text: string, theme: Theme, look = ''): Span[] {
  if (text.length > LONGEST) return [span(text, look)];
  try {
    const spans = new Inline(theme).spans(Lexer.lexInline(text), look, 0);
    // The lexer makes characters of `&#27;` and the like.
    return spans.map((each) => ({ ...each, text: printable(each.text) }));
  } catch {
    // Made to overflow the lexer: it is shown as it is.
    return [span(text, look)];
  }
}

class Inline {
  readonly #theme: Theme;

  constructor(theme: Theme) {
    this.#theme = theme;
  }

  spans(tokens: readonly Token[], look: string, depth: number): Span[] {
    if (depth > DEEPEST) return tokens.map(({ raw }) => span(raw, look));
    return tokens.flatMap((token) => this.#span(token, look, depth));
  }

  #span(token: Token, look: string, depth: number): Span[] {
    const theme = this.#theme;
    switch (token.type) {
      case 'strong':
        return this.#inside(token, both(look, theme.strong), depth);
      case 'em':
        return this.#inside(token, both(look, theme.emphasis), depth);
      case 'del':
        return this.#inside(token, both(look, theme.strike), depth);
      case 'codespan':
        return [span((token as Tokens.Codespan).text, both(look, theme.code))];
      case 'escape':
        return [span((token as Tokens.Escape).text, look)];
      case 'br':
        return [span('\n', look)];
      case 'link':
        return this.#link(token as Tokens.Link, look, depth);
      case 'image':
        return this.#address(token as Tokens.Image, [span(`[image: ${token.text || 'without words'}]`, look)], look);
      case 'text':
        return this.#inside(token, look, depth);
      default:
        return [span(token.raw, look)];
    }
  }

  #inside(token: Token, look: string, depth: number): Span[] {
    if ('tokens' in token && token.tokens) return this.spans(token.tokens, look, depth + 1);
    return [span(decoded('text' in token ? token.text : token.raw), look)];
  }

  #link(token: Tokens.Link, look: string, depth: number): Span[] {
    const words = this.#inside(token, both(look, this.#theme.link), depth);
    return this.#address(token, words, look);
  }

  /** Where a link leads is always seen. */
  #address({ href }: { href: string }, words: Span[], look: string): Span[] {
    const said = words.map(({ text }) => text).join('');
    const isSaid = [said, `mailto:${said}`, `http://${said}`].includes(href);
    return isSaid ? words : [...words, span(` (${href})`, both(look, this.#theme.faint))];
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };

function decoded(text: string): string {
  return text.replace(/&(#39|\w{2,4});/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
