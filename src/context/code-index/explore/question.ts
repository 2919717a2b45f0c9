import { partsOf } from '../words/sketch.ts';

/** One idea of a question in the forms in which code may write it. */
export interface Concept {
  forms: readonly string[];
  /** How often the question says it, at most twice. */
  weight: number;
}

export interface Question {
  concepts: readonly Concept[];
  /** Words that may be names of definitions, as written. */
  names: ReadonlySet<string>;
  wantsTests: boolean;
  wantsProse: boolean;
}

/** A stack trace or a whole log has more words than tell anything. */
const MOST_CONCEPTS = 60;
/** Only the beginning of a pasted text is a question. */
const MOST_CHARACTERS = 20_000;
const SHORTEST_STEM = 3;
/** Said of any change, so they tell nothing about where it is made. */
const EMPTY_WORDS = new Set(
  (
    'the and for with when where how what why which who this that these those from into onto not but are was were has have had ' +
    'does did doing should would could can cannot will its there then than them they their our your you any all some other ' +
    'only also even just still instead because while after before about more most such very been being between both each ' +
    'fix fixes fixed fixing bug bugs issue issues error correct correctly incorrect incorrectly wrong wrongly broken ' +
    'ensure make makes made allow allows support supported supports handle handled handles properly proper avoid avoided ' +
    'prevent prevented regression refs closes resolve resolves resolved add added adds adding change changed changes ' +
    'update updated updates use used uses using usage work works working case cases problem feat chore doc refactor perf ' +
    'code function method class file done thing things way out over per via'
  ).split(' '),
);

export function readQuestion(text: string): Question {
  const asked = text.slice(0, MOST_CHARACTERS);
  const counts = new Map<string, number>();
  for (const word of asked.match(/[\w$\x80-\uffff]+/g) ?? []) {
    for (const part of partsOf(word)) if (!EMPTY_WORDS.has(part)) counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  const merged = new Map<string, Concept>();
  for (const [part, count] of counts) {
    const stem = stemOf(part);
    const known = merged.get(stem);
    const forms = new Set([...(known?.forms ?? []), part, ...formsOf(part, stem)]);
    merged.set(stem, { forms: [...forms], weight: Math.min(2, (known?.weight ?? 0) + count) });
  }
  return {
    concepts: [...merged.values()].slice(0, MOST_CONCEPTS),
    names: new Set(asked.match(/[A-Za-z_$][\w$]{2,}/g) ?? []),
    wantsTests: /\b[Tt]ests?\b|\b[Ss]pecs?\b|\btest_|[a-z]Tests?\b/.test(asked),
    wantsProse: /\b(docs?|documentation|readme|changelog|manual|guide)\b/i.test(asked),
  };
}

const ENDINGS = ['ations', 'ation', 'ings', 'ing', 'ions', 'ion', 'ers', 'er', 'ies', 'es', 'ed', 's', 'y', 'e'];

function stemOf(part: string): string {
  for (const ending of ENDINGS) {
    if (!part.endsWith(ending) || part.length - ending.length < SHORTEST_STEM) continue;
    const stem = part.slice(0, -ending.length);
    return /([^aeiouls])\1$/.test(stem) ? stem.slice(0, -1) : stem;
  }
  return part;
}

/** The usual forms of a word. One that nobody writes is in no file and costs nothing. */
function formsOf(part: string, stem: string): string[] {
  if (!/^[a-z]+$/.test(part)) return [];
  const ends = ['', 's', 'e', 'es', 'ed', 'er', 'ers', 'ing', 'y', 'ies', 'ion', 'ions', 'ation'];
  const doubled = stem.endsWith('s')
    ? []
    : [`${stem}${stem.at(-1)}ed`, `${stem}${stem.at(-1)}ing`, `${stem}${stem.at(-1)}er`];
  return [...ends.map((end) => `${stem}${end}`), ...doubled].filter((form) => form.length >= SHORTEST_STEM);
}
