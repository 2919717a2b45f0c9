import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { plain } from '../format.ts';

/** Deeper than people nest, and far from what ends a stack. */
const DEEPEST = 12;
const LONGEST = 200_000;

/**
 * What an agent wrote, as nodes: no HTML of theirs is ever read as such. Nothing is loaded for it: an image is shown as
 * its words and its address, and a link leads only to where a browser may go.
 */
export function Markdown({ text }: { text: string }) {
  const nodes = useMemo(() => blocksOf(plain(text)), [text]);
  return <div class="markdown">{nodes}</div>;
}

function blocksOf(source: string): ComponentChildren {
  if (source.length > LONGEST) return <pre>{source}</pre>;
  try {
    return render(lexer(source), 0);
  } catch {
    // Made to overflow the lexer: it is shown as it is.
    return <pre>{source}</pre>;
  }
}

function render(tokens: readonly Token[] | undefined, depth: number): ComponentChildren {
  if (depth > DEEPEST) return tokens?.map(({ raw }) => raw).join('');
  return tokens?.map((token, at) => <Part key={at} token={token} depth={depth} />);
}

function Part({ token, depth }: { token: Token; depth: number }) {
  const draw = PARTS[token.type];
  return <>{draw ? draw(token, depth) : token.raw}</>;
}

const inside = (token: Token, depth: number) =>
  'tokens' in token && token.tokens
    ? render(token.tokens, depth + 1)
    : decoded('text' in token ? token.text : token.raw);

type Draw = (token: Token, depth: number) => ComponentChildren;

const PARTS: Readonly<Record<string, Draw>> = {
  space: () => null,
  heading: (token, depth) => heading(token as Tokens.Heading, inside(token, depth)),
  paragraph: (token, depth) => <p>{inside(token, depth)}</p>,
  text: (token, depth) => inside(token, depth),
  strong: (token, depth) => <strong>{inside(token, depth)}</strong>,
  em: (token, depth) => <em>{inside(token, depth)}</em>,
  del: (token, depth) => <del>{inside(token, depth)}</del>,
  blockquote: (token, depth) => <blockquote>{inside(token, depth)}</blockquote>,
  br: () => <br />,
  hr: () => <hr />,
  escape: (token) => (token as Tokens.Escape).text,
  codespan: (token) => <code>{(token as Tokens.Codespan).text}</code>,
  code: (token) => (
    <pre>
      <code>{(token as Tokens.Code).text}</code>
    </pre>
  ),
  checkbox: (token) => ((token as Tokens.Checkbox).checked ? '☑ ' : '☐ '),
  list: (token, depth) => list(token as Tokens.List, depth),
  table: (token, depth) => table(token as Tokens.Table, depth),
  link: (token, depth) => link(token as Tokens.Link, inside(token, depth)),
  image: (token) => {
    const { href, text } = token as Tokens.Image;
    return link({ href }, `[image: ${text || 'without words'}]`);
  },
  html: (token) => token.raw,
};

/** The headings of a page end at the third: those of an agent are below. */
function heading({ depth }: Tokens.Heading, children: ComponentChildren) {
  return depth <= 2 ? <h4>{children}</h4> : <h5>{children}</h5>;
}

function list({ ordered, start, items }: Tokens.List, depth: number) {
  const entries = items.map((item, at) => <li key={at}>{render(item.tokens, depth + 1)}</li>);
  return ordered ? <ol start={Number(start) || 1}>{entries}</ol> : <ul>{entries}</ul>;
}

function table({ header, rows, align }: Tokens.Table, depth: number) {
  const side = (at: number) => (align[at] === 'right' ? 'to-the-right' : undefined);
  return (
    <table>
      <thead>
        <tr>
          {header.map((cell, at) => (
            <th key={at} class={side(at)}>
              {render(cell.tokens, depth + 1)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, line) => (
          <tr key={line}>
            {row.map((cell, at) => (
              <td key={at} class={side(at)}>
                {render(cell.tokens, depth + 1)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Where it leads is seen before one goes there; what is no web address is only text. */
function link({ href }: { href: string }, children: ComponentChildren) {
  const isWeb = /^https?:\/\//i.test(href) && URL.canParse(href);
  if (!isWeb) {
    return (
      <>
        {children} <span class="hint">({href})</span>
      </>
    );
  }
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };

function decoded(text: string): string {
  return text.replace(/&(#39|\w{2,4});/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
