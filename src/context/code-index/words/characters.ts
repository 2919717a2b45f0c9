/** A word is `[A-Za-z_$\x80-\xff][A-Za-z0-9_$\x80-\xff]*`, in bytes: no decoding is needed. */
export const NONE = 0;
export const DIGIT = 1;
/** `_` and `$` belong to a word but to none of its parts. */
export const JOINT = 2;
const LOWER = 3;
const UPPER = 4;
const HIGH = 5;

export const CLASSES = classes();

function classes(): Uint8Array {
  const table = new Uint8Array(256);
  const fill = (from: string, to: string, value: number) => table.fill(value, from.charCodeAt(0), to.charCodeAt(0) + 1);
  fill('0', '9', DIGIT);
  fill('a', 'z', LOWER);
  fill('A', 'Z', UPPER);
  fill('_', '_', JOINT);
  fill('$', '$', JOINT);
  table.fill(HIGH, 0x80);
  return table;
}

export function classAt(bytes: Uint8Array, at: number): number {
  return CLASSES[bytes[at] ?? 0] ?? NONE;
}

/** Whether a part of a word begins at `at`: after a joint, at a hump (`getQuery`), at the last capital of a run (`HTTPServer`). */
export function beginsPart(bytes: Uint8Array, at: number): boolean {
  const before = classAt(bytes, at - 1);
  if (at === 0 || before === NONE || before === JOINT) return true;
  if (classAt(bytes, at) !== UPPER) return false;
  return before !== UPPER || classAt(bytes, at + 1) === LOWER;
}
