import type { Oid } from '../../../git/ref-name.ts';
import type { CodeParser, HitClass, Language } from '../../lang/contract.ts';
import type { Hit } from '../words/hits.ts';

export interface Question {
  oid: Oid;
  language: Language;
  name: string;
  /** Read when its turn comes: thousands of files are not held at once. Undefined: it has changed since. */
  source: () => Buffer | undefined;
  hits: readonly Hit[];
}

/** Skipped files stay unclassified for good: asking again would cost the same again. */
export type Classes = readonly HitClass[] | 'skipped';

const MOST_KEPT = 4_000;
/** What is left when the time is up goes on in the background, so that the next asker gets more. */
const BACKGROUND_MS = 10_000;

/** Tells calls from comments. Answers are kept by content and name: a file is parsed once for a name. */
export class Classifier {
  readonly #parser: () => Promise<CodeParser>;
  readonly #parallel: number;
  readonly #kept = new Map<string, Classes>();

  constructor(parser: () => Promise<CodeParser>, parallel: number) {
    this.#parser = parser;
    this.#parallel = parallel;
  }

  known(question: Pick<Question, 'oid' | 'language' | 'name'>): Classes | undefined {
    return this.#kept.get(keyOf(question));
  }

  forget(): void {
    this.#kept.clear();
  }

  /** Resolves when all are known or the time is up (C-062). */
  async classify(questions: readonly Question[], ms: number, signal?: AbortSignal): Promise<void> {
    const rest = questions.filter((question) => this.known(question) === undefined);
    if (rest.length === 0) return;
    const working = this.#work(rest, performance.now() + ms + BACKGROUND_MS, signal);
    const { promise: timeUp, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    await Promise.race([working, timeUp]);
    clearTimeout(timer);
  }

  async #work(questions: Question[], end: number, signal: AbortSignal | undefined): Promise<void> {
    const parser = await this.#parser();
    const isOver = () => performance.now() > end || signal?.aborted === true;
    const work = async (): Promise<void> => {
      for (let question = questions.shift(); question && !isOver(); question = questions.shift()) {
        const source = question.source();
        // A parser that is closed leaves the hits unclassified, which the answer says.
        const asked = source && { source, language: question.language, hits: question.hits };
        const classes = asked && (await parser.classify(asked).catch(() => undefined));
        if (classes) this.#keep(question, 'skipped' in classes ? 'skipped' : classes);
      }
    };
    await Promise.all(Array.from({ length: this.#parallel }, work));
  }

  #keep(question: Question, classes: Classes): void {
    this.#kept.set(keyOf(question), classes);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function keyOf({ oid, language, name }: Pick<Question, 'oid' | 'language' | 'name'>): string {
  return `${oid} ${language} ${name}`;
}
