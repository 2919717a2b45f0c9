import type { Oid } from '../../git/ref-name.ts';
import { readTree } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ComparedFailures } from '../../protocol/workflow.ts';
import type { ConfiguredGate, Deps } from '../deps.ts';
import type { StoredWorktree } from '../records.ts';
import { runInOrder, withGateCheckout } from './gate-checkout.ts';

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
/** Looked at from its first digit only, so that a long number takes no longer than its length. */
const SECONDS = /[([]?(?<!\d)\d+(?:\.\d+)? ?m?s[)\]]?$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of a terminal begin with one
const COLOURS = /\u001b\[[\d;]*m/g;
const MOST = 200;
const LONGEST = 200;
const LONGEST_LINE = 1_000;

/** What a log names as failed, without times and without the folder it ran in. */
export function failuresIn(log: string, worktreeId: string): string[] {
  // From the beginning of a word only: tests of the agent's wrote the log, and it may hold anything.
  const folder = new RegExp(`(?<!\\S)\\S*?/(?:scratch-)?${worktreeId}/`, 'g');
  const lines = log.replace(COLOURS, '').split('\n');
  const named = lines.flatMap((whole) => {
    const line = whole.slice(0, LONGEST_LINE).replace(folder, '').trimEnd();
    for (const pattern of FAILURES) {
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
  const index = gates.findIndex((each) => each.gate === gate);
  const own = gates[index];
  if (own === undefined) return [];
  const { key } = own;
  const { verdicts } = deps.store;
  const tree = await readTree(deps.git, deps.checkout, base);
  const known = verdicts.hasPassed(tree, key) ? [] : verdicts.baseFailures(tree, key);
  if (known) return known;
  const earlier = gates.slice(0, index).map((each) => each.gate);
  const byName = new Map(gates.map((each) => [each.gate, each]));
  try {
    const { passed, log } = await withGateCheckout(deps, row, { commit: base, tree }, (at) =>
      runInOrder(at, { gate, earlier, run: (name) => (byName.get(name) ?? own).run(at.folder) }),
    );
    const failures = passed ? [] : failuresIn(log, row.id);
    deps.store.commit(() => verdicts.keepBaseFailures(tree, key, failures));
    return failures;
  } catch (error) {
    // Nothing is known of a base that cannot be set up: then everything counts as new.
    if (error instanceof ReefError && error.code === 'gates_not_set_up') return [];
    throw error;
  }
}
