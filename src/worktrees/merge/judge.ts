import { compileGlob, matchesGlob, type Pattern } from '../../base/glob.ts';
import { readBlobs } from '../../git/blobs.ts';
import type { Checkout } from '../../git/checkout.ts';
import { diffTrees, type FileChange } from '../../git/diff.ts';
import type { Git } from '../../git/git-command.ts';
import type { Oid } from '../../git/ref-name.ts';
import { ReefError } from '../../protocol/errors.ts';
import { GATES, type Gate, type GateView } from '../../protocol/workflow.ts';
import type { Deps } from '../deps.ts';
import { driftOf } from '../plan.ts';
import type { StoredWorktree } from '../records.ts';
import { addEntry, removeEntry } from '../registry.ts';
import { type Merged, mergeBase, type Tip } from './merge-commit.ts';

interface Case {
  row: StoredWorktree;
  worktree: Checkout;
  onto: Oid;
  tip: Tip;
  merged: Merged;
  /** The user has read the list and wants the merge. */
  yes: boolean;
}

/**
 * Whether this may be merged. The gates must have passed on exactly this tree, and on the merged one if the target has
 * moved. Lists everything that needs a person's consent. Returns what a person should know.
 */
export async function judge(deps: Deps, { row, worktree, onto, tip, merged, yes }: Case): Promise<string[]> {
  const verdict = ownVerdict(deps, row.id, tip.tree);
  const concerns = await concernsOf(deps, { row, worktree, onto, tip, verdict });
  const listed = Object.values(concerns).flat();
  if (listed.length > 0 && !yes) {
    throw new ReefError('accept_needs_consent', `Accepting needs your consent: ${listed.slice(0, 20).join('; ')}.`, {
      details: concerns,
    });
  }
  if (verdict.state === 'passed' && merged.tree !== tip.tree) await judgeMerged(deps, row.id, merged);
  return [...listed, ...verdict.notRun.map((gate) => `gate not run: ${gate}`)];
}

function ownVerdict(deps: Deps, id: string, tree: Oid): GateVerdict {
  const verdict = verdictOn(deps, id, tree);
  if (verdict.state === 'passed' || verdict.state === 'none') return verdict;
  throw new ReefError('gates_stale', `The gates have not passed on the tree ${tree} (${verdict.state}).`, {
    details: { tree, state: verdict.state },
  });
}

async function judgeMerged(deps: Deps, id: string, { commit, tree }: Merged): Promise<void> {
  if (verdictOn(deps, id, tree).state === 'passed') return;
  const isPassed = await withScratch(deps, { id, commit }, (path) => passesGates(deps, id, path));
  if (!isPassed) throw new ReefError('gates_failed', `The gates fail on the merged tree ${tree}.`);
}

async function concernsOf(
  { git, fold }: Deps,
  { row, worktree, onto, tip, verdict }: Omit<Case, 'merged' | 'yes'> & { verdict: GateVerdict },
) {
  const from = (await mergeBase(git, worktree, [onto, tip.commit])) ?? row.base.commit;
  const changes = await diffTrees(git, worktree, { from, to: tip.commit });
  const paths = changes.flatMap(({ path, from: old }) => (old === undefined ? [path] : [path, old]));
  const { unplanned } = driftOf(row.changePlan, paths, fold);
  const gateFiles = await editedGateFiles(git, worktree, changes);
  return {
    waived: verdict.waived.map((gate) => `gate waived: ${gate}`),
    drift: unplanned.map((path) => `not planned: ${path}`),
    gateFiles: gateFiles.map((path) => `edits what judges it: ${path}`),
  };
}

interface GateVerdict {
  /** `none`: no run brought gates to this worktree. `stale`: they have not all judged this tree. */
  state: 'passed' | 'failed' | 'stale' | 'none';
  /** Gates that a person waived, and gates that have no command. */
  waived: string[];
  notRun: string[];
}

/** The part of a stored run that names its gates. */
interface JudgedRun {
  gates: Partial<Record<Gate, { command: readonly string[] }>>;
}

const TIMEOUT_MS = 900_000;

/** What the gates of the worktree's newest run said of exactly this tree. */
function verdictOn({ store }: Deps, worktreeId: string, tree: Oid): GateVerdict {
  const [run] = store.runs.byWorktree<JudgedRun>(worktreeId);
  if (!run) return { state: 'none', waived: [], notRun: [] };
  const configured = GATES.filter((gate) => run.doc.gates[gate] !== undefined);
  const notRun = GATES.filter((gate) => run.doc.gates[gate] === undefined);
  if (configured.length === 0) return { state: 'none', waived: [], notRun };
  const all = store.verdicts.ofRun(run.id);
  const last = (gate: Gate) => all.findLast((each) => each.gate === gate && each.tree === tree)?.result;
  const waived = all.filter(({ result }) => result === 'waived').map(({ gate }) => gate);
  return { state: stateOf(configured.map(last)), waived: [...new Set(waived)], notRun };
}

/** Whether the same gates pass in a folder that holds the merged tree. */
async function passesGates({ store, run, gateEnv }: Deps, worktreeId: string, folder: string): Promise<boolean> {
  const gates = store.runs.byWorktree<JudgedRun>(worktreeId)[0]?.doc.gates ?? {};
  for (const gate of GATES) {
    const [file, ...args] = gates[gate]?.command ?? [];
    if (file === undefined) continue;
    const { code } = await run({ file, args, cwd: folder, env: gateEnv(folder), timeoutMs: TIMEOUT_MS });
    if (code !== 0) return false;
  }
  return true;
}

function stateOf(results: (GateView['result'] | undefined)[]): GateVerdict['state'] {
  if (results.includes('failed')) return 'failed';
  return results.every((result) => result === 'passed' || result === 'waived') ? 'passed' : 'stale';
}

/** Files that decide whether work is good: an agent that edits them edits its own judge. */
const GATE_FILES = [
  '.reef/workflows.{json,yaml}',
  '.vision/workflows.json',
  '.github/workflows/**',
  '.circleci/**',
  '{.gitlab-ci,azure-pipelines,.travis,bitbucket-pipelines}.{yml,yaml}',
  'Jenkinsfile',
  '**/{vitest,jest,playwright,cypress,karma}.{config,workspace,conf}.*',
  '**/.mocharc*',
  '**/{pytest.ini,tox.ini,conftest.py,phpunit.xml,noxfile.py}',
  '**/{eslint.config.*,.eslintrc*,biome.json,biome.jsonc,.golangci.yml,ruff.toml,.flake8}',
];
const SCRIPTS_OF = '**/package.json';

const patterns = GATE_FILES.map((text) => compileGlob(text)).filter((pattern) => pattern !== undefined);

async function editedGateFiles(git: Git, checkout: Checkout, changes: readonly FileChange[]): Promise<string[]> {
  const edited: string[] = [];
  for (const change of changes) {
    const names = change.from === undefined ? [change.path] : [change.path, change.from];
    const isGate = (pattern: Pattern) => names.some((name) => matchesGlob(pattern, name));
    if (patterns.some(isGate) || (await editsScripts(git, checkout, change))) edited.push(change.path);
  }
  return edited;
}

async function editsScripts(git: Git, checkout: Checkout, { path, from, before, after }: FileChange): Promise<boolean> {
  const manifest = compileGlob(SCRIPTS_OF);
  if (!manifest || ![path, from ?? path].some((name) => matchesGlob(manifest, name))) return false;
  const scripts: string[] = [];
  for await (const blob of readBlobs(git, checkout, {
    oids: [before.oid, after.oid].filter((oid) => !/^0+$/.test(oid)),
  })) {
    scripts.push(blob.state === 'read' ? scriptsIn(blob.content) : '');
  }
  return scripts.length !== 2 || scripts[0] !== scripts[1];
}

/** A manifest that does not parse is compared whole. */
function scriptsIn(content: Buffer): string {
  try {
    return JSON.stringify((JSON.parse(content.toString('utf8')) as { scripts?: unknown }).scripts ?? null);
  } catch {
    return content.toString('latin1');
  }
}

/** A checkout on no branch, removed after `use`. */
async function withScratch<T>(
  deps: Deps,
  { id, commit }: { id: string; commit: Oid },
  use: (path: string) => Promise<T>,
): Promise<T> {
  const path = deps.layout.scratchOf(id);
  await removeEntry(deps, path);
  await addEntry(deps, { path, commit, reason: `reef scratch ${id}` });
  try {
    return await use(path);
  } finally {
    await removeEntry(deps, path);
  }
}
