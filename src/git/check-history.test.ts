import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { makeRepository, type TestRepository } from '../../test/support/repository.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import { capture } from './capture.ts';

const at = new Date('2026-03-04T05:06:07Z');
const look = ({ git, place }: TestRepository) =>
  capture(git, place, { ref: 'refs/reef/captures/1', message: 'seen', at }).then(
    () => 'captured',
    (error: unknown) => (error instanceof ReefError ? `${error.code} ${error.message}` : String(error)),
  );

/** A worktree's branch as an agent has it, and what makes objects that no command of git would make. */
function agentsBranch() {
  const repository = makeRepository({ a: 'one\n' });
  const { checkout, plain } = repository;
  plain('checkout', '-q', '-b', 'reef/task-00000001/tip');
  const feed = (input: string | Buffer, ...args: string[]) =>
    execFileSync('git', ['-C', checkout, ...args], { input, env: repository.env, encoding: 'utf8' }).trim();
  const blob = feed('x\n', 'hash-object', '-w', '--stdin');
  const tree = (...lines: string[]) => feed(lines.map((line) => `${line}\n`).join(''), 'mktree', '--missing');
  const commit = (of: string) => plain('commit-tree', '-p', 'HEAD', '-m', 'x', of);
  return { repository, plain, feed, blob, tree, commit, moveTo: (to: string) => plain('update-ref', 'HEAD', to) };
}

verifies('X-137').test(
  'a branch with a tree that no checkout can be made of is refused, and nothing is kept',
  async () => {
    const { repository, plain, blob, tree, commit, moveTo } = agentsBranch();
    const [inner, base] = [tree(`100644 blob ${blob}\tx`), plain('rev-parse', 'HEAD')];
    const link = execFileSync('git', ['-C', repository.checkout, 'hash-object', '-w', '--stdin'], {
      input: '/etc/passwd',
    });
    const hostile = {
      hasDotgit: [`040000 tree ${inner}\t.git`, `040000 tree ${inner}\t.GIT`, `040000 tree ${inner}\tgit~1`],
      hasDotdot: [`040000 tree ${inner}\t..`],
      gitmodulesSymlink: [`120000 blob ${link.toString().trim()}\t.gitmodules`],
      gitmodulesUrl: [`100644 blob ${gitmodules(repository)}\t.gitmodules`],
      'broken link': [`100644 blob ${'1'.repeat(40)}\tmissing`],
    };
    const said: string[] = [];
    for (const line of Object.values(hostile).flat()) {
      moveTo(commit(tree(line)));
      said.push(await look(repository));
      moveTo(base);
    }
    expect(said.filter((text) => !text.startsWith('history_refused '))).toEqual([]);
    expect([said.length, plain('for-each-ref', 'refs/reef'), await look(repository)]).toEqual([7, '', 'captured']);
  },
);

function gitmodules({ checkout }: TestRepository): string {
  const input = '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch\n';
  return execFileSync('git', ['-C', checkout, 'hash-object', '-w', '--stdin'], { input, encoding: 'utf8' }).trim();
}

verifies('X-137').test('an index that holds a path in `.git` is refused, though no file is there', async () => {
  const { repository, blob } = agentsBranch();
  const index = join(repository.checkout, '.git', 'index');
  repository.plain('update-index', '--add', '--cacheinfo', `100644,${blob},agit/hooks/x`);
  const bytes = execFileSync('cat', [index]);
  const name = bytes.indexOf('agit/hooks/x');
  bytes.write('.git', name);
  // Git reads an index without a sum as well: then it does not have to be right.
  bytes.fill(0, bytes.length - 20);
  chmodSync(index, 0o644);
  writeFileSync(index, bytes);
  expect(await look(repository)).toMatch(/^history_refused .*hasDotgit|^git_failed /);
});

verifies('X-137').test('a damaged object of a branch is refused', async () => {
  const { repository, plain } = agentsBranch();
  repository.write('new', 'content\n');
  repository.commit('brings it');
  const blob = plain('rev-parse', 'HEAD:new');
  const other = plain('rev-parse', 'HEAD:a');
  const at = (oid: string) => join(repository.checkout, '.git', 'objects', oid.slice(0, 2), oid.slice(2));
  chmodSync(at(blob), 0o644);
  writeFileSync(at(blob), execFileSync('cat', [at(other)]));
  expect(await look(repository)).toMatch(/^history_refused /);
});

test("what the user's own branches have is not looked at again, and nothing is left in the temporary folder", async () => {
  const { repository, plain, blob, tree, commit } = agentsBranch();
  // Old histories have such trees. They came from the user and not from an agent.
  const old = commit(tree(`040000 tree ${tree(`100644 blob ${blob}\tx`)}\t.git`));
  plain('update-ref', 'refs/heads/old', old);
  const ours = plain('commit-tree', '-p', old, '-m', 'on top', 'HEAD^{tree}');
  plain('update-ref', 'HEAD', ours);
  const folder = temporaryFolder();
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect([await look(repository), tmpdir(), readdirSync(folder)]).toEqual(['captured', folder, []]);
});

const SHARED_MEMORY = '/dev/shm';
const device = (path: string) => statSync(path, { throwIfNoEntry: false })?.dev;
const isElsewhere = device(SHARED_MEMORY) !== undefined && device(SHARED_MEMORY) !== device(tmpdir());

verifies('T-03')
  .needs(isElsewhere, 'there is one file system only')
  .test('the folder of temporary files may be on another file system than the repository', async () => {
    const { repository, plain, blob, tree, commit, moveTo } = agentsBranch();
    vi.stubEnv('TMPDIR', temporaryFolder(SHARED_MEMORY));
    onTestFinished(() => void vi.unstubAllEnvs());
    moveTo(commit(tree(`100644 blob ${blob}\tx`)));
    plain('reset', '-q', '--hard');
    const objects = join(repository.checkout, '.git', 'objects');
    expect(await look(repository)).toBe('captured');
    expect(readdirSync(objects).filter((name) => !/^(?:[0-9a-f]{2}|info|pack)$/.test(name))).toEqual([]);
  });

test('what a killed check left goes with a later one, and one that is under way does not', async () => {
  const { repository, plain } = agentsBranch();
  const objects = join(repository.checkout, '.git', 'objects');
  for (const name of ['reef-check-old', 'reef-check-new']) mkdirSync(join(objects, name));
  const hoursAgo = new Date(Date.now() - 3_600_000);
  utimesSync(join(objects, 'reef-check-old'), hoursAgo, hoursAgo);
  plain('commit', '-q', '--allow-empty', '-m', 'x');
  expect(await look(repository)).toBe('captured');
  expect(readdirSync(objects).filter((name) => name.startsWith('reef-'))).toEqual(['reef-check-new']);
});
