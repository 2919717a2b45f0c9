/** Ids, signals and segment types as a manifest spells them. */

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
const SIGNAL = /^SIGNAL:[A-Z][A-Z0-9_]{0,63}$/;
const SEGMENT_TYPE = /^[A-Z][A-Z0-9_]{0,63}$/;
const SEPARATOR = '__';

export type Signal = `SIGNAL:${string}`;
export interface BlockAddress {
  node: string;
  name: string;
}

export const SUCCESS = 'SIGNAL:SUCCESS';
export const FAILURE = 'SIGNAL:FAILURE';
/** A key of transitions only; nobody raises it. */
export const FAIL_DEFAULT = 'SIGNAL:FAIL_DEFAULT';

/** Raised by the engine when a result is not acceptable; like a worker's, they fall to the default. */
const VERDICTS = ['SIGNAL:VALIDATION_FAIL', 'SIGNAL:NO_CHANGES'] as const;
const EVENTS = [
  'SIGNAL:RETURNED',
  'SIGNAL:RESUMED',
  'SIGNAL:JOINED',
  'SIGNAL:FORK_FAILED',
  'SIGNAL:VISITS_EXHAUSTED',
  'SIGNAL:BUDGET_EXHAUSTED',
] as const;
export type EngineSignal = (typeof VERDICTS)[number] | (typeof EVENTS)[number];

const ENGINE_ONLY: ReadonlySet<string> = new Set([...VERDICTS, ...EVENTS]);
const UNDEFAULTED: ReadonlySet<string> = new Set(EVENTS);

export function isName(text: string): boolean {
  return NAME.test(text) && !text.includes(SEPARATOR);
}

export function isSignal(text: string): text is Signal {
  return SIGNAL.test(text);
}

export function isSegmentType(text: string): boolean {
  return SEGMENT_TYPE.test(text);
}

/** Signals a worker, or a person who skips a block, may give. */
export function isWorkerSignal(text: string): text is Signal {
  return isSignal(text) && !ENGINE_ONLY.has(text) && text !== FAIL_DEFAULT;
}

export function fallsToDefault(signal: string): boolean {
  return !UNDEFAULTED.has(signal);
}

export function blockIdOf(node: string, name: string): string {
  return `${node}${SEPARATOR}${name}`;
}

/** The last separator: a node may end in an underscore, a block's name begins with none. */
export function parseBlockId(text: string): BlockAddress | undefined {
  const at = text.lastIndexOf(SEPARATOR);
  const address = { node: text.slice(0, at), name: text.slice(at + SEPARATOR.length) };
  return at > 0 && isName(address.node) && isName(address.name) ? address : undefined;
}
