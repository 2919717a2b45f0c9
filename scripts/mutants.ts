/** Small changes of a source file that a good test notices. Biome formats the code, so operators stand between spaces. */

export interface Mutant {
  path: string;
  line: number;
  /** In the text of the file. */
  at: number;
  was: string;
  now: string;
}

const SWAPS: Readonly<Record<string, string>> = {
  ' === ': ' !== ',
  ' !== ': ' === ',
  ' < ': ' <= ',
  ' <= ': ' < ',
  ' > ': ' >= ',
  ' >= ': ' > ',
  ' && ': ' || ',
  ' || ': ' && ',
  ' ?? ': ' && ',
  ' + ': ' - ',
  ' - ': ' + ',
  true: 'false',
  false: 'true',
};
const SWAPPED = / (?:===|!==|<=|>=|<|>|&&|\|\||\?\?|\+|-) |\b(?:true|false)\b/g;
const NUMBER = /(?<![\w.])\d+(?![\w.])/g;
const NOT = /(?<=[ (])!(?=[\w(])/g;
/** A statement that is a call, on one line: it is left out. */
const CALL = /^ +(?:await |void )?[\w.#]+(?:\?\.)?\([^\n]*\);$/gm;

/** All of a file, in order; none in comments, texts, types and imports. */
export function mutantsOf(path: string, code: string): Mutant[] {
  const plain = masked(code);
  const found = (pattern: RegExp, change: (was: string) => string) =>
    [...plain.matchAll(pattern)].map(({ 0: was, index: at }) => {
      const line = code.slice(0, at).split('\n').length;
      return { path, line, at, was: code.slice(at, at + was.length), now: change(was) };
    });
  return [
    ...found(SWAPPED, (was) => SWAPS[was] ?? was),
    ...found(NUMBER, (was) => String(Number(was) + 1)),
    ...found(NOT, () => ''),
    ...found(CALL, (was) => was.replace(/\S.*/, ';')),
  ].sort((a, b) => a.at - b.at);
}

export function mutate(code: string, { at, was, now }: Mutant): string {
  return code.slice(0, at) + now + code.slice(at + was.length);
}

/** The same length, with blanks where nothing is to be changed. */
function masked(code: string): string {
  const blank = (text: string) => text.replace(/[^\n]/g, ' ');
  return code
    .replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g, blank)
    .replace(/^import [\s\S]*?;$/gm, blank)
    .replace(/^(?:export )?(?:interface|type) [\s\S]*?^(?:}|[^\n]*;$)/gm, blank);
}

/** That many by chance, the same for the same seed. */
export function sample<T>(all: readonly T[], count: number, seed: number): T[] {
  let state = (seed % 2_147_483_646) + 1;
  const left = [...all];
  return Array.from({ length: Math.min(count, left.length) }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return left.splice(state % left.length, 1)[0] as T;
  });
}
