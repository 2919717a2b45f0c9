import { stem } from './stem.ts';

/** Runs of letters and digits; what joins identifiers is no part of a word. */
const RUN = /[\p{L}\p{N}]+/gu;
/** Where camelCase, PascalCase, ABCWord and word2 have their seams. */
const SEAM = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;
/** Beyond this it is no word but data. */
const LONGEST = 40;

/** Too frequent to tell one text from another; a question is full of them. */
const STOP = new Set(
  (
    'a an the and or of to in on at by for from with without as is are was were be been being it its this that these those ' +
    'i you he she we they my your our their do does did done can could should would will shall may might must have has had ' +
    'what which who whom whose when where why how there here if then than so not no nor but about into over under up out ' +
    'me us them him her am also just only any all some such get got'
  ).split(' '),
);

/** Most runs have no seam, and looking for one is what takes the time. */
const PLAIN = /^(?:[a-z]+|[A-Z][a-z]+|[0-9]+)$/;

/** The words of a text as they are compared: parts of identifiers apart, lower case, without accents, not yet stemmed. */
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

/** The words that say something. A text of stop words only keeps them: better a poor search than none. */
export function tellingWords(text: string): string[] {
  const words = wordsOf(text);
  const telling = words.filter((word) => !STOP.has(word));
  return telling.length > 0 ? telling : words;
}

export function termsOf(text: string): string[] {
  return tellingWords(text).map(stem);
}
