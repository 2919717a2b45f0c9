/** One step of an expression: a name, and whether it is called there: `make().items` is `make` called, then `items`. */
export interface Step {
  name: string;
  isCalled: boolean;
}

/** What stands before the dot in front of a name. `unknown`: an expression of another form. Undefined: nothing, the name stands alone. */
export type Receiver = readonly Step[] | 'unknown' | undefined;

const MOST_BACK = 2_000;
const CLOSING: Record<string, string> = { ')': '(', ']': '[', '>': '<' };

/** Reads the text before a name backwards: a parser's tree of a million nodes is not at hand where edges are made. */
export function receiverOf(text: string, index: number, hasArrow: boolean): Receiver {
  const dot = dotBefore(text, index, hasArrow);
  if (dot === undefined) return undefined;
  return stepsBefore({ text, least: Math.max(0, index - MOST_BACK), hasArrow }, dot);
}

/** Where the dot, the arrow or the colons before this place begin. */
function dotBefore(text: string, index: number, hasArrow: boolean): number | undefined {
  const at = beforeSpace(text, index);
  const joint = text.slice(Math.max(0, at - 2), at);
  if (joint === '::' || joint === '?.' || (joint === '->' && hasArrow)) return at - 2;
  const isDot = text[at - 1] === '.' && text[at - 2] !== '.';
  return isDot ? at - 1 : undefined;
}

function beforeSpace(text: string, index: number): number {
  let at = index;
  while (at > 0 && /\s/.test(text[at - 1] as string)) at -= 1;
  return at;
}

interface Reading {
  text: string;
  /** Nothing before this is read. */
  least: number;
  hasArrow: boolean;
}

function stepsBefore({ text, least, hasArrow }: Reading, end: number): Receiver {
  const steps: Step[] = [];
  for (let at: number | undefined = end; at !== undefined; at = dotBefore(text, at, hasArrow)) {
    at = beforeSpace(text, at);
    if (text[at - 1] === '!') at -= 1; // TypeScript's `a!.b`
    const isCalled = text[at - 1] === ')';
    const opened: number | undefined = isCalled ? openingOf(text, at - 1, least) : at;
    if (opened === undefined) return 'unknown';
    at = withoutTypeArguments(text, beforeSpace(text, opened), { isCalled, least });
    const name = /(?<![\p{L}\p{N}_$])[\p{L}\p{N}_$]+$/u.exec(text.slice(Math.max(least, at - 200), at))?.[0];
    if (name === undefined || /^\d/.test(name)) return 'unknown';
    steps.unshift({ name, isCalled });
    at -= name.length;
    if (at <= least) break;
  }
  return steps;
}

function withoutTypeArguments(
  text: string,
  at: number,
  { isCalled, least }: { isCalled: boolean; least: number },
): number {
  if (!isCalled || text[at - 1] !== '>') return at;
  return openingOf(text, at - 1, least) ?? at;
}

/** The bracket that the one at this place closes. Strings with brackets in them may mislead it; then the name before is unknown. */
function openingOf(text: string, close: number, least: number): number | undefined {
  const closing = text[close] as string;
  const opening = CLOSING[closing];
  let depth = 0;
  for (let at = close; at >= least; at--) {
    if (text[at] === closing) depth += 1;
    else if (text[at] === opening) depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}
