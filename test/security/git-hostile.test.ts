import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { advanceBranch, restoreFiles } from '../../src/git/advance.ts';
import { hashFiles, readBlobs } from '../../src/git/blobs.ts';
import { capture } from '../../src/git/capture.ts';
import { commitTree } from '../../src/git/commit.ts';
import { diffRanges, diffTrees } from '../../src/git/diff.ts';
import { createGit, type Git } from '../../src/git/git-command.ts';
import { mergeAll, mergeTrees } from '../../src/git/merge.ts';
import { whyBadName } from '../../src/git/ref-name.ts';
import { listRefs, setRef } from '../../src/git/refs.ts';
import { findCommit, isAncestor, readRef, readTree } from '../../src/git/repository.ts';
import { readStatus } from '../../src/git/status.ts';
import { listTree } from '../../src/git/tree.ts';
import { pruneWorktree, removeWorktree } from '../../src/git/worktree.ts';
import { run } from '../../src/process/run.ts';
import { ReefError } from '../../src/protocol/errors.ts';
import { addWorktree } from '../support/git/add-worktree.ts';
import { everyVerb } from '../support/git/every-verb.ts';
import {
  canaryNames,
  type HostileWorld,
  makeHostileWorld,
  type Placement,
  runPlainCommands,
  TERMINAL,
} from '../support/git/hostile.ts';
import { collect, makeRepository, type TestRepository } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';

const AT = new Date('2026-03-04T05:06:07Z');
const signature = { name: 'N', email: 'n@example.invalid', at: AT };

interface Outcome {
  /** `verb: canary`, each once. */
  fired: string[];
  failed: string[];
}

async function runEveryVerb(world: HostileWorld, git: Git): Promise<Outcome> {
  const outcome: Outcome = { fired: [], failed: [] };
  const note = (name: string) => outcome.fired.push(...world.takeFired().map((canary) => `${name}: ${canary}`));
  world.takeFired();
  for await (const [name, act] of everyVerb(world, git)) {
    note(`before ${name}`);
    await act().catch((error: Error) => outcome.failed.push(`${name}: ${error.message}`));
    note(name);
  }
  note('after all');
  return outcome;
}

const PLACEMENTS: Placement[] = ['local', 'conditional includes', 'worktree config'];

for (const placement of PLACEMENTS) {
  verifies('X-118', 'X-30', 'X-31').test(`hostile values by ${placement} run nothing in any verb`, async () => {
    const world = makeHostileWorld(placement);
    const outcome = await runEveryVerb(world, world.git);
    expect({ ...outcome, left: await readStatus(world.git, world.place) }).toEqual({ fired: [], failed: [], left: [] });
  });
}

verifies('X-118')
  .needs(process.platform === 'linux' && existsSync(TERMINAL), 'linux and its `script`, which gives git a terminal')
  .test('the same verbs without the hardening run canaries, and plain commands run all others', async () => {
    const world = makeHostileWorld('local');
    const { fired } = await runEveryVerb(world, world.soft);
    runPlainCommands(world);
    const seen = new Set([...fired.map((line) => line.slice(line.indexOf(': ') + 2)), ...world.takeFired()]);
    const { major, minor } = await world.git.version();
    const knowsHooksByName = major > 2 || minor >= 54;
    expect(canaryNames().filter((name) => !seen.has(name))).toEqual(knowsHooksByName ? [] : ['hook.command']);
    const verbs = new Set(fired.map((line) => line.slice(0, line.indexOf(': '))));
    expect([...verbs]).toEqual(
      expect.arrayContaining([
        ...['setRef', 'listIndex', 'listUntracked', 'listTouched', 'readStatus', 'hashFiles', 'capture', 'readBlobs'],
        ...['mergeTrees', 'mergeAll', 'addWorktree', 'restoreFiles', 'removeCleanWorktree', 'advanceBranch'],
      ]),
    );
  });

verifies('X-118').test(
  'an object that is missing is fetched from nowhere, also by a git that cannot be told not to try',
  async () => {
    const world = makeHostileWorld('local');
    const fetches = async (...dropped: string[]) => {
      const without = (env: Readonly<Record<string, string>>) =>
        Object.fromEntries(Object.entries(env).filter(([name]) => !dropped.includes(name)));
      const git = createGit({ run: (spec) => run({ ...spec, env: without(spec.env) }), env: world.env });
      // One that tries may fail as well, by the end of the program it started.
      await collect(readBlobs(git, world.place, { oids: ['1'.repeat(40)] })).catch(() => []);
      return world.takeFired();
    };
    const [lazy, protocol] = ['GIT_NO_LAZY_FETCH', 'GIT_ALLOW_PROTOCOL'];
    expect([await fetches(), await fetches(lazy), await fetches(lazy, protocol)]).toEqual([[], [], ['remote.ext']]);
  },
);

verifies('X-118').test('a driver planted between two commands does not run in the second', async () => {
  const { git, place, root, plain, write } = makeRepository({ 'a.txt': 'one\n' });
  const [canary, main] = [join(root, 'canary'), plain('rev-parse', 'HEAD')];
  const worktree = await addWorktree(git, place, { path: join(root, 'w'), branch: 'x', commit: main, reason: '' });
  await readStatus(git, worktree);
  const plants = [
    () => plain('config', 'filter.late.clean', `touch ${canary}; cat`),
    () => plain('config', '-f', join(place.commonDir, 'config'), 'filter.late.clean', `touch ${canary}; cat`),
    () => {
      plain('config', 'extensions.worktreeConfig', 'true');
      plain('config', '-f', join(worktree.gitDir, 'config.worktree'), 'filter.other.clean', `touch ${canary}; cat`);
    },
  ];
  for (const [at, plant] of plants.entries()) {
    writeFileSync(join(worktree.toplevel, '.gitattributes'), `*.txt filter=${at === 2 ? 'other' : 'late'}\n`);
    write('a.txt', `${at}\n`);
    writeFileSync(join(worktree.toplevel, 'a.txt'), `${at}\n`);
    plant();
    await collect(hashFiles(git, worktree, ['a.txt']));
    await capture(git, worktree, { ref: 'refs/reef/held/1', message: 'x', at: AT });
    expect(existsSync(canary)).toBe(false);
  }
  spawnSync('git', ['-C', worktree.toplevel, 'add', '-A']);
  expect(existsSync(canary)).toBe(true);
});

verifies('X-119').test(
  'a submodule is not entered, filled or updated, whatever the configuration asks for',
  async () => {
    const world = makeHostileWorld('local');
    const { git, place, root, checkout, plain } = world;
    const commit = plain('rev-parse', 'HEAD');
    const path = join(root, 'w');
    await addWorktree(git, place, { path, branch: 'x', commit, reason: '' });
    const inside = () => readdirSync(join(path, 'sub'));
    const tree = await capture(git, place, { ref: 'refs/reef/held/1', message: 'x', at: AT });
    await advanceBranch(git, place, {
      branch: 'x',
      from: commit,
      to: await commitTree(git, place, { tree: tree.tree, parents: [commit], message: 'x', signature }),
    });
    expect([inside(), world.takeFired(), readdirSync(join(checkout, 'sub')).sort()]).toEqual([
      [],
      [],
      ['.git', 'dirty'],
    ]);
  },
);

/** Marks the folder a shell would run in, and others that a careless command would write to. */
const marks = ({ root, checkout, env }: TestRepository) =>
  [root, checkout, env.HOME ?? '', '/', process.cwd()]
    .map((folder) => join(folder, MARK))
    .filter((file) => existsSync(file));
const MARK = 'reef-canary-of-a-test';
const SHELL = [
  `$(touch ${MARK})`,
  `\`touch ${MARK}\``,
  `;touch ${MARK};`,
  `|touch ${MARK}`,
  `&touch ${MARK}&`,
  `\ntouch ${MARK}\n`,
  `'; touch ${MARK}; '`,
];
const OPTIONS = [
  `--output=${MARK}`,
  `-o${MARK}`,
  `--upload-pack=touch ${MARK}`,
  `--exec=touch ${MARK}`,
  `-oProxyCommand=touch ${MARK}`,
  '--help',
  '-',
];
const ODD = [
  'a',
  '\0',
  '..',
  '.lock',
  '@{',
  '~',
  '^{/x}',
  ':',
  '*',
  '[',
  ' ',
  '\t',
  '\r',
  '"',
  "'",
  '\\',
  '🐚',
  '\u202e',
  '\ud800',
  '\x1b]52;',
  '%s',
  '{}',
  '#',
];
const hostileText = fc
  .array(fc.constantFrom(...SHELL, ...OPTIONS, ...ODD), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(''));
const sample = (count: number) => [...new Set(fc.sample(hostileText, { numRuns: count, seed: 1 }))];
const isRefusal = (error: unknown) => error instanceof ReefError && error.code === 'ref_invalid';

verifies('X-109').test('hostile names of branches, refs and revisions are refused or mere names', async () => {
  const world = makeRepository();
  const { git, place, root, plain } = world;
  const commit = plain('rev-parse', 'HEAD');
  const outcomes = { refused: 0, made: 0, wrong: [] as string[] };
  const attempt = async (name: string, act: () => Promise<unknown>) => {
    await act().then(
      () => outcomes.made++,
      (error: unknown) =>
        isRefusal(error) ? outcomes.refused++ : outcomes.wrong.push(`${JSON.stringify(name)}: ${error}`),
    );
  };
  for (const name of sample(10_000)) {
    const isTried = outcomes.made < 50; // what is not refused takes a process or two
    const branch = `new/${name}`;
    if (isTried || whyBadName(name) !== undefined) {
      await attempt(name, () => setRef(git, place, { ref: `refs/heads/${name}`, to: commit, from: null }));
      await attempt(name, () =>
        addWorktree(git, place, { path: join(root, `w${outcomes.made}`), branch, commit, reason: name }),
      );
    }
    if (isTried || /^-|[\p{Cc}\p{Cs}]/u.test(name)) await attempt(name, () => findCommit(git, place, name));
  }
  expect([outcomes.wrong, outcomes.refused > 2_000, outcomes.made >= 50, marks(world)]).toEqual([[], true, true, []]);
});

verifies('X-109').test('hostile names of files are mere names in every verb', async () => {
  const world = makeRepository();
  const { git, place, checkout, plain, root } = world;
  const from = plain('rev-parse', 'HEAD');
  const isFileName = (name: string) => !/[/\0\ud800]|^\.\.?$/.test(name) && Buffer.byteLength(name) <= 255;
  const names = sample(1_200).filter(isFileName);
  for (const name of names) writeFileSync(join(checkout, name), name);
  const kept = await capture(git, place, { ref: 'refs/reef/held/1', message: 'x', at: AT });
  const sorted = (list: string[]) => [...list].sort();
  const untracked = (await readStatus(git, place)).map(({ path }) => path);
  const listed = (await collect(listTree(git, place, kept.tree))).map(({ path }) => path);
  const ranges = (await diffRanges(git, place, { from, to: kept.commit })).map(({ path }) => path);
  const hashed = (await collect(hashFiles(git, place, names)))
    .filter(({ oid }) => oid !== undefined)
    .map(({ path }) => path);
  const again = await addWorktree(git, place, { path: join(root, 'w'), branch: 'x', commit: from, reason: '' });
  await restoreFiles(git, again, kept);
  expect({
    count: names.length > 500,
    untracked: sorted(untracked),
    ranges: sorted(ranges),
    hashed: sorted(hashed),
  }).toEqual({
    ...{ count: true, untracked: sorted(names), ranges: sorted(names), hashed: sorted(names) },
  });
  expect([sorted(listed), sorted(readdirSync(join(root, 'w')))]).toEqual([
    sorted([...names, 'a.txt']),
    sorted([...names, 'a.txt', '.git']),
  ]);
  expect(marks(world).filter((file) => !names.includes(file.slice(checkout.length + 1)))).toEqual([]);
});

verifies('X-109').test('hostile identities, messages and remotes are mere text', async () => {
  const world = makeRepository();
  const { git, place, plain } = world;
  const [commit, tree] = [plain('rev-parse', 'HEAD'), plain('rev-parse', 'HEAD^{tree}')];
  for (const text of sample(40)) {
    const wanted = { tree, parents: [commit], message: text, signature: { name: `N${text}`, email: text, at: AT } };
    const made = await commitTree(git, place, wanted).catch((error: unknown) => error);
    expect(typeof made === 'string' || (text.includes('\0') && isRefusal(made))).toBe(true);
  }
  for (const text of [...OPTIONS, ...SHELL, `ext::sh -c touch% ${MARK}`].filter((value) => !value.includes('\0'))) {
    plain('config', 'remote.origin.url', text);
    plain('config', 'remote.origin.promisor', 'true');
    plain('config', 'remote.origin.uploadpack', `touch ${MARK}`);
    await collect(readBlobs(git, place, { oids: ['1'.repeat(40)] }));
  }
  expect(marks(world)).toEqual([]);
});

verifies('X-110').test('a value that looks like an option is refused as any name, and no file appears', async () => {
  const world = makeRepository();
  const { git, place, root, plain } = world;
  const commit = plain('rev-parse', 'HEAD');
  const before = readdirSync(root);
  const bad = `--output=${join(root, MARK)}`;
  const attempts: Record<string, () => Promise<unknown>> = {
    revision: () => findCommit(git, place, bad),
    ref: () => readRef(git, place, bad),
    tree: () => readTree(git, place, bad),
    ancestor: () => isAncestor(git, place, { of: bad, commit }),
    descendant: () => isAncestor(git, place, { of: commit, commit: bad }),
    'listed tree': () => collect(listTree(git, place, bad)),
    'listed refs': () => listRefs(git, place, bad),
    from: () => diffTrees(git, place, { from: bad, to: commit }),
    to: () => diffRanges(git, place, { from: commit, to: bad }),
    blob: () => collect(readBlobs(git, place, { oids: [bad] })),
    'commit tree': () => commitTree(git, place, { tree: bad, parents: [], message: 'x' }),
    parent: () => commitTree(git, place, { tree: commit, parents: [bad], message: 'x' }),
    capture: () => capture(git, place, { ref: bad, message: 'x', at: AT }),
    ours: () => mergeTrees(git, place, { ours: bad, theirs: commit }),
    pair: () => mergeAll(git, place, [{ ours: commit, theirs: bad }]),
    branch: () => advanceBranch(git, place, { branch: bad, from: commit, to: commit }),
    'branch from': () => advanceBranch(git, place, { branch: 'main', from: bad, to: commit }),
    'branch to': () => advanceBranch(git, place, { branch: 'main', from: commit, to: bad }),
    restored: () => restoreFiles(git, place, { tree: bad }),
    staged: () => restoreFiles(git, place, { tree: commit, staged: bad }),
    'new worktree': () => addWorktree(git, place, { path: bad, branch: 'x', commit, reason: bad }),
    'new branch': () => addWorktree(git, place, { path: join(root, 'w'), branch: bad, commit, reason: bad }),
    'new commit': () => addWorktree(git, place, { path: join(root, 'w'), branch: 'x', commit: bad, reason: bad }),
    removed: () => removeWorktree(git, place, bad),
    pruned: () => pruneWorktree(git, place, bad),
    set: () => setRef(git, place, { ref: bad, to: commit, from: null }),
  };
  const accepted: string[] = [];
  for (const [name, attempt] of Object.entries(attempts)) {
    await attempt().then(
      () => accepted.push(name),
      (error: unknown) => isRefusal(error) || accepted.push(`${name}: ${error}`),
    );
  }
  expect([accepted, readdirSync(root)]).toEqual([[], before]);
  plain('log', bad);
  expect(readdirSync(root)).toContain(MARK);
});
