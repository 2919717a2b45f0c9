const VOWEL = /[aeiouy]/;
const DOUBLE = /([^aeiouylsz])\1$/;
const LONG_ENOUGH = 3;

/** Longest first. Each is taken off, or replaced, when what stays before it is a word of its own. */
const SUFFIXES: readonly (readonly [suffix: string, put: string, shortest: number])[] = [
  ['ization', 'ize', 3],
  ['ational', 'ate', 3],
  ['fulness', 'ful', 3],
  ['ousness', 'ous', 3],
  ['iveness', 'ive', 3],
  ['ability', 'able', 3],
  ['ation', 'ate', 3],
  ['ment', '', 4],
  ['ness', '', 3],
  ['able', '', 4],
  ['ible', '', 4],
  ['ance', '', 4],
  ['ence', '', 4],
  ['ator', 'ate', 3],
  ['ful', '', 3],
  ['ion', '', 4],
  ['ive', '', 4],
  ['ize', '', 3],
  ['ise', '', 3],
  ['ate', '', 3],
  ['ly', '', 3],
  ['er', '', 4],
  ['or', '', 5],
];

/**
 * Brings the forms of an English word together: rotate, rotates, rotated, rotating, rotation, rotator. A stem is for
 * comparing, not for reading; a wrong merger costs less than a missed one.
 */
export function stem(word: string): string {
  if (word.length <= LONG_ENOUGH || !/^[a-z]+$/.test(word)) return word;
  return ending(derived(tense(plural(word))));
}

function plural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2);
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
  if (word.endsWith('s') && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1);
  return word;
}

function tense(word: string): string {
  if (word.endsWith('ied')) return `${word.slice(0, -3)}y`;
  for (const suffix of ['ing', 'ed']) {
    const rest = word.slice(0, -suffix.length);
    if (word.endsWith(suffix) && rest.length >= LONG_ENOUGH && VOWEL.test(rest)) return restored(rest);
  }
  return word;
}

/** `rotat` of rotated lost an e that its suffix is known by. */
function restored(rest: string): string {
  return /(?:at|iz|bl)$/.test(rest) ? `${rest}e` : undouble(rest);
}

function derived(word: string): string {
  let left = word;
  for (const [suffix, put, shortest] of SUFFIXES) {
    if (left.endsWith(suffix) && left.length - suffix.length >= shortest) {
      left = undouble(left.slice(0, -suffix.length) + put);
    }
  }
  return left;
}

function undouble(word: string): string {
  return DOUBLE.test(word) ? word.slice(0, -1) : word;
}

function ending(word: string): string {
  if (word.length <= LONG_ENOUGH) return word;
  if (word.endsWith('y')) return `${word.slice(0, -1)}i`;
  return word.endsWith('e') ? word.slice(0, -1) : word;
}
