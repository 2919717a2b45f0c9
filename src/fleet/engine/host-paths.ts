/** Stands for the folder of all worktrees in what is recorded. */
const FOLDER = '\u0001worktrees';

/**
 * What differs between hosts in the records of a run: the folder of its worktrees, and their names. Recorded is what the
 * host wrote on which the run began; each host reads its own.
 */
export class HostPaths {
  readonly #pairs: readonly (readonly [recorded: string, here: string])[];

  /** `names` are those of worktrees that were made anew here. */
  constructor(folder: string | undefined, names: readonly (readonly [recorded: string, here: string])[] = []) {
    const folders = folder === undefined ? [] : [[`${inJson(FOLDER)}/`, `${inJson(folder)}/`] as const];
    this.#pairs = [...folders, ...names.filter(([recorded, here]) => recorded !== here)];
  }

  toRecord<T>(value: T): T {
    return this.#replace(value, (text, [recorded, here]) => text.replaceAll(here, () => recorded));
  }

  fromRecord<T>(value: T): T {
    return this.#replace(value, (text, [recorded, here]) => text.replaceAll(recorded, () => here));
  }

  #replace<T>(value: T, one: (text: string, pair: readonly [string, string]) => string): T {
    if (this.#pairs.length === 0 || value === undefined) return value;
    const before = JSON.stringify(value);
    const after = this.#pairs.reduce(one, before);
    return after === before ? value : JSON.parse(after);
  }
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
