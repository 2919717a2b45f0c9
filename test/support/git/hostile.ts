import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createGit, type Git, type Run } from '../../../src/git/git-command.ts';
import { run } from '../../../src/process/run.ts';
import { initRepository, makeRepository, type TestRepository } from '../repository.ts';

/** A repository whose configuration runs a canary wherever git would run a program. */
export interface HostileWorld extends TestRepository {
  /** Names of the canaries that ran since the last call. */
  takeFired(): string[];
  /** Git without any of our hardening, through the same functions. */
  soft: Git;
  /** Changes on top of `main`: two of `a.txt` and two of `b.md`. */
  commits: Record<'left' | 'right' | 'first' | 'second', string>;
}

/** A program that leaves a mark, then does what a driver of its kind would. One word: git runs some without a shell. */
type Canary = (name: string) => string;

/** Keys and values; each names its own canary. */
const programs = (canary: Canary, hooks: string): [key: string, value: string][] => [
  ['core.fsmonitor', canary('core.fsmonitor')],
  ['core.hooksPath', hooks],
  ['core.pager', canary('core.pager')],
  ['pager.status', canary('pager.status')],
  ['core.editor', canary('core.editor')],
  ['sequence.editor', canary('sequence.editor')],
  ['core.askPass', canary('core.askPass')],
  ['core.sshCommand', canary('core.sshCommand')],
  ['core.gitProxy', canary('core.gitProxy')],
  ['core.alternateRefsCommand', canary('core.alternateRefsCommand')],
  ['credential.helper', `!${canary('credential.helper')}`],
  ['credential.https://evil.invalid.helper', `!${canary('credential.url.helper')}`],
  ['gpg.program', canary('gpg.program')],
  ['gpg.ssh.program', canary('gpg.ssh.program')],
  ['diff.external', canary('diff.external')],
  ['diff.evil.command', canary('diff.driver.command')],
  ['diff.evil2.textconv', canary('diff.driver.textconv')],
  ['filter.evil.clean', canary('filter.clean')],
  ['filter.evil.smudge', canary('filter.smudge')],
  ['filter.evil.required', 'true'],
  ['filter.evil2.process', canary('filter.process')],
  ['filter.a.b=c.clean', canary('filter.odd-name.clean')],
  ['filter.ünï.clean', canary('filter.unicode-name.clean')],
  ['merge.evil.driver', canary('merge.driver')],
  ['merge.text.driver', canary('merge.text.driver')],
  ['alias.evil', `!${canary('alias')}`],
  ['trailer.evil.command', canary('trailer.command')],
  ['submodule.sub.update', `!${canary('submodule.update')}`],
  ['remote.evil.url', `ext::${canary('remote.ext')}`],
  ['remote.local.uploadpack', canary('remote.uploadpack')],
  ['hook.evil.command', canary('hook.command')],
];

const HOOK_EVENTS = [
  ...['reference-transaction', 'post-checkout', 'post-index-change', 'pre-commit', 'commit-msg', 'prepare-commit-msg'],
  ...['post-commit', 'post-merge', 'pre-rebase', 'post-rewrite'],
];

const switches: [string, string][] = [
  ['commit.gpgSign', 'true'],
  ['tag.gpgSign', 'true'],
  ['log.showSignature', 'true'],
  ['merge.verifySignatures', 'true'],
  ['submodule.recurse', 'true'],
  ['status.submoduleSummary', 'true'],
  ['protocol.allow', 'always'],
  ['protocol.ext.allow', 'always'],
  ['protocol.file.allow', 'always'],
  ['merge.default', 'evil'],
  ['branch.main.mergeOptions', '--no-ff --verify-signatures -S --edit'],
  ['gc.auto', '1'],
  ['maintenance.auto', 'true'],
  ['safe.bareRepository', 'all'],
  ['core.bare', 'false'],
  ['extensions.partialClone', 'evil'],
  ['remote.evil.promisor', 'true'],
  ...HOOK_EVENTS.map((event): [string, string] => ['hook.evil.event', event]),
];

/** Where the hostile values stand; git reads each of these places. */
export type Placement = 'local' | 'conditional includes' | 'worktree config';

const ATTRIBUTES = [
  '*.txt filter=evil diff=evil merge=evil',
  '*.md diff=evil2 merge=text',
  '*.odd filter=a.b=c',
  '*.uni filter=ünï',
  '*.proc filter=evil2',
].join('\n');

const FILES: Record<string, string> = {
  'a.txt': 'one\ntwo\nthree\n',
  'b.md': 'one\ntwo\nthree\n',
  'c.odd': 'x\n',
  'd.uni': 'x\n',
  'e.proc': 'x\n',
  plain: 'x\n',
  '.gitignore': '*.log\n',
  '.gitattributes': `${ATTRIBUTES}\n`,
};

export function makeHostileWorld(placement: Placement): HostileWorld {
  const repository = makeRepository(FILES);
  const { root, checkout, plain, env } = repository;
  const [fired, canaries, script] = ['fired', 'canaries', 'canary'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(fired);
  mkdirSync(canaries);
  writeFileSync(script, CANARY_SCRIPT.replace('FIRED', fired));
  chmodSync(script, 0o755);
  addSubmodule(repository);
  const commits = {
    left: changed(repository, 'a.txt', 'left\ntwo\nthree\n'),
    right: changed(repository, 'a.txt', 'right\ntwo\nthree\n'),
    first: changed(repository, 'b.md', 'first\ntwo\nthree\n'),
    second: changed(repository, 'b.md', 'one\ntwo\nsecond\n'),
  };
  const canary: Canary = (name) => {
    const path = join(canaries, name);
    if (!existsSync(path)) symlinkSync(script, path);
    return path;
  };
  for (const folder of [join(root, 'hooks'), join(checkout, '.git/hooks')]) plantHooks(folder, canary);
  const lines = [...programs(canary, join(root, 'hooks')), ...switches].map(([key, value]) => toConfig(key, value));
  plain('config', 'core.repositoryFormatVersion', '1');
  place(repository, placement, lines);
  plain(
    '-c',
    'core.fsmonitor=false',
    'config',
    '-f',
    '.git/modules/sub/config',
    'core.fsmonitor',
    canary('submodule:fsmonitor'),
  );
  repository.write('.git/info/attributes', `${ATTRIBUTES}\n`);
  const stripped: Run = (spec) => run({ ...spec, env: withoutHardening(spec.env) });
  return {
    ...repository,
    soft: createGit({ run: stripped, env }),
    commits,
    takeFired() {
      const names = readdirSync(fired).sort();
      for (const name of names) rmSync(join(fired, name));
      return names;
    },
  };
}

/** A commit on top of `main` with one file changed; the checkout stays as it is. */
function changed({ plain, write }: TestRepository, file: string, text: string): string {
  write(file, text);
  const commit = plain('stash', 'create');
  write(file, FILES[file] ?? '');
  return commit;
}

/** Knows its task by its name. Whatever it is for, it ends well enough for git to go on. */
const CANARY_SCRIPT = `#!/bin/sh
name=\${0##*/}
: > "FIRED/$name"
case "$name" in
  filter.process) printf '0016git-filter-server\\n000eversion=2\\n00000000'; cat > /dev/null;;
  filter.*) cat;;
  *textconv) cat "$1";;
  *fsmonitor) exit 1;;
esac
exit 0
`;

function withoutHardening(env: Readonly<Record<string, string>>): Record<string, string> {
  const isOurs = (name: string) => /^GIT_(?!INDEX_FILE|AUTHOR_|COMMITTER_)/.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOurs(name)));
}

function plantHooks(folder: string, canary: Canary): void {
  mkdirSync(folder, { recursive: true });
  for (const event of HOOK_EVENTS) symlinkSync(canary(event), join(folder, event));
}

function toConfig(key: string, value: string): string {
  const [section, variable] = [key.slice(0, key.indexOf('.')), key.slice(key.lastIndexOf('.') + 1)];
  const name = key.slice(section.length + 1, -variable.length - 1);
  const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;
  return `[${section}${name === '' ? '' : ` ${quote(name)}`}]\n\t${variable} = ${quote(value)}\n`;
}

function place({ root, checkout, plain }: TestRepository, placement: Placement, config: string[]): void {
  if (placement === 'local') appendFileSync(join(checkout, '.git/config'), config.join(''));
  if (placement === 'worktree config') {
    plain('config', 'extensions.worktreeConfig', 'true');
    writeFileSync(join(checkout, '.git/config.worktree'), config.join(''));
  }
  if (placement === 'conditional includes') {
    for (const [index, condition] of [`gitdir:${root}/`, 'onbranch:**'].entries()) {
      const file = join(root, `evil-${index}.config`);
      writeFileSync(file, config.filter((_, at) => at % 2 === index).join(''));
      plain('config', `includeIf.${condition}.path`, file);
    }
  }
}

/** A submodule that is checked out, so that whoever enters it meets its own configuration. */
function addSubmodule({ root, plain, commit, write }: TestRepository): void {
  const origin = join(root, 'origin');
  initRepository(origin);
  plain('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', '--name', 'sub', origin, 'sub');
  commit('a submodule');
  write('sub/dirty', 'x');
}

/** Runs a command on a terminal; the Linux one. */
export const TERMINAL = '/usr/bin/script';

/** Ordinary commands of an ordinary git, for canaries that none of our verbs would set off. */
export function runPlainCommands({ checkout, root, env }: TestRepository): void {
  const bare = join(root, 'other.git');
  execFileSync('git', ['clone', '-q', '--bare', join(root, 'origin'), bare], { stdio: 'pipe' });
  writeFileSync(join(checkout, '.git/objects/info/alternates'), `${join(bare, 'objects')}\n`);
  for (const file of ['a.txt', 'b.md', 'c.odd', 'd.uni', 'plain']) writeFileSync(join(checkout, file), 'changed\n');
  const git = (args: string[], input = '') =>
    spawnSync('git', ['-C', checkout, ...args], { env, input, timeout: 10_000 });
  const https = 'protocol=https\nhost=evil.invalid\n\n';
  const ssh = ['-c', 'gpg.format=ssh', '-c', 'user.signingKey=key::ssh-ed25519 AAAA'];
  git(['diff']);
  git(['diff', '--no-ext-diff']);
  git(['status']);
  git(['add', 'a.txt', 'b.md', 'c.odd', 'd.uni']);
  git(['commit', '-m', 'x']);
  git([...ssh, 'commit', '-m', 'x']);
  git(['-c', 'commit.gpgSign=false', 'commit', '--edit', '-m', 'x']);
  git(['reset', '--hard']);
  git(['checkout', '-f', 'HEAD~1']);
  git(['rebase', '-i', '--root']);
  git(['rebase', '--abort']);
  git(['submodule', 'update', '--force']);
  git(['evil']);
  git(['fetch', 'evil']);
  git(['fetch', 'ssh://evil.invalid/x']);
  git(['fetch', 'git://evil.invalid/x']);
  git(['-c', 'remote.local.url=.', 'fetch', 'local']);
  git(['credential', 'fill'], https);
  git(['-c', 'credential.helper=', 'credential', 'fill'], https);
  git(['interpret-trailers', '--trailer', 'evil: x']);
  git(['receive-pack', '.'], '0000');
  writeFileSync(join(checkout, 'e.proc'), 'changed\n');
  git(['add', 'e.proc']);
  // A pager runs on a terminal only.
  const command = `git -C ${checkout} log; git -C ${checkout} status`;
  spawnSync(TERMINAL, ['-qec', command, '/dev/null'], {
    env: { ...env, TERM: 'xterm' },
    stdio: 'ignore',
    timeout: 10_000,
  });
}

/** The name of every canary that was planted. */
export function canaryNames(): string[] {
  const seen: string[] = [];
  programs((name) => {
    seen.push(name);
    return name;
  }, '');
  return [...seen, 'submodule:fsmonitor', ...HOOK_EVENTS].sort();
}
