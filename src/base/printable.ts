/** Control, format (bidi, zero-width, tags), lone surrogate, line separator and invisible characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** These only style the emoji before them; as codes they would spoil every "✔️". */
const EMOJI_STYLE = /(?<=\p{Extended_Pictographic})(?:\ufe0f\u200d|[\ufe0e\ufe0f\u200d])/gu;

/** Colours: programs write them without a terminal too, and their codes are noise in a log. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one
const COLOUR = /\x1b\[[\d;:]*m/g;

export function withoutColours(text: string): string {
  return text.replace(COLOUR, '');
}

/** Most text, where none of the tables of Unicode has to be asked. */
const PLAIN = /^[\t\n\x20-\x7e]*$/;

/** Text of others on its way to a terminal: whatever acts on the terminal or hides itself becomes visible. */
export function printable(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replaceAll('\r\n', '\n').replace(EMOJI_STYLE, '').replace(UNSAFE, visible);
}

function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\n' || character === '\t') return character;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}
