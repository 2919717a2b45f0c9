import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { collect, makeRepository, pictureOf, type TestRepository, userPicture } from '../../test/support/repository.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import { restoreFiles } from './advance.ts';
import { capture } from './capture.ts';
import { commitTree } from './commit.ts';
import { readStatus, readTreeState } from './status.ts';
import { listTree, listUntracked } from './tree.ts';

const at = new Date('2026-03-04T05:06:07Z');
const keep = ({ git, place }: TestRepository, maxBytes?: number) =>
  capture(git, place, { ref: 'refs/reef/held/1', message: 'kept', at, ...(maxBytes !== undefined && { maxBytes }) });
const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof ReefError ? error.code : error),
  );

/** A checkout with every kind of change a person may have in it. */
function busyCheckout(): TestRepository {
  const repository = makeRepository({
    '.gitignore': '*.log\n',
    edited: '1\n',
    staged: '2\n',
    both: '3\n',
    gone: '4\n',
    'dir/x': '5\n',
    file: '6\n',
    mode: '7\n',
  });
  const { write, plain, checkout } = repository;
  write('stashed', 'x');
  plain('stash', '-q', '-u');
  write('staged', 'staged\n');
  write('both', 'first\n');
  plain('add', 'staged', 'both');
  write('both', 'second\n');
  write('edited', 'edited\n');
  rmSync(join(checkout, 'gone'));
  rmSync(join(checkout, 'dir'), { recursive: true });
  write('dir', 'a file in the place of a folder\n');
  rmSync(join(checkout, 'file'));
  write('file/below', 'a folder in the place of a file\n');
  chmodSync(join(checkout, 'mode'), 0o755);
  write('-new\nfile', 'untracked\n');
  write('intended', 'x\n');
  plain('add', '-N', 'intended');
  symlinkSync('/etc/passwd', join(checkout, 'link'));
  write('x.log', 'ignored\n');
  writeFileSync(Buffer.concat([Buffer.from(`${checkout}/`), Buffer.from([0x66, 0xff])]), 'a name that is no text\n');
  return repository;
}

verifies('Q-40').test('what a killed write left beside a file is nobody’s change, in any folder', async () => {
  const { write, git, place, ...repository } = makeRepository({ 'src/a.ts': '1\n' });
  for (const folder of ['', 'src/', 'new/']) write(`${folder}.reef-tmp-0123456789abcdef01234567`, 'half of it');
  const untouched = await keep({ write, git, place, ...repository });
  const seen = async () => ({
    status: (await readStatus(git, place)).map(({ path }) => path),
    changed: [...(await readTreeState(git, place, 10_000)).changed.keys()],
    untracked: await collect(listUntracked(git, place)),
  });
  expect(await seen()).toEqual({ status: [], changed: [], untracked: [] });
  write('new/.reef-tmp-of-mine', 'work');
  const mine = ['new/.reef-tmp-of-mine'];
  expect(await seen()).toEqual({ status: mine, changed: mine, untracked: mine });
  const taken = await keep({ write, git, place, ...repository });
  const paths = async (tree: string) => (await collect(listTree(git, place, tree))).map(({ path }) => path);
  expect([await paths(untouched.tree), await paths(taken.tree)]).toEqual([['src/a.ts'], [...mine, 'src/a.ts']]);
});

verifies('T-03', 'Q-52').test(
  'a capture holds all but ignored files, and leaves files, index, stash and branch as they were',
  async () => {
    const repository = busyCheckout();
    const { checkout, git, place, plain } = repository;
    const before = userPicture(checkout);
    const kept = await keep(repository);
    expect(userPicture(checkout)).toEqual(before);
    const entries = await collect(listTree(git, place, kept.tree));
    const contents = entries.map(({ mode, oid, path }) => [path, mode, plain('cat-file', 'blob', oid)]);
    expect(contents).toEqual([
      ['-new\nfile', '100644', 'untracked'],
      ['.gitignore', '100644', '*.log'],
      ['both', '100644', 'second'],
      ['dir', '100644', 'a file in the place of a folder'],
      ['edited', '100644', 'edited'],
      ['file/below', '100644', 'a folder in the place of a file'],
      ['f\ufffd', '100644', 'a name that is no text'],
      ['intended', '100644', 'x'],
      ['link', '120000', '/etc/passwd'],
      ['mode', '100755', '7'],
      ['staged', '100644', 'staged'],
    ]);
    expect(plain('log', '-1', '--format=%H %P %T %an %ae %cn %ct %s', 'refs/reef/held/1')).toBe(
      `${kept.commit} ${plain('rev-parse', 'main')} ${kept.tree} Reef reef@localhost.invalid Reef ${at.getTime() / 1000} kept`,
    );
    expect(plain('show', `${kept.staged}:both`)).toBe('first');
  },
);

verifies('T-03').test(
  'a second capture of the same state is the same commit, and one of another replaces it',
  async () => {
    const repository = busyCheckout();
    const [first, second] = [await keep(repository), await keep(repository)];
    repository.write('edited', 'again\n');
    const third = await keep(repository);
    expect([second, repository.plain('rev-parse', 'refs/reef/held/1')]).toEqual([first, third.commit]);
    expect(third.tree).not.toBe(first.tree);
  },
);

verifies('T-03').test('an edit in the same second as the index, of the same size, is seen', async () => {
  const repository = makeRepository({ a: 'one\n' });
  const { checkout, plain, write } = repository;
  plain('config', 'core.trustCtime', 'false'); // no test can set it
  const past = Math.floor(Date.now() / 1000) - 100;
  const age = (path: string) => utimesSync(join(checkout, path), past, past);
  age('a');
  plain('update-index', '--refresh');
  age('.git/index');
  write('a', 'two\n');
  age('a');
  expect(plain('show', `${(await keep(repository)).tree}:a`)).toBe('two');
});

verifies('T-03').test(
  'a nested repository, too much, an operation under way or no commit refuse, and nothing is kept',
  async () => {
    const nested = makeRepository();
    nested.plain('init', '-q', 'inner');
    const large = makeRepository();
    large.write('large', 'x'.repeat(2_000));
    const busy = makeRepository();
    writeFileSync(join(busy.checkout, '.git/MERGE_HEAD'), `${busy.plain('rev-parse', 'HEAD')}\n`);
    const empty = makeRepository();
    empty.plain('update-ref', '-d', 'HEAD');
    const all = [nested, large, busy, empty];
    const codes: unknown[] = [];
    for (const repository of all) codes.push(await codeOf(keep(repository, 1_000)));
    expect(codes).toEqual(['nested_repository', 'capture_too_large', 'repo_busy', 'repo_empty']);
    expect(all.map(({ plain }) => plain('for-each-ref', 'refs/reef'))).toEqual(['', '', '', '']);
  },
);

test('a capture is kept below refs/reef only, and no option is a ref', async () => {
  const { git, place } = makeRepository();
  const refs = ['refs/heads/main', 'refs/reef', '--output=x', 'refs/reef/../heads/x', 'refs/reef/a.lock'];
  const codes = await Promise.all(refs.map((ref) => codeOf(capture(git, place, { ref, message: 'x', at }))));
  expect(new Set(codes)).toEqual(new Set(['ref_invalid']));
});

test('conflicts that no operation explains are kept as their files are', async () => {
  const repository = makeRepository();
  const { plain, write, commit } = repository;
  write('a.txt', 'stashed\n');
  plain('stash', '-q');
  write('a.txt', 'committed\n');
  commit('x');
  expect(() => plain('stash', 'pop', '-q')).toThrow();
  const kept = await keep(repository);
  expect([kept.staged, plain('show', `${kept.tree}:a.txt`)]).toEqual([undefined, expect.stringContaining('<<<<<<< ')]);
});

test('a file that cannot be read is a failure, never left out', async () => {
  const repository = makeRepository();
  const { checkout, git } = repository;
  repository.write('new', 'x');
  const racing: typeof git = {
    ...git,
    async call(place, args, options) {
      if (args[0] === 'update-index') {
        rmSync(join(checkout, 'new'));
        mkdirSync(join(checkout, 'new', '.git'), { recursive: true });
      }
      return git.call(place, args, options);
    },
  };
  expect(await codeOf(keep({ ...repository, git: racing }))).toBe('git_failed');
  expect(repository.plain('for-each-ref', 'refs/reef')).toBe('');
});

test('the copy of the index is gone afterwards, also after a failure', async () => {
  const repository = makeRepository();
  const folder = join(repository.root, 'temporary');
  mkdirSync(folder);
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const seen: string[][] = [];
  const looking: typeof repository.git = {
    ...repository.git,
    call(place, args, options) {
      if (args[0] === 'write-tree') seen.push(readdirSync(folder));
      return repository.git.call(place, args, options);
    },
  };
  await keep({ ...repository, git: looking });
  repository.plain('init', '-q', 'inner');
  await codeOf(keep(repository));
  expect([seen, readdirSync(folder)]).toEqual([[[expect.stringMatching(/^reef-index-/)]], []]);
});

verifies('Q-52').test('a split index and an untracked cache stay as they were', async () => {
  const repository = makeRepository({ a: '1\n', b: '2\n' });
  const { checkout, plain, write } = repository;
  plain('update-index', '--split-index');
  plain('config', 'core.splitIndex', 'true');
  plain('update-index', '--force-untracked-cache');
  write('a', 'x\n');
  plain('add', 'a');
  write('c', 'x\n');
  plain('status');
  // Git renews the time of a shared index whenever it reads it, so that it does not expire.
  const picture = () => userPicture(checkout).map((line) => line.replace(/^(\.git\/sharedindex\S+ \d+) \d+/, '$1'));
  const before = picture();
  const kept = await keep(repository);
  expect(picture()).toEqual(before);
  expect(plain('ls-tree', '-r', '--name-only', kept.tree)).toBe('a\nb\nc');
});

test('a capture laid into a fresh worktree shows the same status there', async () => {
  const repository = busyCheckout();
  const { git, place, plain, root } = repository;
  const kept = await keep(repository);
  const path = join(root, 'again');
  plain('worktree', 'add', '-q', '--detach', path, kept.parent);
  const again = await git.locate(path);
  const first = await restoreFiles(git, again, kept);
  const status = ({ toplevel }: typeof place) =>
    plain('-C', toplevel, 'status', '--porcelain=v2').replace(/^.* intended\n/m, '');
  expect([first, status(again)]).toEqual([undefined, status(place)]);
  expect(await codeOf(restoreFiles(git, again, kept))).toBe('repo_busy');
});

test('a capture overwrites nothing where it is laid, not even what is ignored', async () => {
  const repository = makeRepository({ a: 'one\n' });
  const { git, plain, root, write } = repository;
  write('local', 'captured\n');
  const kept = await keep(repository);
  const path = join(root, 'again');
  plain('worktree', 'add', '-q', '--detach', path);
  write('.git/info/exclude', 'local\n');
  writeFileSync(join(path, 'local'), 'mine\n');
  const again = await git.locate(path);
  const before = pictureOf(path);
  const refused = await restoreFiles(git, again, kept).catch((error: unknown) => error);
  expect([refused, pictureOf(path)]).toMatchObject([{ code: 'repo_busy', details: { files: ['local'] } }, before]);
});

test('of two captures to one ref at the same moment one may be told to try again', async () => {
  const repository = makeRepository();
  const { git, plain } = repository;
  const racing: typeof git = {
    ...git,
    call(place, args, options) {
      if (args[0] === 'update-ref') plain('update-ref', 'refs/reef/held/1', 'HEAD');
      return git.call(place, args, options);
    },
  };
  expect(await codeOf(keep({ ...repository, git: racing }))).toBe('git_locked');
});

test('without an index everything is untracked, and is kept', async () => {
  const repository = makeRepository({ a: 'one\n', 'b/c': 'two\n' });
  rmSync(join(repository.checkout, '.git/index'));
  expect((await keep(repository)).tree).toBe(repository.plain('rev-parse', 'HEAD^{tree}'));
});

test('a commit has the tree, parents, message and signature given, or the signature of the user', async () => {
  const { git, place, plain } = makeRepository();
  const [tree, parent] = [plain('rev-parse', 'HEAD^{tree}'), plain('rev-parse', 'HEAD')];
  const message = 'subject\n\n-- body\n#not a comment\n';
  const own = await commitTree(git, place, { tree, parents: [parent, parent], message });
  const given = await commitTree(git, place, {
    tree,
    parents: [],
    message,
    signature: { name: 'N <x>', email: 'e\n@x', at },
  });
  const show = (commit: string) => plain('log', '-1', '--no-walk', '--format=%T %P|%an <%ae> %cn|%B', commit);
  expect([show(own), show(given)]).toEqual([
    `${tree} ${parent}|A User <user@example.invalid> A User|${message}`,
    `${tree} |N x <e@x> N x|${message}`,
  ]);
});

verifies('T-03').test('whatever was edited, a capture has the tree that git add would make', async () => {
  const paths = ['a', 'b', 'd/e', 'd/f', 'g'];
  const repository = makeRepository({ a: '1', b: '2', 'd/e': '3', '.gitignore': 'ignored\n' });
  const { checkout, plain, write, env } = repository;
  const step = fc.record({
    path: fc.constantFrom(...paths, 'ignored'),
    act: fc.constantFrom('write', 'remove', 'stage', 'link'),
  });
  const acts = {
    write: (path: string) => write(path, `${Math.random()}`),
    remove: (path: string) => rmSync(join(checkout, path), { force: true }),
    stage: (path: string) =>
      execFileSync('git', ['-C', checkout, 'add', '-A', '-f', '--', path], { env, stdio: 'pipe' }),
    link: (path: string) => {
      rmSync(join(checkout, path), { force: true });
      symlinkSync('a', join(checkout, path));
    },
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      plain('reset', '-q', '--hard');
      plain('clean', '-qfd');
      for (const { path, act } of steps) {
        try {
          acts[act as keyof typeof acts](path);
        } catch {} // nothing to stage, or no folder for a link: another edit
      }
      const { tree } = await keep(repository);
      plain('add', '-A');
      expect(tree).toBe(plain('write-tree'));
    }),
    { numRuns: 8 },
  );
});

verifies('X-136').test('a capture takes files as they are, whatever the index has been told to believe', async () => {
  const repository = makeRepository({ kept: '1\n', edited: '2\n', gone: '3\n' });
  const { plain, write, checkout, git, place } = repository;
  const planted = plain('hash-object', '-w', 'kept');
  plain('update-index', '--add', '--cacheinfo', `100644,${planted},.mcp.json`);
  plain('update-index', '--skip-worktree', '.mcp.json', 'gone');
  plain('update-index', '--assume-unchanged', 'edited');
  write('edited', 'as it is\n');
  rmSync(join(checkout, 'gone'));
  const index = plain('ls-files', '-v');
  const { tree } = await keep(repository);
  expect((await collect(listTree(git, place, tree))).map(({ path }) => path)).toEqual(['edited', 'kept']);
  expect([plain('show', `${tree}:edited`), plain('ls-files', '-v')]).toEqual(['as it is', index]);
});

test('what a sparse checkout leaves out is part of a capture all the same', async () => {
  const repository = makeRepository({ 'a/x': '1\n', 'b/y': '2\n' });
  const { plain, write, git, place } = repository;
  plain('sparse-checkout', 'set', 'a');
  write('a/x', 'new\n');
  const { tree } = await keep(repository);
  expect((await collect(listTree(git, place, tree))).map(({ path }) => path)).toEqual(['a/x', 'b/y']);
});
