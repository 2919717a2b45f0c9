import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { SLOW_MS } from '../e2e/real.ts';
import { RunsRig, usersOwn } from '../e2e/runs-rig.ts';
import { plainGit } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

/** What an agent in Reef's sandbox can do to the repository it works in, and what it can leave there for others. */

const { bubblewrap } = await probeCapabilities();
const boxed = (...ids: Parameters<typeof verifies>) =>
  verifies(...ids).needs(bubblewrap !== undefined, 'bubblewrap is not installed or not allowed to work');

let rig: RunsRig;
beforeEach(() => {
  // In the sandbox /tmp is another folder: what lies there would be hidden by that alone.
  rig = new RunsRig({ 'a.txt': 'a\n', '.vscode/own': '1\n' }, '/var/tmp');
});
afterEach(() => rig.close());

const GUARDED = ['.reef', '.mcp.json', '.claude', '.codex', '.vscode', '.envrc', '.gitmodules'];
/** Every way to make or change something of that name; says which of them worked. */
const plant = (name: string) =>
  `(echo x > ${name}; mkdir -p ${name}/x; echo x > ${name}/own; ln -s /tmp ${name}/y; rm -rf ${name}; mv ${name} moved) 2>/dev/null`;

/** A job in the sandbox that runs these lines one after the other. */
async function start(name: string, lines: readonly string[], ...flags: string[]): Promise<string> {
  const shells = lines.map((line) => ({ shell: ['sh', '-c', `${line}; echo "exit $?"`] }));
  const agent = rig.world.script(name, [...shells, { say: 'Done.' }]);
  return (await rig.json('spawn', agent, name, '--sandbox', ...flags)).agentId;
}

async function ended(id: string) {
  const job = await rig.world.until(id, ({ activity }) => activity === 'ended', 60_000);
  expect([job.status, job.sandbox]).toEqual(['completed', 'bubblewrap']);
  const said = (await rig.world.events(id)).flatMap(({ type, payload }) =>
    type === 'progress' && payload.kind === 'tool_result' ? [payload.text] : [],
  );
  return { job, said };
}

/** Plain git of a person in a worktree. */
function git(folder: string, ...args: string[]): string {
  return plainGit(folder, rig.world.env)(...args);
}

/** Branches, configuration, hooks and what git keeps of other worktrees. */
function repositoryOf(): Record<string, string> {
  const { repository } = rig.world;
  const hash = (path: string) =>
    execFileSync('sh', ['-c', `cd ${repository}/.git && find ${path} | sort | xargs ls -ld`]);
  return {
    refs: rig.git(
      'for-each-ref',
      '--format=%(refname) %(objectname)',
      'refs/heads/main',
      'refs/heads/other',
      'refs/tags',
    ),
    config: rig.git('config', '--local', '--list'),
    files: `${hash('hooks info config HEAD')}`,
  };
}

boxed('X-24').test(
  'an agent in the sandbox commits to its own branch, and other branches, configuration, hooks and worktrees are closed to it',
  async () => {
    const other = await rig.world.client.call('worktree_create', { title: 'other', plan: ['other.txt'] });
    const before = repositoryOf();
    const open = [
      'echo one > one.txt',
      'git add -A',
      'git commit -qm one',
      'git commit -q --amend -m two',
      'git status',
    ];
    const closed = [
      'git branch other',
      'git update-ref refs/heads/main HEAD',
      'git checkout -q -b reef/elsewhere',
      'git tag mine',
      'git config core.fsmonitor /tmp/x',
      'git worktree add -q ../mine',
      'echo x > "$(git rev-parse --git-common-dir)/hooks/pre-commit"',
      'echo x > "$(git rev-parse --git-dir)/commondir"',
      'echo x > "$(git rev-parse --git-dir)/gitdir"',
      'echo "[core] fsmonitor = /tmp/x" > "$(git rev-parse --git-dir)/config.worktree"',
      'mkdir -p "$(git rev-parse --git-dir)/modules/x"',
      'echo x > .git',
      'rm -f .git',
      'mv .git moved',
      `echo x > ${other.path}/x.txt`,
      `echo x > "$(git rev-parse --git-common-dir)/worktrees/$(basename ${other.path})/HEAD"`,
    ];
    const { job, said } = await ended(await start('commits', [...open, ...closed], '--worktree'));
    const exits = said.map((text) => / *exit (\d+)\s*$/.exec(text)?.[1] === '0');
    expect(
      said.map((text, n) => [[...open, ...closed][n], text.trim()]).filter((_, n) => exits[n] !== n < open.length),
    ).toEqual([]);
    expect([repositoryOf(), rig.git('fsck', '--no-dangling')]).toEqual([before, '']);
    expect((await rig.json('worktree', 'accept', job.worktree ?? '')).status).toBe('merged');
    expect(rig.git('show', 'main:one.txt')).toBe('one');
  },
  SLOW_MS,
);

boxed('X-137').test(
  'what an agent does to objects reaches nobody, and its commits are in the repository when it ends, also after a kill of the daemon',
  async () => {
    const damage =
      'for f in $(find "$(git rev-parse --git-common-dir)/objects/" "$(cat "$(git rev-parse --git-common-dir)/objects/info/alternates")" -type f ! -name alternates); do chmod u+w $f; echo x > $f; rm -f $f; done';
    const commit = 'echo one > one.txt && git add one.txt && git commit -qm one';
    const rest = 'echo two > two.txt && git add two.txt && git stash -q && git stash pop -q && git commit -qm two';
    const wait = 'touch waits; until [ -e go ]; do sleep 0.05; done; rm waits go';
    const id = await start('objects', [damage, commit, wait, rest], '--worktree');
    const { cwd, worktree = '' } = await rig.world.until(id, ({ cwd: folder }) => existsSync(join(folder, 'waits')));
    expect([rig.git('fsck', '--no-dangling'), git(cwd, 'log', '-1', '--format=%s')]).toEqual(['', 'project']);
    await rig.world.killDaemon();
    writeFileSync(join(cwd, 'go'), '');
    const { said } = await ended(id);
    expect(said.slice(1)).toEqual(Array(3).fill('exit 0\n'));
    expect([git(cwd, 'log', '-2', '--format=%s'), git(cwd, 'status', '--porcelain')]).toEqual(['two\none', '']);
    expect((await rig.json('worktree', 'accept', worktree)).status).toBe('merged');
    rig.git('gc', '-q', '--prune=now');
    expect([rig.git('show', 'main:two.txt'), rig.git('fsck', '--no-dangling')]).toEqual(['two', '']);
  },
  SLOW_MS,
);

boxed('X-137').test(
  'where a person and an agent both commit in a worktree, nothing is merged until somebody typed what the refusal says',
  async () => {
    const wait = 'touch waits; until [ -e go ]; do sleep 0.05; done; rm waits go';
    const commit = 'echo agent > agent.txt && git add agent.txt && git commit -qm agent';
    const id = await start('both', [wait, commit], '--worktree');
    const { cwd, worktree = '' } = await rig.world.until(id, ({ cwd: folder }) => existsSync(join(folder, 'waits')));
    writeFileSync(join(cwd, 'own.txt'), 'own\n');
    git(cwd, 'add', 'own.txt');
    git(cwd, 'commit', '-qm', 'own');
    writeFileSync(join(cwd, 'go'), '');
    await ended(id);
    const warned = (await rig.world.events(id)).map(({ payload }) => JSON.stringify(payload)).join('\n');
    expect(warned).toContain('both made commits');
    const { out, err } = await rig.reef('worktree', 'accept', worktree);
    const [, ref = ''] = /merge (refs\/reef\/apart\/\w+)/.exec(out + err) ?? [];
    rmSync(join(cwd, 'agent.txt'));
    git(cwd, 'merge', '-q', '--no-edit', ref);
    expect((await rig.json('worktree', 'accept', worktree)).status).toBe('merged');
    expect([rig.git('show', 'main:own.txt'), rig.git('show', 'main:agent.txt')]).toEqual(['own', 'agent']);
  },
  SLOW_MS,
);

boxed('X-24').test(
  'with `git: read` an agent writes nothing of git, not even an object, and what it did is merged all the same',
  async () => {
    rig.world.configure({ reef: { sandbox: { git: 'read' } } });
    const store = () => rig.git('count-objects', '-v') + rig.git('for-each-ref', 'refs/heads');
    const open = ['echo one > one.txt', 'git status', 'git log', 'git diff'];
    const closed = [
      'git add -A',
      'git commit -qam one',
      'echo x | git hash-object -w --stdin',
      'echo x > "$(git rev-parse --git-common-dir)/objects/x"',
      'echo x > "$(git rev-parse --git-dir)/HEAD"',
    ];
    const { id } = await rig.world.client.call('worktree_create', { title: 'reads', plan: [] });
    const before = store();
    const { job, said } = await ended(await start('reads', [...open, ...closed], '--worktree', id));
    const exits = said.map((text) => / *exit (\d+)\s*$/.exec(text)?.[1] === '0');
    expect(exits).toEqual([...open.map(() => true), ...closed.map(() => false)]);
    expect(store().split('\n').at(-1)).toBe(before.split('\n').at(-1));
    expect((await rig.json('worktree', 'accept', job.worktree ?? '')).status).toBe('merged');
    expect(rig.git('show', 'main:one.txt')).toBe('one');
  },
  SLOW_MS,
);

boxed('X-25', 'X-114').test(
  'what programs act on when they next come by cannot be made or changed in the sandbox, and nothing of its guard is left',
  async () => {
    const lines = [
      ...GUARDED.map(plant),
      `ls -A ${GUARDED.join(' ')} 2>/dev/null`,
      'git status --porcelain',
      'echo b > b.txt',
    ];
    const { job, said } = await ended(await start('plants', lines, '--worktree'));
    expect(said.at(-2)).toBe('exit 0\n');
    expect(readdirSync(job.cwd).sort()).toEqual(['.git', '.vscode', 'a.txt', 'b.txt']);
    const { files } = await rig.world.client.call('diff', { id: job.worktree ?? '' });
    expect(files.map(({ path }) => path)).toEqual(['b.txt']);
  },
  SLOW_MS,
);

boxed('X-25').test(
  'a link that programs act on is what it was when the job has ended, and what was put in its place is aside',
  async () => {
    const linked = (name: string, to: string) => symlinkSync(to, join(rig.world.repository, name));
    rig.write({ 'conf/settings.json': '{}' });
    linked('.claude', 'conf');
    linked('.envrc', 'absent');
    rig.git('add', '-A');
    rig.git('commit', '-qm', 'links');
    const lines = [
      'rm .claude && mkdir .claude && echo x > .claude/settings.json',
      'rm .envrc',
      'echo x > conf/settings.json',
      'mv conf moved',
      'echo b > b.txt',
    ];
    const { job, said } = await ended(await start('links', lines, '--worktree'));
    expect(said.map((text) => /exit (\d+)/.exec(text)?.[1] === '0')).toEqual([true, true, false, false, true]);
    expect(['.claude', '.envrc'].map((name) => readlinkSync(join(job.cwd, name)))).toEqual(['conf', 'absent']);
    const { files } = await rig.world.client.call('diff', { id: job.worktree ?? '' });
    expect(files.map(({ path }) => path).sort()).toEqual(['.claude.replaced/settings.json', 'b.txt']);
  },
  SLOW_MS,
);

boxed('X-24', 'X-25').test(
  "in the user's own checkout git is read-only, and what guards it stays as long as one job there is in a sandbox",
  async () => {
    const [own, before] = [usersOwn(rig), repositoryOf()];
    const wait = (file: string) => `until [ -e ${file} ]; do sleep 0.05; done`;
    const first = await start('first', ['touch first', wait('go-first')]);
    const last = await start('last', [
      ...['touch last', wait('go-last'), plant('.claude'), 'test -e .claude/x'],
      ...['git commit -q --allow-empty -m x', 'echo x > .git/hooks/x', 'git status --porcelain'],
    ]);
    const there = (name: string) => existsSync(join(rig.world.repository, name));
    await eventually(
      () => there('first') && there('last') && there('.claude'),
      (isThere) => isThere,
    );
    rig.write({ 'go-first': '' });
    await ended(first);
    expect(lstatSync(join(rig.world.repository, '.claude')).isDirectory()).toBe(true);
    rig.write({ 'go-last': '' });
    const { said } = await ended(last);
    expect(said.slice(3).map((text) => /exit (\d+)/.exec(text)?.[1] === '0')).toEqual([false, false, false, true]);
    for (const name of ['first', 'last', 'go-first', 'go-last']) execFileSync('rm', [join(rig.world.repository, name)]);
    expect([usersOwn(rig), repositoryOf(), GUARDED.filter(there)]).toEqual([own, before, ['.reef', '.vscode']]);
  },
  SLOW_MS,
);

boxed('X-25').test(
  'a job in a sandbox that waits for a message keeps its guard when another in its folder ends',
  async () => {
    const steps = {
      steps: [{ say: 'Here.' }],
      onMessage: [{ shell: ['sh', '-c', plant('.claude')] }, { say: 'Done.' }],
    };
    const { agentId } = await rig.json('spawn', rig.world.script('waits', steps), 'wait', '--sandbox', '--keep');
    await rig.world.until(agentId, ({ status }) => status === 'paused');
    await ended(await start('other', ['true']));
    await rig.world.client.call('send', { id: agentId, text: 'now' });
    await eventually(
      async () => (await rig.world.events(agentId)).filter(({ type }) => type === 'completed').length,
      (turns) => turns === 2,
    );
    expect(readdirSync(join(rig.world.repository, '.claude'))).toEqual([]);
    await rig.world.client.call('kill', { id: agentId });
    expect(existsSync(join(rig.world.repository, '.claude'))).toBe(false);
  },
  SLOW_MS,
);
