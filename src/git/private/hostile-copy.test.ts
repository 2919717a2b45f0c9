import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { boxed, makeCopyWorld } from '../../../test/support/git/agent-copy.ts';
import { initRepository, userPicture } from '../../../test/support/repository.ts';
import { codeOf } from '../../../test/support/worktrees/world.ts';

/** What an agent may do to its copy, and whether it is brought over all the same. The repository must not notice any of it. */

const OBJECTS = 'cd "$(git rev-parse --git-common-dir)/objects"';
const GIT_DIR = 'cd "$(git rev-parse --git-dir)"';
const BRANCH = 'cd "$(git rev-parse --git-common-dir)/$(dirname "$(git symbolic-ref HEAD)")"';
const COMMIT = 'echo b > b.txt; git add b.txt; git commit -qm b';
const fileOf = (revision: string) => `f=$(git rev-parse ${revision} | sed 's,^..,&/,')`;

const attacks: [what: string, script: string, code: 'done' | 'history_refused' | 'git_locked'][] = [
  [
    'an object with the content of another',
    `${COMMIT}; ${fileOf('HEAD:b.txt')}; g=$(echo other | git hash-object -w --stdin | sed 's,^..,&/,'); ${OBJECTS}; chmod u+w $f; cat $g > $f`,
    'history_refused',
  ],
  [
    'an object cut short',
    `${COMMIT}; ${fileOf('HEAD^{tree}')}; ${OBJECTS}; chmod u+w $f; head -c 5 $f > x; cat x > $f`,
    'history_refused',
  ],
  ['an object taken away', `${COMMIT}; ${fileOf('HEAD:b.txt')}; ${OBJECTS}; rm -f $f`, 'history_refused'],
  [
    'a folder of objects that is a link to elsewhere',
    `${COMMIT}; ${fileOf('HEAD:b.txt')}; ${OBJECTS}; d=\${f%%/*}; rm -rf $d; ln -s /etc $d`,
    'history_refused',
  ],
  ['a pack folder that is a link to elsewhere', `${COMMIT}; ${OBJECTS}; rm -rf pack; ln -s /etc pack`, 'done'],
  [
    'a pack that is none',
    `${COMMIT}; git repack -qad; ${OBJECTS}; for p in pack/*.pack; do chmod u+w $p; head -c 40 /dev/urandom > $p; done`,
    'history_refused',
  ],
  [
    'a name that no checkout may have',
    `${COMMIT}; b=$(git rev-parse HEAD:b.txt); t=$(printf '100644 blob %s\\t.git\\n' $b | git mktree); c=$(git commit-tree -m x -p HEAD $t); git update-ref HEAD $c`,
    'history_refused',
  ],
  [
    'a branch that names no commit',
    `${COMMIT}; t=$(git rev-parse HEAD^{tree}); ${BRANCH}; echo $t > tip`,
    'history_refused',
  ],
  [
    'a branch that names nothing that is there',
    `${BRANCH}; echo 1234567890123456789012345678901234567890 > tip`,
    'history_refused',
  ],
  ['a branch that is a link to another', `${BRANCH}; ln -sf ../../main tip`, 'done'],
  ['a branch that nobody can read to its end', `${BRANCH}; rm tip; mkfifo tip`, 'done'],
  ['a HEAD that is a link', `${GIT_DIR}; rm HEAD; ln -s ../../HEAD HEAD`, 'history_refused'],
  ['a HEAD on a branch of the user', `${COMMIT}; ${GIT_DIR}; echo 'ref: refs/heads/main' > HEAD`, 'done'],
  ['an index that nobody can read to its end', `${COMMIT}; ${GIT_DIR}; rm index; mkfifo index`, 'done'],
  ['an index that is none', `${COMMIT}; ${GIT_DIR}; head -c 400 /dev/urandom > index`, 'done'],
  ['an index that is a link', `${COMMIT}; ${GIT_DIR}; rm index; ln -s ../../index index`, 'done'],
  [
    'an index that names what is not there',
    'git update-index --add --cacheinfo 100644,1234567890123456789012345678901234567890,x',
    'history_refused',
  ],
  ['locks that are held', `${COMMIT}; ${GIT_DIR}; touch index.lock HEAD.lock`, 'done'],
  [
    'configuration and hooks of its own',
    `${COMMIT}; ${GIT_DIR}; mkdir -p hooks; echo 'touch /tmp/ran' > hooks/x; printf '[core]\\n\\tfsmonitor = touch /tmp/ran\\n' > config`,
    'done',
  ],
  [
    'rules for what its git reads',
    `${COMMIT}; ${OBJECTS}; mkdir -p info; echo /etc > info/alternates; echo x > info/grafts; touch info/commit-graph`,
    'history_refused',
  ],
];

for (const [what, script, code] of attacks) {
  boxed('X-137').test(`an agent that leaves ${what} changes nothing for the user`, async () => {
    const world = await makeCopyWorld();
    const { plain, gits, worktree, checkout } = world;
    const isOthers = (line: string) => !/^\.git\/(worktrees|(logs\/)?refs\/heads\/reef)\//.test(line);
    const before = userPicture(checkout).filter(isOthers);
    const main = plain('rev-parse', 'main');
    await world.agent(script);
    expect(await codeOf(gits.settle(worktree))).toBe(code);
    expect([plain('fsck', '--no-dangling', '--no-progress'), plain('rev-parse', 'main')]).toEqual(['', main]);
    expect(userPicture(checkout).filter(isOthers)).toEqual(before);
    if (code === 'history_refused') rmSync(world.copy, { recursive: true }); // as the message says
    expect(await codeOf(gits.settle(worktree))).toBe('done');
  });
}

boxed('X-137').test(
  'nothing of the repository can be changed from inside, whatever is tried on its objects',
  async () => {
    const world = await makeCopyWorld();
    const { plain, checkout } = world;
    plain('gc', '-q');
    world.write('later.txt', 'later\n');
    world.commit('later');
    await world.agent('true');
    const before = userPicture(checkout);
    const tries = [
      'git gc -q --prune=now',
      'git repack -adq',
      'git prune --expire=now',
      'lent=$(cat "$(git rev-parse --git-common-dir)/objects/info/alternates"); ls "$lent"; rm -rf "$lent"/*; chmod -R u+w "$lent"; echo x > "$lent"/x',
      `${OBJECTS}; rm -rf ./*`,
    ];
    for (const each of tries) await world.agent(`(${each}) 2>/dev/null || true`);
    expect([userPicture(checkout), plain('fsck', '--no-progress')]).toEqual([before, '']);
    expect(plain('show', 'main:later.txt')).toBe('later');
  },
);

boxed('X-137').test('an agent cannot bring in what lies in another repository of the user', async () => {
  const world = await makeCopyWorld();
  const other = join(world.env.HOME ?? '', 'other');
  const secret = initRepository(other, { 'secret.txt': 'secret\n' })('rev-parse', 'HEAD');
  const objects = join(other, '.git', 'objects');
  await world.agent(`(${OBJECTS}; echo ${objects} >> info/alternates); ${BRANCH}; echo ${secret} > tip`);
  expect(await codeOf(world.gits.settle(world.worktree))).toBe('history_refused');
  expect(() => world.plain('cat-file', '-e', secret)).toThrow();
});

boxed('X-137').test(
  "git outside never opens the agent's folder: it starts nothing there, and writes nothing",
  async () => {
    const world = await makeCopyWorld();
    await world.agent(COMMIT);
    const traced = join(world.root, 'traced');
    const bin = join(world.root, 'bin');
    mkdirSync(bin);
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    const script = `#!/bin/sh\nfor a; do echo "$a" >> ${traced}; done\nenv | grep -a '^GIT_' >> ${traced}\nexec ${real} "$@"\n`;
    writeFileSync(join(bin, 'git'), script, { mode: 0o755 });
    const { createGit } = await import('../git-command.ts');
    const { run } = await import('../../process/run.ts');
    const git = createGit({ run, env: { PATH: `${bin}:${process.env.PATH}`, HOME: world.env.HOME ?? '' } });
    await world.reopen({ git }).settle(world.worktree);
    const said = readFileSync(traced, 'utf8');
    expect([said.includes('index-pack'), said.includes(world.copy)]).toEqual([true, false]);
  },
);
