import { withoutColours } from '../../base/printable.ts';
import type { Oid } from '../../git/ref-name.ts';
import { readTree } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ComparedFailures } from '../../protocol/workflow.ts';
import type { ConfiguredGate, Deps } from '../deps.ts';
import type { GateOwner } from '../gate-checkouts.ts';
import type { StoredWorktree } from '../records.ts';
import { type Judged, runInOrder, withGateCheckout } from './gate-checkout.ts';

/** How test runners, compilers and linters name what failed. */
const FAILURES = [
  /^\s*[✖✗✘×●] +(.+)$/, // node:test, vitest, ava, jest
  /^\s*not ok \d+ -? ?(.+)$/, // TAP
  /^\s*(?:FAILED|FAIL:?|ERROR:?) +(\S.*)$/, // pytest, unittest, vitest, jest
  /^\s*--- FAIL: (\S+)/, // go
  /^test (.+) \.\.\. FAILED$/, // cargo
  /^(\S+?)[(:]\d+[,:]\d+\)?(?: -|:) +(error.*)$/, // tsc, gcc, eslint
  /^ +\d+:\d+ +(error +.+)$/, // eslint
];
/** What a program says that breaks before its first test. Looked at only where nothing else is named: a message may differ each time. */
const BREAKS = [/^(?:Uncaught )?((?:[A-Z][A-Za-z.]{0,60})?(?:Error|Exception)(?: \[\w{1,60}\])?: .+)$/];
/** Looked at from its first digit only, so that a long number takes no longer than its length. */
const SECONDS = /[([]?(?<!\d)\d+(?:\.\d+)? ?m?s[)\]]?$/;
const MOST = 200;
const LONGEST = 200;
const LONGEST_LINE = 1_000;

/** What a log names as failed, without times and without the folder it ran in. */
export function failuresIn(log: string, worktreeId: string): string[] {
  // From the beginning of a word only: tests of the agent's wrote the log, and it may hold anything.
  const folder = new RegExp(`(?<!\\S)\\S*?/(?:scratch-)?${worktreeId}/`, 'g');
  const lines = withoutColours(log)
    .split('\n')
    .map((whole) => whole.slice(0, LONGEST_LINE).replace(folder, '').trimEnd());
  const named = namesIn(lines, FAILURES);
  return named.length > 0 ? named : namesIn(lines, BREAKS);
}

function namesIn(lines: readonly string[], patterns: readonly RegExp[]): string[] {
  const named = lines.flatMap((line) => {
    for (const pattern of patterns) {
      const found = pattern.exec(line);
      if (found) return [found.slice(1).join(' ').replace(SECONDS, '').trim().slice(0, LONGEST)];
    }
    return [];
  });
  // A heading, such as "failing tests:", is none.
  return [...new Set(named)].filter((name) => !name.endsWith(':')).slice(0, MOST);
}

interface Failed {
  row: StoredWorktree;
  /** All gates of the worktree, in their order. */
  gates: readonly ConfiguredGate[];
  gate: string;
  log: string;
  /** The commit before the change. */
  base: Oid;
}

/** What of a failure was there before the change, if any of it was. The base is judged once, whoever asks. */
export async function compareWithBase(deps: Deps, failed: Failed): Promise<ComparedFailures | undefined> {
  const now = failuresIn(failed.log, failed.row.id);
  if (now.length === 0) return undefined;
  const before = new Set(await failuresOfBase(deps, failed));
  const already = now.filter((name) => before.has(name));
  return already.length === 0 ? undefined : { already, fresh: now.filter((name) => !before.has(name)) };
}

async function failuresOfBase(deps: Deps, { row, gates, gate, base }: Failed): Promise<string[]> {
  const own = gates.find((each) => each.gate === gate);
  if (own === undefined) return [];
  const tree = await readTree(deps.git, deps.checkout, base);
  const known = knownOfBase(deps, tree, own);
  if (known) return known;
  try {
    return (await judgeBase(deps, { row, gates, gate: own, commit: base, tree })).failures;
  } catch (error) {
    // Nothing is known of a base that cannot be set up: then everything counts as new.
    if (error instanceof ReefError && error.code === 'gates_not_set_up') return [];
    throw error;
  }
}

/** What the gate named as failed before any change; empty if it has passed, undefined if it has not judged these files. */
export function knownOfBase(
  { store: { verdicts } }: Deps,
  tree: Oid,
  { key }: Pick<ConfiguredGate, 'key'>,
): string[] | undefined {
  return verdicts.hasPassed(tree, key) ? [] : verdicts.baseFailures(tree, key);
}

interface OnBase extends Judged {
  /** In whose checkout for gates it runs. */
  row: GateOwner;
  gates: readonly ConfiguredGate[];
  gate: ConfiguredGate;
}

/** Verdicts on files that no run has changed are stored under this name. */
export const BASE = 'base';

/** Runs a gate on files before any change, and keeps what it said for whoever compares with them. */
export async function judgeBase(deps: Deps, { row, gates, gate, ...judged }: OnBase) {
  const earlier = gates.slice(0, gates.indexOf(gate)).map((each) => each.gate);
  const byName = new Map(gates.map((each) => [each.gate, each]));
  const { passed, log } = await withGateCheckout(deps, row, judged, (at) =>
    runInOrder(at, {
      gate: gate.gate,
      earlier,
      run: (name) => (byName.get(name) ?? gate).run(at.folder, judged.abort),
    }),
  );
  judged.abort?.throwIfAborted(); // it was ended and has judged nothing
  const { verdicts } = deps.store;
  const { tree } = judged;
  const failures = passed ? [] : failuresIn(log, row.id);
  deps.store.commit(() => {
    if (!passed) return verdicts.keepBaseFailures(tree, gate.key, failures);
    const place = { branch: tree, block: gate.command.join(' '), visit: 1, gate: gate.gate };
    verdicts.insert(BASE, [{ ...place, result: 'passed', tree, key: gate.key }]);
  });
  return { passed, log, failures };
}
