import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRepository, type TestRepository, userPicture } from '../../test/support/repository.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import { advanceBranch } from './advance.ts';
import { mergeAll, mergeTrees } from './merge.ts';

const numbered = (change: Record<number, string> = {}) =>
  Array.from({ length: 9 }, (_, at) => `${change[at + 1] ?? at + 1}\n`).join('');

/** A commit on top of the first with these files, leaving the checkout where it was. */
function commitOn({ plain, write, commit }: TestRepository, files: Record<string, string>): string {
  plain('checkout', '-q', '--detach', 'main');
  for (const [path, text] of Object.entries(files)) write(path, text);
  const made = commit(Object.keys(files).join(' '));
  plain('checkout', '-q', 'main');
  return made;
}

test('a merge gives its tree, or the files in conflict and why', async () => {
  const repository = makeRepository({ f: numbered(), 'odd\nname': 'x\n' });
  const { git, place, plain, checkout } = repository;
  const top = commitOn(repository, { f: numbered({ 1: 'top' }) });
  const end = commitOn(repository, { f: numbered({ 9: 'end' }) });
  const other = commitOn(repository, { f: numbered({ 1: 'other' }), 'odd\nname': 'y\n' });
  const third = commitOn(repository, { f: numbered({ 1: 'third' }), 'odd\nname': 'z\n' });
  const before = userPicture(checkout);
  const clean = await mergeTrees(git, place, { ours: top, theirs: end });
  const clash = await mergeTrees(git, place, { ours: other, theirs: third });
  expect({ ...clean, text: plain('show', `${clean.tree}:f`) }).toEqual({
    ...{ tree: clean.tree, isClean: true, conflicts: [], messages: [] },
    text: numbered({ 1: 'top', 9: 'end' }).trimEnd(),
  });
  expect(clash).toEqual({
    tree: expect.stringMatching(/^[0-9a-f]{40}$/),
    isClean: false,
    conflicts: ['f', 'odd\nname'],
    messages: ['CONFLICT (content): Merge conflict in f', 'CONFLICT (content): Merge conflict in odd\nname'],
  });
  expect(userPicture(checkout)).toEqual(before);
});

test('many merges in one process give what each alone gives', async () => {
  const repository = makeRepository({ f: numbered(), g: 'x\n' });
  const { git, place } = repository;
  const commits = [
    commitOn(repository, { f: numbered({ 1: 'a' }) }),
    commitOn(repository, { f: numbered({ 1: 'b' }), g: 'b\n' }),
    commitOn(repository, { f: numbered({ 9: 'c' }), g: 'c\n' }),
  ];
  const pairs = commits.flatMap((ours) => commits.map((theirs) => ({ ours, theirs })));
  const alone = await Promise.all(pairs.map((pair) => mergeTrees(git, place, pair)));
  expect(await mergeAll(git, place, pairs)).toEqual(alone);
  const old: typeof git = { ...git, version: async () => ({ major: 2, minor: 38 }) };
  expect(await mergeAll(old, place, pairs.slice(0, 4))).toEqual(alone.slice(0, 4));
  expect([await mergeAll(git, place, []), new Set(alone.map(({ isClean }) => isClean))]).toEqual([
    [],
    new Set([true, false]),
  ]);
});

test('a merge of what is no commit fails', async () => {
  const { git, place, plain } = makeRepository();
  const [ours, theirs] = [plain('rev-parse', 'HEAD'), '1'.repeat(40)];
  const failed = { code: 'git_failed' };
  await expect(mergeTrees(git, place, { ours, theirs })).rejects.toMatchObject(failed);
  await expect(
    mergeAll(git, place, [
      { ours, theirs: ours },
      { ours, theirs },
    ]),
  ).rejects.toMatchObject(failed);
});

verifies('X-31').test('a merge driver of the repository is replaced by the built-in text merge', async () => {
  const repository = makeRepository({ f: numbered(), '.gitattributes': 'f merge=custom\n' });
  const { git, root, place, plain } = repository;
  plain('config', 'merge.custom.driver', `touch ${root}/canary; false`);
  const top = commitOn(repository, { f: numbered({ 1: 'top' }) });
  const end = commitOn(repository, { f: numbered({ 9: 'end' }) });
  const other = commitOn(repository, { f: numbered({ 1: 'other' }) });
  const clean = await mergeTrees(git, place, { ours: top, theirs: end });
  const clash = await mergeTrees(git, place, { ours: top, theirs: other });
  expect([plain('show', `${clean.tree}:f`), clash.conflicts, plain('status', '--porcelain')]).toEqual([
    numbered({ 1: 'top', 9: 'end' }).trimEnd(),
    ['f'],
    '',
  ]);
  expect(() => readFileSync(join(root, 'canary'))).toThrow('ENOENT');
});

/** `main` checked out, and a commit that may follow it. */
function target(files: Record<string, string> = {}) {
  const repository = makeRepository({ 'a.txt': 'one\n', '.gitignore': '.env\n' });
  const from = repository.plain('rev-parse', 'main');
  const to = commitOn(repository, { 'a.txt': 'two\n', 'new.txt': 'new\n', ...files });
  const advance = (branch = 'main') => advanceBranch(repository.git, repository.place, { branch, from, to });
  return { ...repository, from, to, advance };
}

test('a branch that is checked out and clean moves with its files', async () => {
  const { advance, plain, to, write } = target();
  write('.env', 'secret');
  write('notes', "untracked and in nobody's way");
  expect([await advance(), plain('rev-parse', 'main'), plain('status', '--porcelain', '--ignored')]).toEqual([
    { status: 'advanced' },
    to,
    '?? notes\n!! .env',
  ]);
});

test('a branch that is checked out nowhere moves alone', async () => {
  const { advance, plain, from, to, checkout } = target();
  plain('checkout', '-q', '--detach');
  const before = userPicture(checkout).filter((line) => !/^\.git\/(logs\/)?refs\/heads\/main /.test(line));
  expect([await advance(), plain('rev-parse', 'main', 'HEAD')]).toEqual([{ status: 'advanced' }, `${to}\n${from}`]);
  expect(userPicture(checkout).filter((line) => !/^\.git\/(logs\/)?refs\/heads\/main /.test(line))).toEqual(before);
});

const dirty: Record<string, { make: (world: ReturnType<typeof target>) => void; files: string[] }> = {
  'an edited file': { make: ({ write }) => write('a.txt', 'mine\n'), files: ['a.txt'] },
  'an edit elsewhere': { make: ({ write }) => write('.gitignore', '.env\nx\n'), files: ['.gitignore'] },
  'a staged file': {
    make({ write, plain }) {
      write('staged', 'x');
      plain('add', 'staged');
    },
    files: ['staged'],
  },
  'an untracked file in the way': { make: ({ write }) => write('new.txt', 'mine\n'), files: ['new.txt'] },
  'a merge under way': { make: ({ write, from }) => write('.git/MERGE_HEAD', `${from}\n`), files: [] },
  'a second checkout of the branch': {
    make: ({ plain, root }) => plain('worktree', 'add', '-q', '--force', join(root, 'second'), 'main'),
    files: [],
  },
};

for (const [name, { make, files }] of Object.entries(dirty)) {
  verifies('Q-52').test(`${name} keeps a branch where it is, and nothing in its checkout changes`, async () => {
    const world = target();
    make(world);
    const before = userPicture(world.checkout);
    expect([await world.advance(), userPicture(world.checkout)]).toEqual([
      { status: 'dirty', checkout: world.checkout, files },
      before,
    ]);
  });
}

verifies('Q-52').test('an ignored file is not overwritten', async () => {
  const world = target();
  world.plain('checkout', '-q', '--detach', world.to);
  world.write('.env', 'committed');
  world.plain('add', '-f', '.env');
  const to = world.commit('tracks .env');
  world.plain('checkout', '-q', 'main');
  world.write('.env', 'my secret');
  const before = userPicture(world.checkout);
  const outcome = await advanceBranch(world.git, world.place, { branch: 'main', from: world.from, to });
  expect([outcome, userPicture(world.checkout)]).toEqual([
    { status: 'dirty', checkout: world.checkout, files: ['.env'] },
    before,
  ]);
});

verifies('Q-52').test('a file that appears at the last moment is not overwritten, ignored or not', async () => {
  for (const name of ['new.txt', '.env']) {
    const world = target();
    world.plain('checkout', '-q', '--detach', world.to);
    world.write('.env', 'committed');
    world.plain('add', '-f', '.env');
    const to = world.commit('tracks .env');
    world.plain('checkout', '-q', 'main');
    const racing: typeof world.git = {
      ...world.git,
      call(place, args, options) {
        if (args[0] === 'merge') world.write(name, 'mine');
        return world.git.call(place, args, options);
      },
    };
    const outcome = await advanceBranch(racing, world.place, { branch: 'main', from: world.from, to });
    expect([outcome, readFileSync(join(world.checkout, name), 'utf8'), world.plain('rev-parse', 'main')]).toEqual([
      { status: 'dirty', checkout: world.checkout, files: [name] },
      'mine',
      world.from,
    ]);
  }
});

test('a branch somebody moves at the last moment stays where they put it', async () => {
  const world = target();
  world.plain('checkout', '-q', '--detach');
  const theirs = commitOn(world, { theirs: 'x\n' });
  world.plain('checkout', '-q', '--detach');
  const racing: typeof world.git = {
    ...world.git,
    call(place, args, options) {
      if (args[0] === 'update-ref') world.plain('update-ref', 'refs/heads/main', theirs);
      return world.git.call(place, args, options);
    },
  };
  const outcome = await advanceBranch(racing, world.place, { branch: 'main', from: world.from, to: world.to });
  expect([outcome, world.plain('rev-parse', 'main')]).toEqual([{ status: 'moved', commit: theirs }, theirs]);
});

test('a checkout that leaves its branch at the last moment is not touched', async () => {
  const world = target();
  const racing: typeof world.git = {
    ...world.git,
    call(place, args, options) {
      if (args[0] === 'symbolic-ref') world.plain('checkout', '-q', '--detach');
      return world.git.call(place, args, options);
    },
  };
  const outcome = await advanceBranch(racing, world.place, { branch: 'main', from: world.from, to: world.to });
  expect([outcome, world.plain('rev-parse', 'main', 'HEAD')]).toEqual([
    { status: 'moved', commit: world.from },
    `${world.from}\n${world.from}`,
  ]);
});

test('a name that only changes its case is not in its own way', async () => {
  const world = target();
  world.plain('checkout', '-q', '--detach', world.to);
  world.plain('mv', '-f', 'a.txt', 'A.txt');
  const to = world.commit('case');
  world.plain('checkout', '-q', 'main');
  expect(await advanceBranch(world.git, world.place, { branch: 'main', from: world.from, to })).toEqual({
    status: 'advanced',
  });
});

test('a branch that moved, or does not lie behind, stays', async () => {
  const { git, place, plain, from, to, commit, advance } = target();
  const next = commit('somebody was faster');
  const moved = await advance();
  const absent = await advanceBranch(git, place, { branch: 'nope', from, to });
  const diverged = await advanceBranch(git, place, { branch: 'main', from: next, to });
  expect([moved, absent, diverged, plain('rev-parse', 'main')]).toEqual([
    { status: 'moved', commit: next },
    { status: 'moved', commit: undefined },
    { status: 'diverged' },
    next,
  ]);
});

test('a branch under rebase in a worktree, or on a disk that is away, is not moved', async () => {
  const { advance, plain, root, from, git, place, to } = target();
  plain('checkout', '-q', '-b', 'side');
  plain('checkout', '-q', '--detach');
  const path = join(root, 'w');
  plain('worktree', 'add', '-q', path, 'side');
  const admin = join(place.commonDir, 'worktrees', 'w');
  plain('-C', path, 'checkout', '-q', '--detach');
  mkdirSync(join(admin, 'rebase-merge'));
  writeFileSync(join(admin, 'rebase-merge', 'head-name'), 'refs/heads/side\n');
  const side = () => advanceBranch(git, place, { branch: 'side', from, to });
  const rebasing = await side();
  rmSync(join(admin, 'rebase-merge'), { recursive: true });
  plain('-C', path, 'checkout', '-q', 'side');
  plain('worktree', 'lock', path);
  rmSync(path, { recursive: true });
  const away = await side();
  const held = { status: 'dirty', checkout: path, files: [] };
  expect([rebasing, away, await advance()]).toEqual([held, held, { status: 'advanced' }]);
});

for (const options of ['--squash', '--no-ff -s evil', '--no-commit --autostash -S', '--abort', '-F /etc/passwd']) {
  verifies('X-31').test(`options of a branch by configuration are not heeded: ${options}`, async () => {
    const { advance, plain, to } = target();
    plain('config', 'branch.main.mergeOptions', options);
    plain('config', 'merge.ff', 'no');
    expect([await advance(), plain('rev-parse', 'main')]).toEqual([{ status: 'advanced' }, to]);
  });
}

test('a lock on the index of the checkout is git_locked, and the branch stays', async () => {
  const { advance, checkout, plain, from } = target();
  appendFileSync(join(checkout, '.git/index.lock'), '');
  const error = await advance().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ReefError);
  expect([error, plain('rev-parse', 'main')]).toMatchObject([{ code: 'git_locked' }, from]);
  expect(execFileSync('git', ['-C', checkout, 'diff', '--name-only'], { encoding: 'utf8' })).toBe('');
});
