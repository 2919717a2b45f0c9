const RUN = /[\p{L}\p{N}]+/gu;
/** Splits camelCase, PascalCase, ABCWord and word2. */
const SEAM = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;
/** Longer runs are data. */
const LONGEST = 40;

const STOP = new Set(
  (
    'a an the and or of to in on at by for from with without as is are was were be been being it its this that these those ' +
    'i you he she we they my your our their do does did done can could should would will shall may might must have has had ' +
    'what which who whom whose when where why how there here if then than so not no nor but about into over under up out ' +
    'me us them him her am also just only any all some such get got'
  ).split(' '),
);

/** Most runs need no split, and the search for one is slow. */
const PLAIN = /^(?:[a-z]+|[A-Z][a-z]+|[0-9]+)$/;

/** The words of a text: identifiers split, lower case, without accents, not stemmed. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [run] of withoutAccents(text).matchAll(RUN)) {
    for (const part of PLAIN.test(run) ? [run] : run.split(SEAM))
      if (part.length <= LONGEST) words.push(part.toLowerCase());
  }
  return words;
}

function withoutAccents(text: string): string {
  return /^\p{ASCII}*$/u.test(text) ? text : text.normalize('NFKD').replace(/\p{M}/gu, '');
}

/** The words without stop words. A text of stop words only keeps them. */
export function tellingWords(text: string): string[] {
  const words = wordsOf(text);
  const telling = words.filter((word) => !STOP.has(word));
  return telling.length > 0 ? telling : words;
}

export function termsOf(text: string): string[] {
  return tellingWords(text).map(stem);
}

const VOWEL = /[aeiouy]/;
const DOUBLE = /([^aeiouylsz])\1$/;
const LONG_ENOUGH = 3;

/** Longest first. A suffix is removed or replaced if at least `shortest` letters stay before it. */
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

/** Gives the forms of an English word one stem: rotate, rotated, rotation. It merges rather too much than too little. */
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

/** `rotated` becomes `rotate`, not `rotat`. */
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
