const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]{5,}/g;
/** What prose hardly contains: an underscore, a digit, or a capital inside. */
const CODE_LIKE = /_|\d|[a-z][A-Z]/;

/** Identifiers of six or more characters, each once, in the order of the text. */
export function identifiersIn(text: string): Set<string> {
  return new Set(text.match(IDENTIFIER));
}

/** One turn's contribution: what its calls name, then what only its thoughts name and looks like code. */
export function namesOf(callTexts: Iterable<string>, thought: string): { called: string[]; thought: string[] } {
  const called = identifiersIn([...callTexts].join('\n'));
  const thoughtOf = [...identifiersIn(thought)].filter((name) => CODE_LIKE.test(name) && !called.has(name));
  return { called: [...called], thought: thoughtOf };
}

/**
 * What the agent itself has named. After a roll the next call most often needs a name from an earlier call: they
 * are listed newest first, those of calls before those of thoughts.
 */
export class RecentNames {
  /** Insertion order is age: using a name again makes it young. */
  readonly #called = new Map<string, true>();
  readonly #thought = new Map<string, true>();

  add({ called, thought }: { called: readonly string[]; thought: readonly string[] }): void {
    for (const name of called) renew(this.#called, name);
    for (const name of thought) renew(this.#thought, name);
  }

  /** Names not shown elsewhere, best first. */
  candidates(isShown: (name: string) => boolean): string[] {
    const called = [...this.#called.keys()].reverse();
    const thought = [...this.#thought.keys()].reverse().filter((name) => !this.#called.has(name));
    return [...called, ...thought].filter((name) => !isShown(name));
  }
}

const MOST_NAMES = 5_000;

function renew(book: Map<string, true>, name: string): void {
  book.delete(name);
  book.set(name, true);
  if (book.size > MOST_NAMES) for (const oldest of book.keys()) if (book.delete(oldest)) break;
}
