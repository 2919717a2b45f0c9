import type { Usage } from '../../src/protocol/jobs.ts';

/** Only the two largest units: 2 h 05 m, 45 s. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const pad = (value: number) => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${pad(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${pad(Math.floor((seconds % 3_600) / 60))} m`;
  return `${Math.floor(seconds / 86_400)} d ${pad(Math.floor((seconds % 86_400) / 3_600))} h`;
}

/** Short, for somebody who glances: 45 s, 12 m, 3 h, 2 d. */
export function roughly(ms: number): string {
  const [first, unit] = duration(ms).split(' ');
  return `${first} ${unit}`;
}

export function count(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 999_950) return `${(value / 1_000).toFixed(1)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function tokens({ input, output, cacheRead, cacheWrite, partial }: Usage): string {
  const total = input + output + cacheRead + cacheWrite;
  return total === 0 ? '0' : (partial ? '≥ ' : '') + count(total);
}

/** An agent that reports no cost is not free. */
export function cost(usd: number | null): string {
  if (usd === null) return 'unknown';
  return usd > 0 && usd < 0.01 ? '< $0.01' : `$${usd.toFixed(2)}`;
}

export function clock(date: Date): string {
  return date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

export function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${amount} ${amount === 1 ? one : many}`;
}

/** The name of a block and of its node: `Core_Validate__RunTests`. */
export function blockName(block: string): { node: string; name: string } {
  const at = block.indexOf('__');
  return at < 0 ? { node: '', name: block } : { node: block.slice(0, at), name: block.slice(at + 2) };
}

const ESCAPE = String.fromCodePoint(0x1b);
/** What only means something to a terminal: colours, titles, links. */
const FOR_TERMINALS = new RegExp(String.raw`${ESCAPE}(?:\[[0-?]*[ -/]*[@-~]|\][^\p{Cc}]*(?:\p{Cc}\\?)?)`, 'gu');
/** What moves, hides or reorders the text around it: control, bidi, zero-width, tags. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** These only style the emoji before them. */
const EMOJI_STYLE = /(?<=\p{Extended_Pictographic})(?:\ufe0f\u200d|[\ufe0e\ufe0f\u200d])/gu;

/** Text of others: without the colours of a terminal, and with nothing in it that acts but is not seen. */
export function plain(text: string): string {
  // What was cut to its cap may lack it.
  if (typeof text !== 'string') return '';
  const lines = text.replace(FOR_TERMINALS, '').replaceAll('\r\n', '\n').replace(EMOJI_STYLE, '');
  return lines.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (character === '\n' || character === '\t') return character;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
