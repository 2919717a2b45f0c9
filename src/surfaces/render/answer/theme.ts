/** What a theme gives a look to. */
export const PARTS = [
  ...(['heading', 'strong', 'emphasis', 'strike', 'code', 'link', 'quote', 'marker', 'faint'] as const),
  ...(['keyword', 'string', 'comment', 'number', 'type', 'function', 'name', 'inserted', 'deleted'] as const),
] as const;
export type Part = (typeof PARTS)[number];

/** Parameters of an SGR sequence for each part. */
export type Theme = Readonly<Record<Part, string>>;

/** How answers are shown. */
export interface AnswerLook {
  theme: Theme;
  /** At how many columns text is broken between words. `no`: it is left to the terminal, which breaks anywhere. */
  wrap: 'no' | 'auto' | number;
  /** Breaks long lines of code as well. */
  wrapCode: boolean;
}

const SHAPES = { strong: '1', emphasis: '3', strike: '9', inserted: '32', deleted: '31' } as const;

/** Of the sixteen colours only: a person has chosen those for this terminal. */
export const DARK: Theme = {
  ...SHAPES,
  ...{ heading: '1;96', code: '93', link: '4;94', quote: '37', marker: '96', faint: '90' },
  ...{ keyword: '95', string: '92', comment: '90', number: '93', type: '96', function: '94', name: '36' },
};

export const LIGHT: Theme = {
  ...SHAPES,
  ...{ heading: '1;34', code: '31', link: '4;34', quote: '90', marker: '34', faint: '90' },
  ...{ keyword: '35', string: '32', comment: '90', number: '31', type: '36', function: '34', name: '36' },
};

/** Terminals that say so at all say it as `foreground;background`. */
export function themeOfTerminal(colours: string | undefined): Theme {
  const background = Number(colours?.split(';').at(-1) || Number.NaN);
  return background === 7 || background === 15 ? LIGHT : DARK;
}
