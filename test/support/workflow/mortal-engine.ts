import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import type { Json } from '../../../src/protocol/workflow.ts';
import { Store } from '../../../src/store/store.ts';
import type { Durable } from '../../../src/workflow/durable/durable.ts';
import type { DurableEngine } from '../../../src/workflow/durable/durable-engine.ts';
import { EmbeddedEngine } from '../../../src/workflow/durable/embedded-engine.ts';
import type { Came, Instruction } from '../models/run-model.ts';

class Died extends Error {}
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** One life of the process: nothing that it does after its death is stored or has an effect. */
interface Life {
  dir: string;
  store: Store;
  engine: DurableEngine;
  isDead: boolean;
  /** Where each run is, as this life has met it. */
  at: Map<string, string>;
}

interface Play {
  run: string;
  inside: string;
  program: Instruction[];
}

/** A durable engine that can be killed at any of its transactions and goes on in a new life with what was stored. */
export class MortalEngine {
  /** The keys of all effects: what lies outside of the engine, as files do. */
  readonly effects = new Map<string, Set<string>>();
  /** Steps that were called although their result was recorded. */
  readonly repeated: string[] = [];
  deaths = 0;
  readonly #root: string;
  readonly #released = new Set<string>();
  readonly #waiting = new Set<() => void>();
  #lives = 0;
  #fuse: { left: number; isStored: boolean } | undefined;
  #life: Life;

  constructor(root: string) {
    this.#root = root;
    this.#life = this.#open();
  }

  /** It dies at that transaction, before it is stored or after. */
  arm(nth: number, isStored: boolean): void {
    this.#fuse = { left: nth, isStored };
  }

  release(run: string, key: string): void {
    this.#released.add(`${run}/${key}`);
    for (const look of [...this.#waiting]) look();
  }

  get isDead(): boolean {
    return this.#life.isDead;
  }

  /** Repeated in the next life when the process dies of it, as every client does. */
  async call<T>(act: (engine: DurableEngine) => Promise<T>): Promise<{ said: T; died: boolean }> {
    try {
      return { said: await act(this.#life.engine), died: false };
    } catch (error) {
      if (!this.#life.isDead) throw error;
      await this.reopen();
      return { said: await act(this.#life.engine), died: true };
    }
  }

  /** The process is killed now, if it is not dead yet. */
  async reopen(): Promise<void> {
    const dead = this.#life;
    this.#fuse = undefined;
    dead.isDead = true;
    this.deaths += 1;
    this.#life = this.#open(dead.dir);
    await this.#life.engine.recover();
    await this.#bury(dead);
  }

  /** How a run stands, by its journal. */
  async came(run: string): Promise<Came> {
    const { store, engine, at } = this.#life;
    if (!store.journal.find(run, 'end', '')) return { status: 'at work', at: at.get(run) ?? '' };
    const end = await engine.result(run);
    return end.status === 'failed' ? { status: 'failed' } : (end as Came);
  }

  async close(): Promise<void> {
    this.#life.isDead = true;
    await this.#bury(this.#life);
  }

  #open(from?: string): Life {
    const dir = join(this.#root, String(this.#lives++));
    mkdirSync(dir);
    for (const name of from === undefined ? [] : ['db', 'db-wal']) {
      if (existsSync(join(from ?? '', name))) copyFileSync(join(from ?? '', name), join(dir, name));
    }
    const store = new Store(join(dir, 'db'));
    const engine = new EmbeddedEngine({ store, clock: systemClock, log: silent });
    const life: Life = { dir, store, engine, isDead: false, at: new Map() };
    const commit = store.commit.bind(store);
    store.commit = (work) => {
      const isLast = this.#fuse !== undefined && --this.#fuse.left <= 0;
      if (life.isDead || (isLast && !this.#fuse?.isStored)) this.#die(life);
      const result = commit(work);
      if (isLast) this.#die(life);
      return result;
    };
    engine.define('program', (durable, input) => this.#play(life, durable, input as unknown as Play));
    return life;
  }

  #die(life: Life): never {
    life.isDead = true;
    throw new Died('killed');
  }

  async #bury({ dir, store, engine }: Life): Promise<void> {
    await engine.close();
    store.close();
    rmSync(dir, { recursive: true });
  }

  async #play(life: Life, durable: Durable, { run, inside, program }: Play): Promise<Json> {
    const values: Json[] = [];
    for (const each of program) {
      const key = `${inside}${each.key}`;
      if (each.do === 'child') {
        const input = { run, inside: `${key}/`, program: each.program };
        values.push((await durable.child(key, 'program', input as unknown as Json)) ?? null);
      } else if (each.do === 'wait') {
        life.at.set(run, key);
        values.push((await durable.waitFor(key, 'which?')) ?? null);
      } else {
        const scope = { life, run, key, step: each };
        values.push(await durable.step(key, null, ({ effectKey, abort }) => this.#do(scope, effectKey, abort)));
      }
    }
    return values;
  }

  async #do(
    { life, run, key, step }: { life: Life; run: string; key: string; step: Extract<Instruction, { do: 'step' }> },
    effectKey: string,
    abort: AbortSignal,
  ): Promise<string> {
    if (life.isDead) throw new Died('killed');
    if (life.store.journal.find(run, 'step', key)) this.repeated.push(effectKey);
    this.effects.set(run, (this.effects.get(run) ?? new Set()).add(effectKey));
    life.at.set(run, key);
    if (step.held) await this.#letGo(`${run}/${key}`, abort);
    if (step.fails) throw new Error('it failed');
    return key;
  }

  #letGo(name: string, abort: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!this.#released.has(name) && !abort.aborted) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      abort.addEventListener('abort', look, { once: true });
      look();
    });
  }
}
