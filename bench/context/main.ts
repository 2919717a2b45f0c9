import { rmSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadTokenCounter } from '../../src/base/tokens.ts';
import { ReefError } from '../../src/protocol/errors.ts';
import { createArtifactStore } from '../../src/repostate/artifacts/artifact-store.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import { checkRows } from './check.ts';
import { type MeasureInput, measureRun, Reader } from './measure-run.ts';
import { type Measured, rowOf, tableOf } from './report.ts';
import { statesOf } from './states.ts';
import { STRATEGIES } from './strategies.ts';
import { exchangesOf, type Format, loadTrajectories, type Trajectory } from './trajectory.ts';

const SHIPPED = join(import.meta.dirname, 'trajectories');
const USAGE =
  'node bench/context/main.ts [--input DIR] [--format reef|mini-swe-agent] [--strategies a,b] [--json FILE] [--check]';

function readOptions() {
  const { values } = parseArgs({
    options: {
      input: { type: 'string' },
      format: { type: 'string', default: 'reef' },
      strategies: { type: 'string', default: Object.keys(STRATEGIES).join(',') },
      json: { type: 'string' },
      check: { type: 'boolean', default: false },
    },
  });
  const names = values.strategies.split(',');
  const unknown = names.filter((name) => !Object.hasOwn(STRATEGIES, name));
  if (unknown.length > 0 || !['reef', 'mini-swe-agent'].includes(values.format)) {
    throw new ReefError('bad_request', `${USAGE}\nstrategies: ${Object.keys(STRATEGIES).join(', ')}`);
  }
  return { ...values, format: values.format as Format, names: [...new Set(['full', ...names])] };
}

/** Content is named by its hash and the folder goes at the end, so nothing has to reach the disk before it is read. */
async function writeUnsynced(path: string, text: string): Promise<void> {
  await writeFile(`${path}.tmp`, text);
  await rename(`${path}.tmp`, path);
}

class Bench {
  readonly names: readonly string[];
  readonly measured = new Map<string, Measured>();
  readonly wrong: string[] = [];
  checked = 0;
  readonly #counter = loadTokenCounter();
  readonly #scratch: string;

  constructor(names: readonly string[], scratch: string) {
    this.names = names;
    this.#scratch = scratch;
    for (const name of names) this.measured.set(name, { at1024: [], at4096: [] });
  }

  async play(run: Trajectory): Promise<void> {
    const counter = await this.#counter;
    const { at, checked, wrong } = await statesOf(run, this.#scratch);
    this.checked += checked;
    this.wrong.push(...wrong);
    const dir = join(this.#scratch, 'artifacts');
    const store = createArtifactStore({
      dir,
      rootId: run.id,
      jobId: run.id,
      redact: (text) => text,
      write: writeUnsynced,
    });
    const input = { run, exchanges: exchangesOf(run), states: at, counter, reader: new Reader(counter), store };
    for (const name of this.names) await this.#measure(name, input);
    rmSync(dir, { recursive: true, force: true });
  }

  async #measure(name: string, input: MeasureInput): Promise<void> {
    const measured = this.measured.get(name);
    const at1024 = await measureRun(name, 1_024, input);
    // Only the product looks at the minimum; the others send the same whatever it is.
    const at4096 = name.startsWith('epoch') ? await measureRun(name, 4_096, input) : at1024;
    measured?.at1024.push(at1024);
    measured?.at4096.push(at4096);
  }
}

async function main(): Promise<number> {
  const options = readOptions();
  const { runs, refused } = loadTrajectories(options.input ?? SHIPPED, options.format);
  for (const error of refused) console.error(`${error.code}: ${error.message}`);
  if (runs.length === 0) throw new ReefError('trajectory_invalid', 'There is no trajectory to run.');
  using scratch = disposableFolder();
  const bench = new Bench(options.names, scratch.path);
  for (const run of runs) await bench.play(run);
  const full = bench.measured.get('full') as Measured;
  const rows = options.names.map((name) => rowOf(name, bench.measured.get(name) as Measured, full));
  const turns = runs.reduce((count, run) => count + run.turns.length, 0);
  console.log(`${runs.length} runs, ${turns} calls, ${bench.checked} facts checked, ${bench.wrong.length} wrong\n`);
  console.log(tableOf(rows));
  const { failures, drift } = checkRows({
    rows,
    checked: bench.checked,
    wrong: bench.wrong,
    isShipped: options.input === undefined,
  });
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ rows, failures, drift }, null, 2)}\n`);
  if (!options.check) return 0;
  for (const line of drift) console.error(`corpus_drift: ${line}`);
  for (const line of failures) console.error(`✗ ${line}`);
  if (failures.length + drift.length === 0) console.log('\nall promises kept');
  return failures.length + drift.length === 0 && refused.length === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof ReefError ? `${error.code}: ${error.message}` : error);
  process.exitCode = 2;
}
