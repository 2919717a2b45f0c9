import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRepository } from '../../test/support/repository.ts';
import { verifies } from '../../test/support/verifies.ts';
import { run } from '../process/run.ts';
import { ReefError } from '../protocol/errors.ts';
import { createGit, type Run } from './git-command.ts';

const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof ReefError ? error.code : error),
  );

/** Everything that was started, by its arguments after `-C <dir>`. */
function recorder() {
  const calls: Parameters<Run>[0][] = [];
  const recorded: Run = (spec) => {
    calls.push(spec);
    return run(spec);
  };
  return { calls, recorded, verbs: () => calls.map(({ args }) => args[3] ?? args[0]) };
}

verifies('X-30').test('a call carries the overrides and none of the inherited GIT variables', async () => {
  const { place, env } = makeRepository();
  const { calls, recorded } = recorder();
  const dirty = { ...env, GIT_DIR: '/nowhere', GIT_SSH_COMMAND: 'x', git_trace: '1', SSH_ASKPASS: 'x' };
  await createGit({ run: recorded, env: dirty }).call(place, ['rev-parse', 'HEAD']);
  const { env: given = {}, args, cwd, file } = calls.at(-1) ?? {};
  const count = Number(given.GIT_CONFIG_COUNT);
  const overrides = Array.from({ length: count }, (_, at) => [
    given[`GIT_CONFIG_KEY_${at}`],
    given[`GIT_CONFIG_VALUE_${at}`],
  ]);
  const others = Object.entries(given).filter(([name]) => !/^GIT_CONFIG_(KEY|VALUE|COUNT)/.test(name));
  expect({ file, cwd, args }).toEqual({
    file: 'git',
    cwd: '/',
    args: ['--no-pager', '-C', place.toplevel, 'rev-parse', 'HEAD'],
  });
  expect(Object.fromEntries(others)).toEqual({
    PATH: env.PATH,
    HOME: env.HOME,
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_EDITOR: 'false',
    GIT_ASKPASS: 'true',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: '',
    GIT_LITERAL_PATHSPECS: '1',
    LC_ALL: 'C',
  });
  expect(Object.fromEntries(overrides)).toEqual({
    'core.fsmonitor': 'false',
    'core.hooksPath': '/dev/null',
    'safe.bareRepository': 'explicit',
    'submodule.recurse': 'false',
    'commit.gpgSign': 'false',
    'tag.gpgSign': 'false',
    'log.showSignature': 'false',
    'merge.verifySignatures': 'false',
    'core.editor': 'false',
    'sequence.editor': 'false',
    'diff.external': '',
    'core.askPass': '',
    'core.alternateRefsCommand': '',
    'credential.helper': '',
    'core.sshCommand': 'ssh',
    'core.gitProxy': '',
    'protocol.allow': 'never',
    'core.filesRefLockTimeout': '10000',
    'core.packedRefsTimeout': '10000',
    'core.protectHFS': 'true',
    'core.protectNTFS': 'true',
    'gc.auto': '0',
    'maintenance.auto': 'false',
  });
});

verifies('X-31').test('drivers are looked for again only after a file that could name one has changed', async () => {
  const { place, env, plain, write } = makeRepository();
  const { recorded, verbs } = recorder();
  const git = createGit({ run: recorded, env });
  const head = () => git.call(place, ['rev-parse', 'HEAD']);
  const learning = ['rev-parse', 'config'];
  const countAfter = async (change: () => void) => {
    change();
    const before = verbs().length;
    await head();
    return verbs().slice(before);
  };
  const seen = [
    await countAfter(() => {}),
    await countAfter(() => {}),
    await countAfter(() => plain('config', 'filter.x.clean', 'cat')),
    await countAfter(() => {}),
    await countAfter(() => plain('config', '--global', 'filter.y.clean', 'cat')),
    await countAfter(() => write('a.txt', 'two\n')),
    await countAfter(() => plain('config', 'include.path', '/nowhere')),
    await countAfter(() => {}),
  ];
  expect(seen).toEqual([
    ['--version', ...learning, 'rev-parse'],
    ['rev-parse'],
    [...learning, 'rev-parse'],
    ['rev-parse'],
    [...learning, 'rev-parse'],
    ['rev-parse'],
    [...learning, 'rev-parse'],
    [...learning, 'rev-parse'], // what is included may change without any file we know of
  ]);
});

verifies('X-31').test('a change of the configuration that was taken back is seen all the same', async () => {
  const { place, env, plain } = makeRepository();
  const { recorded, verbs } = recorder();
  const git = createGit({ run: recorded, env });
  await git.call(place, ['rev-parse', 'HEAD']);
  const config = readFileSync(join(place.commonDir, 'config'));
  plain('config', 'filter.x.clean', 'cat');
  writeFileSync(join(place.commonDir, 'config'), config);
  const before = verbs().length;
  await git.call(place, ['rev-parse', 'HEAD']);
  expect(verbs().slice(before)).toEqual(['rev-parse', 'config', 'rev-parse']);
});

verifies('X-31').test('a configuration that was another while git read it is not remembered', async () => {
  const { place, env, plain } = makeRepository();
  const config = join(place.commonDir, 'config');
  const innocent = readFileSync(config);
  plain('config', 'filter.x.clean', 'touch canary');
  const hostile = readFileSync(config);
  let isFirst = true;
  const envs: Readonly<Record<string, string>>[] = [];
  const swapping: Run = async (spec) => {
    envs.push(spec.env);
    if (!spec.args.includes('config') || !isFirst) return run(spec);
    isFirst = false;
    writeFileSync(config, innocent);
    const outcome = await run(spec);
    writeFileSync(config, hostile);
    return outcome;
  };
  const git = createGit({ run: swapping, env });
  await git.call(place, ['rev-parse', 'HEAD']);
  await git.call(place, ['rev-parse', 'HEAD']);
  expect(Object.values(envs.at(-1) ?? {})).toContain('filter.x.clean');
});

verifies('X-31').test('a driver whose name cannot be overridden is refused before any command', async () => {
  const { git, place } = makeRepository();
  const config = join(place.commonDir, 'config');
  const clean = readFileSync(config);
  const attempt = (more: Buffer) => {
    writeFileSync(config, Buffer.concat([clean, more]));
    return codeOf(git.call(place, ['status']));
  };
  const many = Array.from({ length: 3_000 }, (_, at) => `[filter "name-${at}"]\nclean = cat\n`).join('');
  expect([
    await attempt(Buffer.from('[filter "\xff"]\nclean = touch x\n', 'latin1')),
    await attempt(Buffer.from(many)),
    await attempt(Buffer.from('[branch "\xff"]\nremote = origin\n[filter "a.b c=\'$(d)"]\nclean = false\n', 'latin1')),
  ]).toEqual(['git_config_refused', 'git_config_refused', 'done']);
});

verifies('X-32').test('a folder is found from below, and its place is the same as from its top', async () => {
  const { git, checkout, place, write } = makeRepository();
  write('deep/er/file', 'x');
  symlinkSync(checkout, `${checkout}-link`);
  const found = await Promise.all(
    [checkout, join(checkout, 'deep/er'), `${checkout}-link`].map((dir) => git.locate(dir)),
  );
  expect(found).toEqual([place, place, place]);
});

verifies('X-32').test(
  'a repository that points git elsewhere is refused, before and after the first contact',
  async () => {
    const { git, root, checkout, place, plain } = makeRepository();
    const other = join(root, 'other');
    mkdirSync(join(other, 'repo'), { recursive: true });
    const outcomes: unknown[] = [];
    for (const target of [other, root, '/']) {
      plain('config', 'core.worktree', target);
      outcomes.push(await codeOf(git.locate(checkout)), await codeOf(git.call(place, ['status'])));
    }
    plain('config', '--unset', 'core.worktree');
    outcomes.push(await codeOf(git.call(place, ['status'])));
    expect(outcomes).toEqual([...Array(6).fill('git_redirected'), 'done']);
  },
);

verifies('X-32').test('core.worktree in the configuration of one worktree is refused', async () => {
  const { git, root, place, plain } = makeRepository();
  plain('config', 'extensions.worktreeConfig', 'true');
  const before = await codeOf(git.call(place, ['status']));
  writeFileSync(join(place.commonDir, 'config.worktree'), `[core]\n\tworktree = ${root}\n`);
  expect([before, await codeOf(git.call(place, ['status']))]).toEqual(['done', 'git_redirected']);
});

test('core.worktree in an included file is no redirection: git does not heed it', async () => {
  const { git, root, place, plain } = makeRepository();
  writeFileSync(join(root, 'evil'), `[core]\n\tworktree = ${root}\n`);
  plain('config', 'include.path', join(root, 'evil'));
  expect(await codeOf(git.call(place, ['status']))).toBe('done');
});

verifies('X-32').test('a worktree whose .git file was rewritten is refused', async () => {
  const { git, root, place, plain } = makeRepository();
  const [path, twin, foreign] = ['w', 'twin', 'foreign'].map((name) => join(root, name)) as [string, string, string];
  plain('worktree', 'add', '-q', '--detach', path);
  plain('worktree', 'add', '-q', '--detach', twin);
  plain('init', '-q', foreign);
  const worktree = await git.locate(path);
  const own = readFileSync(join(path, '.git'));
  const pointers = [
    ...[own, `gitdir: ${foreign}/.git\n`, readFileSync(join(twin, '.git')), `gitdir: ${place.commonDir}\n`],
    ...['gitdir: /nowhere\n', 'garbage', '', own],
  ];
  const outcomes: unknown[] = [];
  for (const pointer of pointers) {
    writeFileSync(join(path, '.git'), pointer);
    outcomes.push(await codeOf(git.call(worktree, ['status'])));
  }
  expect(outcomes).toEqual(['done', ...Array(6).fill('git_redirected'), 'done']);
});

verifies('X-32').test('a folder that uses the git folder of another is refused at first contact', async () => {
  const { git, root, plain } = makeRepository();
  const [path, twin] = [join(root, 'w'), join(root, 'twin')];
  for (const folder of [path, twin]) plain('worktree', 'add', '-q', '--detach', folder);
  writeFileSync(join(path, '.git'), readFileSync(join(twin, '.git')));
  expect([await codeOf(git.locate(path)), await codeOf(git.locate(twin))]).toEqual(['git_redirected', 'done']);
});

verifies('X-32').test('what stands in the place of the small files of git hangs nothing', async () => {
  const { git, root, plain, place } = makeRepository();
  const path = join(root, 'w');
  plain('worktree', 'add', '-q', '--detach', path);
  const worktree = await git.locate(path);
  const outcomes: unknown[] = [];
  for (const file of [join(path, '.git'), join(worktree.gitDir, 'commondir'), join(worktree.gitDir, 'gitdir')]) {
    const own = readFileSync(file);
    rmSync(file);
    execFileSync('mkfifo', [file]);
    outcomes.push(await codeOf(git.call(worktree, ['status'])));
    rmSync(file);
    writeFileSync(file, 'x'.repeat(10_000));
    outcomes.push(await codeOf(git.call(worktree, ['status'])));
    writeFileSync(file, own);
  }
  outcomes.push(await codeOf(git.call(worktree, ['status'])), await codeOf(git.call(place, ['status'])));
  expect(outcomes).toEqual([...Array(6).fill('git_redirected'), 'done', 'done']);
});

test('a configuration of many megabytes is read by git each time and kept by nobody', async () => {
  const { place, env, write } = makeRepository();
  write('.git/config.worktree', `# ${'x'.repeat(5 * 1024 * 1024)}\n`);
  const { recorded, verbs } = recorder();
  const git = createGit({ run: recorded, env });
  await git.call(place, ['rev-parse', 'HEAD']);
  await git.call(place, ['rev-parse', 'HEAD']);
  expect(verbs().filter((verb) => verb === 'config').length).toBe(2);
});

verifies('X-32').test('a path that git cannot name on one line is refused', async () => {
  const { git, root, plain } = makeRepository();
  const path = join(root, 'line\nbreak');
  plain('init', '-q', path);
  expect(await codeOf(git.locate(path))).toBe('git_redirected');
});

verifies('X-32').test('a worktree that lost its .git does not fall to the repository around it', async () => {
  const { git, checkout, plain } = makeRepository();
  const path = join(checkout, 'inner');
  plain('worktree', 'add', '-q', '--detach', path);
  const worktree = await git.locate(path);
  renameSync(join(path, '.git'), join(path, 'was-git'));
  expect(await codeOf(git.call(worktree, ['status']))).toBe('git_redirected');
});

test('what is no checkout is refused by its own code', async () => {
  const { git, root, checkout, plain } = makeRepository();
  const bare = join(root, 'bare.git');
  plain('init', '-q', '--bare', bare);
  const codes = [await codeOf(git.locate(bare)), await codeOf(git.locate(join(checkout, '.git')))];
  codes.push(await codeOf(git.locate(root)), await codeOf(git.locate(join(root, 'absent'))));
  plain('config', 'core.bare', 'true');
  codes.push(await codeOf(git.locate(checkout)));
  expect(codes).toEqual(['repo_bare', 'repo_bare', 'not_a_repository', 'cwd_missing', 'repo_bare']);
});

test('a worktree of a bare repository is a place', async () => {
  const { git, root, checkout } = makeRepository();
  const [bare, path] = [join(root, 'bare.git'), join(root, 'w')];
  execFileSync('git', ['clone', '-q', '--bare', checkout, bare]);
  execFileSync('git', ['-C', bare, 'worktree', 'add', '-q', path, 'main'], { stdio: 'pipe' });
  expect(await git.locate(path)).toEqual({ toplevel: path, gitDir: join(bare, 'worktrees', 'w'), commonDir: bare });
});

test('a git that is too old, absent or no git is refused, and asked again later', async () => {
  const { root, checkout, env } = makeRepository();
  const bin = join(root, 'bin');
  mkdirSync(bin);
  const install = (line: string) => {
    writeFileSync(join(bin, 'git'), `#!/bin/sh\n${line}\n`);
    chmodSync(join(bin, 'git'), 0o755);
  };
  const git = createGit({ run, env: { ...env, PATH: bin } });
  const absent = await codeOf(git.locate(checkout));
  const codes: unknown[] = [];
  for (const version of ['2.37.9', '1.99.0', 'unknown', '2.38.0', '3.0.0']) {
    install(`echo "git version ${version} (Some Build 1)"`);
    codes.push(await codeOf(createGit({ run, env: { ...env, PATH: bin } }).version()));
  }
  install(`export PATH='${env.PATH}'; exec git "$@"`);
  const found = await codeOf(git.locate(checkout));
  expect([absent, ...codes, found]).toEqual([
    'git_missing',
    'git_too_old',
    'git_too_old',
    'git_failed',
    'done',
    'done',
    'done',
  ]);
});

verifies('X-30').test('a git inside the repository is not found through a relative PATH', async () => {
  const { checkout, env, place, write } = makeRepository();
  write('git', `#!/bin/sh\ntouch ${checkout}/canary\n`);
  chmodSync(join(checkout, 'git'), 0o755);
  const git = createGit({ run, env: { ...env, PATH: `.:${env.PATH}` } });
  const { stdout } = await git.call(place, ['status', '--porcelain']);
  expect(stdout.toString()).toBe('?? git\n');
});

test('a failure says what git said, a timeout and too much output say so', async () => {
  const { git, place, env } = makeRepository();
  const sleepy: Run = (spec) => run(spec.args.includes('status') ? { ...spec, file: 'sleep', args: ['60'] } : spec);
  const slow = createGit({ run: sleepy, env });
  const messageOf = (attempt: Promise<unknown>) =>
    attempt.then(
      () => '',
      (error: Error) => error.message,
    );
  expect([
    await messageOf(git.call(place, ['rev-parse', '--verify', 'nope'])),
    await messageOf(git.call(place, ['ls-files', '-z'], { maxBytes: 3 })),
    await messageOf(git.call(place, ['a\0b'])),
    await codeOf(slow.call(place, ['status'], { timeoutMs: 1 })),
  ]).toEqual([
    'git rev-parse: fatal: Needed a single revision',
    'git ls-files wrote more than 3 bytes.',
    'A value contains a NUL byte.',
    'git_timeout',
  ]);
});

verifies('Q-51').test('a lock that is held is git_locked and names the file', async () => {
  const { git, place, plain } = makeRepository();
  const lock = join(place.commonDir, 'index.lock');
  writeFileSync(lock, '');
  const error = await git.call(place, ['read-tree', plain('rev-parse', 'HEAD')]).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'git_locked', retryable: true, details: { lock } });
});
