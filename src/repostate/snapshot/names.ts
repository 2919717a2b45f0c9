const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]{5,}/g;
/** Prose rarely contains an underscore, a digit, or a capital inside a word. */
const CODE_LIKE = /_|\d|[a-z][A-Z]/;

/** Identifiers of six or more characters, each once, in the order of the text. */
export function identifiersIn(text: string): Set<string> {
  return new Set(text.match(IDENTIFIER));
}

/** The names of one turn: those in its calls, and those that only its text has and that look like code. */
export function namesOf(callTexts: Iterable<string>, thought: string): { called: string[]; thought: string[] } {
  const called = identifiersIn([...callTexts].join('\n'));
  const thoughtOf = [...identifiersIn(thought)].filter((name) => CODE_LIKE.test(name) && !called.has(name));
  return { called: [...called], thought: thoughtOf };
}

/** The names that the agent has used, because a call after a roll often needs one from an earlier call. */
export class RecentNames {
  /** In order of age: a name that is used again moves to the end. */
  readonly #called = new Set<string>();
  readonly #thought = new Set<string>();

  add({ called, thought }: { called: readonly string[]; thought: readonly string[] }): void {
    for (const name of called) renew(this.#called, name);
    for (const name of thought) renew(this.#thought, name);
  }

  /** Names that are not shown elsewhere: newest first, those of calls before those of texts. */
  candidates(isShown: (name: string) => boolean): string[] {
    const called = [...this.#called].reverse();
    const thought = [...this.#thought].reverse().filter((name) => !this.#called.has(name));
    return [...called, ...thought].filter((name) => !isShown(name));
  }
}

const MOST_NAMES = 5_000;

function renew(names: Set<string>, name: string): void {
  names.delete(name);
  names.add(name);
  const [oldest = ''] = names;
  if (names.size > MOST_NAMES) names.delete(oldest);
}
