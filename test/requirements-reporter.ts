import { mkdirSync, writeFileSync } from 'node:fs';
import type { Reporter, TestModule, TestSpecification, Vitest } from 'vitest/node';
import {
  type Evidence,
  LAST_RUN_FILE,
  type LastRun,
  pageTable,
  provedTodo,
  unproved,
} from './requirements/evidence.ts';
import { type RequirementId, requirementRows } from './requirements.ts';
import { tier } from './support/scale.ts';

type Totals = Record<'passed' | 'failed' | 'skipped', number>;

function totalsOf(modules: readonly TestModule[]): Totals {
  const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      totals[state === 'pending' ? 'skipped' : state] += 1;
    }
    // A file that does not load has no failed test, and is none the better for it.
    if (module.errors().length > 0) totals.failed += 1;
  }
  return totals;
}

function evidenceOf(modules: readonly TestModule[]): LastRun['evidence'] {
  const evidence: Partial<Record<RequirementId, Evidence>> = {};
  for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
    const { verifies = [], missing } = test.meta();
    const { state } = test.result();
    for (const id of verifies) {
      const seen = evidence[id] ?? { passed: 0, failed: 0, missing: [] };
      evidence[id] = seen;
      if (state === 'passed' || state === 'failed') seen[state] += 1;
      else if (missing !== undefined) seen.missing.push(missing);
    }
  }
  return evidence;
}

/** What failed and the first line of why: said last, since the end of a long run is what people see of it. */
function failureLines(modules: readonly TestModule[]): string[] {
  const line = (where: string, errors: readonly { message: string }[]) =>
    `FAIL ${where}: ${errors[0]?.message.split('\n')[0] ?? ''}`;
  return modules.flatMap((module) => [
    ...(module.errors().length > 0 ? [line(module.relativeModuleId, module.errors())] : []),
    ...[...module.children.allTests('failed')].map((test) =>
      line(`${module.relativeModuleId} > ${test.fullName}`, test.result().errors ?? []),
    ),
  ]);
}

/** A test that depends on timing is a defect, of the test or of the product: it is said, so that somebody looks. */
function secondTries(modules: readonly TestModule[]): string[] {
  return modules.flatMap((module) =>
    [...module.children.allTests('passed')]
      .filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0)
      .map((test) => `second try ${module.relativeModuleId} > ${test.fullName}`),
  );
}

/** Why tests did not run, each reason with its ids. */
function missingLines(evidence: LastRun['evidence']): string[] {
  const idsByReason = new Map<string, string[]>();
  for (const [id, { missing }] of Object.entries(evidence)) {
    for (const reason of new Set(missing)) idsByReason.set(reason, [...(idsByReason.get(reason) ?? []), id]);
  }
  return [...idsByReason].map(([reason, ids]) => `unproved, ${reason}: ${ids.join(', ')}`);
}

/** Ends each run with the ledger and its totals; a full run fails when a done id had no passing test. */
export default class RequirementsReporter implements Reporter {
  readonly #rows: typeof requirementRows;
  readonly #file: URL;
  #vitest: Vitest | undefined;
  #full = false;

  constructor(rows = requirementRows, file = LAST_RUN_FILE) {
    this.#rows = rows;
    this.#file = file;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  async onTestRunStart(chosen: readonly TestSpecification[]): Promise<void> {
    const all = (await this.#vitest?.globTestSpecifications()) ?? [];
    const { testNamePattern, shard, project = [] } = this.#vitest?.config ?? {};
    this.#full = chosen.length === all.length && !testNamePattern && !shard && project.length === 0;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const run: LastRun = { tier: tier(), full: this.#full, evidence: evidenceOf(modules) };
    if (run.full) this.#keep(run);
    const totals = totalsOf(modules);
    const gaps = run.full ? unproved(this.#rows, run).filter(({ allowed }) => !allowed) : [];
    if (gaps.length > 0) process.exitCode = 1;
    const late = provedTodo(this.#rows, run).length;
    const lines = [
      ...(run.full ? pageTable(this.#rows, run) : []),
      ...missingLines(run.evidence),
      ...gaps.map(({ id }) => `FAIL ${id} is done but no test of tier ${run.tier} proved it`),
      ...secondTries(modules),
      ...failureLines(modules),
      ...(late > 0 ? [`proved but still todo: ${late} (npm run requirements -- --cited)`] : []),
      '',
      `${totals.passed} passed, ${totals.failed + unhandled.length} failed, ${totals.skipped} skipped`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  }

  #keep(run: LastRun): void {
    mkdirSync(new URL('.', this.#file), { recursive: true });
    writeFileSync(this.#file, `${JSON.stringify(run)}\n`);
  }
}
