import { DARK, PARTS, type Part, type Theme } from './theme.ts';

/** Where a theme of TextMate says how each part looks; the first scope with a rule counts. */
const SCOPES: Readonly<Record<Part, readonly string[]>> = {
  heading: ['markup.heading', 'entity.name.section'],
  strong: ['markup.bold'],
  emphasis: ['markup.italic'],
  strike: ['markup.strikethrough'],
  code: ['markup.raw.inline', 'markup.inline.raw', 'markup.raw', 'string'],
  link: ['markup.underline.link', 'string.other.link', 'markup.link'],
  quote: ['markup.quote', 'comment'],
  marker: ['markup.list', 'punctuation.definition.list', 'keyword'],
  faint: ['comment'],
  keyword: ['keyword.control', 'keyword', 'storage'],
  string: ['string.quoted', 'string'],
  comment: ['comment.line', 'comment'],
  number: ['constant.numeric', 'constant'],
  type: ['entity.name.type', 'support.type', 'storage.type', 'entity.name'],
  function: ['entity.name.function', 'support.function'],
  name: ['variable.other', 'entity.other.attribute-name', 'variable'],
  inserted: ['markup.inserted'],
  deleted: ['markup.deleted'],
};

interface Rule {
  scopes: string[];
  look: string;
}

const STYLES: Readonly<Record<string, string>> = { bold: '1', italic: '3', underline: '4', strikethrough: '9' };

/** A `.tmTheme`, as Loki and many editors have them. Parts that it says nothing of look as in the dark theme. Undefined: it is none. */
export function parseTmTheme(text: string, hasTrueColour: boolean): Theme | undefined {
  const rules = rulesOf(text, hasTrueColour);
  if (rules.length === 0) return undefined;
  return Object.fromEntries(PARTS.map((part) => [part, lookOf(part, rules) ?? DARK[part]])) as Theme;
}

/** As TextMate does it: a rule holds for its scope and all below, and the longest one wins. */
function lookOf(part: Part, rules: readonly Rule[]): string | undefined {
  for (const scope of SCOPES[part]) {
    const found = rules
      .flatMap(({ scopes, look }) => scopes.map((each) => ({ each, look })))
      .filter(({ each }) => scope === each || scope.startsWith(`${each}.`))
      .sort((a, b) => b.each.length - a.each.length)[0];
    if (found) return found.look;
  }
  return undefined;
}

function rulesOf(text: string, hasTrueColour: boolean): Rule[] {
  const found = text.matchAll(
    /<key>scope<\/key>\s*<string>([^<]*)<\/string>[\s\S]*?<key>settings<\/key>\s*<dict>([\s\S]*?)<\/dict>/g,
  );
  return [...found].flatMap(([, scope = '', settings = '']) => {
    const value = (key: string) =>
      new RegExp(`<key>${key}</key>\\s*<string>([^<]*)</string>`).exec(settings)?.[1] ?? '';
    const shapes = value('fontStyle')
      .split(/\s+/)
      .flatMap((word) => STYLES[word] ?? []);
    const look = [...shapes, ...colour(value('foreground'), hasTrueColour)].join(';');
    return look === '' ? [] : [{ scopes: scope.split(',').map((each) => each.trim()), look }];
  });
}

function colour(hex: string, hasTrueColour: boolean): string[] {
  const [, ...parts] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(hex) ?? [];
  if (parts.length === 0) return [];
  const [red = 0, green = 0, blue = 0] = parts.map((part) => Number.parseInt(part, 16));
  if (hasTrueColour) return [`38;2;${red};${green};${blue}`];
  const step = (value: number) => Math.round((value / 255) * 5);
  return [`38;5;${16 + 36 * step(red) + 6 * step(green) + step(blue)}`];
}
