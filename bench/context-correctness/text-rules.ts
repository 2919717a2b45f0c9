import type { Language } from '../../src/context/lang/contract.ts';
import type { LexicalRules } from '../../src/context/lang/lexical-mask.ts';

type StringRule = LexicalRules['strings'][number];

const plain = (open: RegExp, more: Partial<StringRule> = {}): StringRule => ({
  open,
  close: (opening) => opening.at(-1) ?? '"',
  escape: '\\',
  multiline: false,
  ...more,
});

const slashes = { lineComments: ['//'], blockComments: [{ open: '/*', close: '*/', nests: false }] };
/** A quote between digits is C++'s separator, one after a letter may be a prefix: `L'x'`. */
const character = plain(/(?<![0-9a-fA-F])'(?=\\|[^'\n]{1,2}')/y);

/** Comments and strings by their marks alone: the second opinion on what the grammars call text. */
export const TEXT_RULES: Partial<Record<Language, LexicalRules>> = {
  c: { ...slashes, strings: [plain(/"/y), plain(/'/y)] },
  cpp: {
    ...slashes,
    strings: [
      { open: /R"[^(\s]*\(/y, close: (opening) => `)${opening.slice(2, -1)}"`, multiline: true },
      plain(/"/y),
      character,
    ],
  },
  java: { ...slashes, strings: [plain(/"""/y, { close: () => '"""', multiline: true }), plain(/"/y), plain(/'/y)] },
  go: { ...slashes, strings: [plain(/`/y, { multiline: true, escape: '\0' }), plain(/"/y), plain(/'/y)] },
  rust: {
    lineComments: ['//'],
    blockComments: [{ open: '/*', close: '*/', nests: true }],
    strings: [
      {
        open: /b?r#*"/y,
        close: (opening) => `"${/#*/.exec(opening.slice(opening.indexOf('r') + 1))?.[0] ?? ''}`,
        multiline: true,
      },
      plain(/"/y, { multiline: true }),
      plain(/'(?=\\|[^'\n]{1,2}')/y),
    ],
  },
};
