import { readTree } from '../../git/repository.ts';
import type { BaseGate, CheckedBase } from '../../protocol/base-gates.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ConfiguredGate, Deps } from '../deps.ts';
import { dropGateCheckout, type GateOwner, withGateLock } from '../gate-checkouts.ts';
import { findBaseAt } from '../make/checks.ts';
import { BASE, judgeBase, knownOfBase } from './base-failures.ts';
import { type Judged, withGateCheckout } from './gate-checkout.ts';
import { lastLines } from './gates.ts';

interface Wanted {
  cwd?: string | undefined;
  base?: string | undefined;
  gate?: string | undefined;
}

/**
 * Sets up what is committed, as a worktree is, or runs one gate there: a person who watches learns after each step how it
 * went. The checkout is kept from step to step and goes with the last one.
 */
export async function checkBase(deps: Deps, wanted: Wanted, abort: AbortSignal): Promise<CheckedBase> {
  const base = await findBaseAt(deps, wanted);
  const tree = await readTree(deps.git, deps.checkout, base.commit);
  const judged = { commit: base.commit, tree, abort };
  const gates = await deps.gatesOf(BASE);
  const row: GateOwner = { id: BASE, branch: base.branch, base, path: null };
  const drop = () => withGateLock(deps, BASE, () => dropGateCheckout(deps, row));
  try {
    const said = await step(deps, { row, gates, judged, name: wanted.gate });
    const all = gates.map((gate) => (said && gate === said.of ? said.verdict : knownVerdict(deps, judged, gate)));
    if (all.every(({ result }) => result !== 'not_run')) await drop();
    return { commit: base.commit, gates: all };
  } catch (error) {
    await drop();
    if (!(error instanceof ReefError) || error.code !== 'gates_not_set_up') throw error;
    const notSetUp = `${error.details?.log ?? error.message}`;
    return { commit: base.commit, notSetUp, gates: gates.map((gate) => knownVerdict(deps, judged, gate)) };
  }
}

interface Step {
  row: GateOwner;
  gates: readonly ConfiguredGate[];
  judged: Judged;
  name: string | undefined;
}

async function step(deps: Deps, { row, gates, judged, name }: Step) {
  if (name === undefined) {
    const isOpen = gates.some((gate) => knownVerdict(deps, judged, gate).result === 'not_run');
    if (isOpen) await withGateCheckout(deps, row, judged, async () => {});
    return undefined;
  }
  const of = gates.find(({ gate }) => gate === name);
  if (of === undefined) throw new ReefError('bad_request', `gate: no gate is named ${name}`);
  const { passed, log, failures } = await judgeBase(deps, { row, gates, gate: of, ...judged });
  const verdict: BaseGate = {
    gate: name,
    command: [...of.command],
    ...(passed ? { result: 'passed' } : { result: 'failed', failures, log: lastLines(log) }),
  };
  return { of, verdict };
}

/** A failure that named nothing is no knowledge: it is tried again. */
function knownVerdict(deps: Deps, { tree }: Judged, of: ConfiguredGate): BaseGate {
  const failures = knownOfBase(deps, tree, of);
  const gate = { gate: of.gate, command: [...of.command] };
  if (failures === undefined) return { ...gate, result: 'not_run' };
  if (failures.length > 0) return { ...gate, result: 'failed', failures, reused: true };
  const isPassed = deps.store.verdicts.hasPassed(tree, of.key);
  return isPassed ? { ...gate, result: 'passed', reused: true } : { ...gate, result: 'not_run' };
}
