import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { expect } from 'vitest';
import { type Instruction, RunModel } from '../../../test/support/models/run-model.ts';
import { scale } from '../../../test/support/scale.ts';
import { disposableFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import { MortalEngine } from '../../../test/support/workflow/mortal-engine.ts';
import type { Json } from '../../protocol/workflow.ts';

/** The durable engine against the model of it, killed at any of its transactions. */

const SEQUENCES = scale('Q-42', { test: 600, faults: 20_000, soak: 500_000 });
const RUNS = ['r0', 'r1', 'r2'];

type Model = Map<string, RunModel>;
type Command = fc.AsyncCommand<Model, MortalEngine, true>;
type Act = (model: Model, real: MortalEngine) => Promise<void>;

const step = fc.record({ do: fc.constant('step' as const), held: fc.boolean(), fails: fc.nat(9).map((n) => n === 0) });
const wait = fc.record({ do: fc.constant('wait' as const) });
const plain = fc.oneof(step, wait);
const child = fc.record({
  do: fc.constant('child' as const),
  program: fc.array(plain, { minLength: 1, maxLength: 2 }),
});
const program = fc.array(fc.oneof({ weight: 4, arbitrary: plain }, { weight: 1, arbitrary: child }), {
  minLength: 1,
  maxLength: 6,
});

/** Each has a key of its own. */
function named(instructions: readonly object[]): Instruction[] {
  return instructions.map((each, n) =>
    'program' in each ? { ...each, key: `k${n}`, program: named(each.program as object[]) } : { ...each, key: `k${n}` },
  ) as Instruction[];
}

const keysOf = (instructions: Instruction[], inside = ''): string[] =>
  instructions.flatMap((each) =>
    each.do === 'child' ? keysOf(each.program, `${inside}${each.key}/`) : [`${inside}${each.key}`],
  );

/** Until the engine is where the model is; a death on the way is another life. */
async function agree(model: Model, real: MortalEngine): Promise<void> {
  for (const [run, expected] of model) {
    const look = async () => {
      if (real.isDead) await real.reopen();
      return real.came(run);
    };
    const came = JSON.stringify(expected.came());
    await eventually(look, (seen) => JSON.stringify(seen) === came, {
      what: `${run}: ${came}`,
      everyMs: 1,
      withinMs: 10_000,
    });
    const effects = [...(real.effects.get(run) ?? [])].map((key) => key.slice(run.length + 1));
    expect([run, effects, real.repeated]).toEqual([run, expected.effects(), []]);
  }
}

class Actions {
  readonly did = new Map<string, number>();

  all(): fc.Arbitrary<Command>[] {
    const run = fc.constantFrom(...RUNS);
    return [
      fc
        .tuple(run, program)
        .map(([id, made]) => this.#one('start', (m, real) => start(m, real, { id, made: named(made) }))),
      fc.tuple(run, fc.nat(9), fc.nat(2)).map((what) => this.#one('answer', (m, real) => answer(m, real, what))),
      fc.tuple(run, fc.nat(9), fc.nat(2)).map((what) => this.#one('answer', (m, real) => answer(m, real, what))),
      run.map((id) => this.#one('release', (m, real) => release(m, real, id))),
      run.map((id) => this.#one('release', (m, real) => release(m, real, id))),
      run.map((id) => this.#one('cancel', (m, real) => cancel(m, real, id))),
      fc
        .tuple(fc.integer({ min: 1, max: 6 }), fc.boolean())
        .map(([nth, isStored]) => this.#one('fuse', async (_, real) => real.arm(nth, isStored))),
      fc.constant(this.#one('kill', (_, real) => real.reopen())),
    ];
  }

  #one(name: string, act: Act): Command {
    return {
      check: async (model) => name === 'start' || name === 'kill' || name === 'fuse' || model.size > 0,
      toString: () => name,
      run: async (model, real) => {
        this.did.set(name, (this.did.get(name) ?? 0) + 1);
        await act(model, real);
        await agree(model, real);
      },
    };
  }
}

async function start(
  model: Model,
  real: MortalEngine,
  { id, made }: { id: string; made: Instruction[] },
): Promise<void> {
  const input = { run: id, inside: '', program: made } as unknown as Json;
  const refusal = (error: { code?: string }) => error.code ?? Promise.reject(error);
  const { said } = await real.call((engine) =>
    engine.start('program', id, input).then(
      () => 'started',
      (error) => (real.isDead ? Promise.reject(error) : refusal(error)),
    ),
  );
  const known = model.get(id);
  const isOther = known !== undefined && JSON.stringify(known.program) !== JSON.stringify(made);
  expect(said).toBe(isOther ? 'run_exists' : 'started');
  if (!known) model.set(id, new RunModel(made));
}

async function answer(model: Model, real: MortalEngine, [id, nth, who]: [string, number, number]): Promise<void> {
  const run = model.get(id);
  if (!run) return;
  const { at } = { at: '', ...run.came() };
  const keys = keysOf(run.program);
  const key = nth < 6 && at !== '' ? at : (keys[nth % keys.length] ?? '');
  const given = { id: `a${who}`, value: `by ${who}` };
  const { said, died } = await real.call((engine) => engine.answer(id, key, given.id, given.value));
  const expected = run.answer(key, given);
  // It was stored before its caller could hear so.
  if (!(died && said === 'duplicate' && expected === 'taken')) expect(said).toBe(expected);
}

async function release(model: Model, real: MortalEngine, id: string): Promise<void> {
  const run = model.get(id);
  const came = run?.came();
  if (!run || came?.status !== 'at work') return;
  run.released.add(came.at);
  real.release(id, came.at);
}

async function cancel(model: Model, real: MortalEngine, id: string): Promise<void> {
  const run = model.get(id);
  if (!run) return;
  await real.call((engine) => engine.cancel(id, 'enough'));
  run.cancel('enough');
}

verifies('Q-42').test(
  `the durable engine agrees with its reference model, in ${SEQUENCES} sequences of up to 60 actions, kills among them`,
  async () => {
    const actions = new Actions();
    let deaths = 0;
    const sequences = fc.commands(actions.all(), {
      maxCommands: 60,
      size: 'max',
    });
    const property = fc.asyncProperty(sequences, async (sequence) => {
      // What a killed process wrote is there without any sync: in memory it costs no disk.
      using folder = disposableFolder(existsSync('/dev/shm') ? '/dev/shm' : undefined);
      const real = new MortalEngine(folder.path);
      try {
        await fc.asyncModelRun(() => ({ model: new Map() as Model, real }), sequence);
      } finally {
        deaths += real.deaths;
        await real.close();
      }
    });
    await fc.assert(property, { numRuns: SEQUENCES });
    const rare = [...actions.did].filter(([, times]) => times < SEQUENCES / 2);
    expect({ kinds: actions.did.size, rare }).toEqual({ kinds: 6, rare: [] });
    expect(deaths).toBeGreaterThan(SEQUENCES);
  },
  60_000 + SEQUENCES * 120,
);
