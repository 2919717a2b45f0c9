const DROPPED = new Set('script style noscript template svg head nav footer'.split(' '));
const BLOCK = new Set(
  'p div section article main header aside ul ol table tr pre blockquote figure figcaption form dl dt dd hr br'.split(
    ' ',
  ),
);
const NAMED: Readonly<Record<string, string>> = Object.freeze({
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  copy: '©',
});

/** The text of a page, with headings and list items as in Markdown. It makes one pass, so that no page can make it slow. */
export function htmlToText(html: string): string {
  const parts: string[] = [];
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at);
    const end = open === -1 ? html.length : open;
    parts.push(html.slice(at, end).replace(/\s+/g, ' '));
    if (open === -1) break;
    const tag = tagAt(html, open);
    parts.push(tag.text);
    at = tag.end;
  }
  return decodeEntities(parts.join(''))
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** Element names are shorter. */
const TAG_ROOM = 32;

/** The text for a tag, and where reading goes on: after the tag, or after the whole element if it is dropped. */
function tagAt(html: string, open: number): { text: string; end: number } {
  if (html.startsWith('<!--', open)) return { text: '', end: behind(html, '-->', open) };
  if (html[open + 1] === '!' || html[open + 1] === '?') return { text: '', end: behind(html, '>', open) };
  const [, slash, name = ''] = /^(\/?)([a-z][a-z0-9]*)/i.exec(html.slice(open + 1, open + TAG_ROOM)) ?? [];
  if (name === '') return { text: '<', end: open + 1 };
  const end = behind(html, '>', open);
  const element = name.toLowerCase();
  if (slash === '' && DROPPED.has(element)) return { text: '\n', end: behindElement(html, element, end) };
  return { text: mark(element, slash === '/'), end };
}

function behind(html: string, what: string, from: number): number {
  const at = html.indexOf(what, from);
  return at === -1 ? html.length : at + what.length;
}

function behindElement(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}\\s*>`, 'gi');
  closing.lastIndex = from;
  return closing.exec(html) ? closing.lastIndex : html.length;
}

function mark(name: string, isEnd: boolean): string {
  const [, level] = /^h([1-6])$/.exec(name) ?? [];
  if (level) return isEnd ? '\n\n' : `\n\n${'#'.repeat(Number(level))} `;
  if (name === 'li') return isEnd ? '' : '\n- ';
  if (name === 'td' || name === 'th') return isEnd ? ' ' : '';
  return BLOCK.has(name) ? '\n' : '';
}

function decodeEntities(text: string): string {
  return text.replace(/&(#x?[0-9a-f]{1,6}|[a-z]{2,8});/gi, (whole, body: string) => {
    if (!body.startsWith('#')) return NAMED[body.toLowerCase()] ?? whole;
    const code = /^#x/i.test(body) ? Number.parseInt(body.slice(2), 16) : Number(body.slice(1));
    return Number.isInteger(code) && code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** The links of a page, absolute and without fragments. */
export function linksOf(html: string, base: string): string[] {
  const links = new Set<string>();
  for (const [, double, single] of html.matchAll(
    /<a\b[^<>]{0,1000}?\bhref\s{0,9}=\s{0,9}(?:"([^"]{0,4000})"|'([^']{0,4000})')/gi,
  )) {
    const href = decodeEntities(double ?? single ?? '');
    if (!URL.canParse(href, base)) continue;
    const url = new URL(href, base);
    url.hash = '';
    if (/^https?:$/.test(url.protocol)) links.add(url.href);
  }
  return [...links];
}
