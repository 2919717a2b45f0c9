import type { Scripts, Turn } from './script.ts';

/** The script has no answer (left) for a request. */
export class NoTurn extends Error {
  override name = 'NoTurn';
}

/** Where each run stands in its script. Two runs of one script know nothing of each other. */
export class Runs {
  readonly #scripts: Scripts;
  readonly #places = new Map<string, { turn: number; used: number }>();

  constructor(scripts: Scripts) {
    this.#scripts = scripts;
  }

  /** A request whose path names no script gets the only one there is. */
  #scriptName(wanted: string): string {
    const names = Object.keys(this.#scripts);
    return wanted === '' && names.length === 1 ? (names[0] ?? '') : wanted;
  }

  take(key: { script: string; run: string }, newest: string): Turn {
    const name = this.#scriptName(key.script);
    const turns = Object.hasOwn(this.#scripts, name) ? this.#scripts[name] : undefined;
    if (!turns) throw new NoTurn(`no script "${name}"; there are: ${Object.keys(this.#scripts).join(', ')}`);
    const id = `${name}~${key.run}`;
    const place = this.#places.get(id) ?? { turn: 0, used: 0 };
    const at = turns.findIndex(
      (turn, n) => n >= place.turn && (turn.if === undefined || new RegExp(turn.if).test(newest)),
    );
    const turn = turns[at];
    if (!turn) throw new NoTurn(`script "${name}" is exhausted: run "${key.run}" has had its ${turns.length} turns`);
    const used = at === place.turn ? place.used + 1 : 1;
    this.#places.set(id, used >= (turn.times ?? 1) ? { turn: at + 1, used: 0 } : { turn: at, used });
    return turn;
  }
}
