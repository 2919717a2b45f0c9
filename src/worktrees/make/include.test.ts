import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makeRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { makeWorld, textOf } from '../../../test/support/worktrees/world.ts';
import { copyIncluded } from './include.ts';

verifies('T-44').test(
  'only ignored files that are named are copied, nothing is overwritten and no link followed',
  async () => {
    const { git, place, root, write, checkout } = makeRepository({
      '.gitignore': '.env*\nsecrets/\n*.log\nlink*\n',
      'tracked.env': 'tracked\n',
    });
    const outside = join(root, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'key'), 'not yours');
    write('.env', 'A=1\n');
    chmodSync(join(checkout, '.env'), 0o640);
    write('.env.kept', 'from the checkout\n');
    write('secrets/deep/x', 'x\n');
    write('secrets/skip.tmp', 'x\n');
    write('untracked.env', 'not ignored\n');
    write('other.log', 'not named\n');
    symlinkSync(join(outside, 'key'), join(checkout, 'link-file'));
    symlinkSync(outside, join(checkout, 'link-dir'));
    const target = join(root, 'target');
    mkdirSync(target);
    writeFileSync(join(target, '.env.kept'), 'already here\n');
    const patterns = '.env*\n/secrets/**\n!*.tmp\nlink*\n*.env\n../outside/key\n';
    const result = await copyIncluded(git, place, { path: target, patterns });
    expect({ ...result, skipped: result.skipped.sort((a, b) => (a.path < b.path ? -1 : 1)) }).toEqual({
      copied: ['.env', 'secrets/deep/x'],
      skipped: [
        { path: '.env.kept', why: 'is there already' },
        { path: 'link-dir', why: 'is a link' },
        { path: 'link-file', why: 'is a link' },
      ],
    });
    expect([textOf(target, '.env'), textOf(target, '.env.kept'), statSync(join(target, '.env')).mode & 0o777]).toEqual([
      'A=1\n',
      'already here\n',
      0o640,
    ]);
  },
);

verifies('T-44').test('a folder of the worktree that is a link is not written through', async () => {
  const { git, place, root, write } = makeRepository({ '.gitignore': 'conf/\n' });
  write('conf/key', 'k');
  const [target, outside] = [join(root, 'target'), join(root, 'outside')];
  mkdirSync(target);
  mkdirSync(outside);
  symlinkSync(outside, join(target, 'conf'));
  const { copied, skipped } = await copyIncluded(git, place, { path: target, patterns: 'conf/\n' });
  expect([copied, skipped.map(({ path }) => path), textOf(outside, 'key')]).toEqual([[], ['conf/key'], undefined]);
});

const script = (text: string) => ['sh', '-c', text];

verifies('T-44', 'T-45').test(
  'a new worktree gets its files first, then its set-up with the variables it needs',
  async () => {
    const world = await makeWorld(
      { '.gitignore': '.env\n', 'a.txt': 'x' },
      {
        items: {
          include: async () => '.env\n',
          scripts: async () => ({
            setup: script('cat .env > seen; echo "$REEF_WORKTREE $REEF_ROOT $REEF_BRANCH $REEF_PORT_BASE" >> seen'),
          }),
        },
      },
    );
    world.write('.env', 'SECRET=1\n');
    const record = await world.start('task');
    const line = `${record.path} ${world.checkout} ${record.branch} ${record.portBase}`;
    expect(textOf(record.path, 'seen')).toBe(`SECRET=1\n${line}\n`);
    expect((await world.manager.view(record.id)).setup).toEqual({ state: 'done', seconds: expect.any(Number) });
  },
);

verifies('T-45').test(
  'a failed set-up keeps the worktree and can be repeated; a failed teardown stops nothing',
  async () => {
    let setup = script('echo no luck >&2; exit 3');
    const world = await makeWorld(undefined, {
      items: {
        scripts: async () => ({ setup, teardown: script('echo "$REEF_BRANCH" > "$REEF_ROOT/../torn"; exit 9') }),
      },
    });
    const { id } = await world.manager.submit({ taskId: 'task', plan: [] });
    await expect(world.manager.whenReady(id)).rejects.toMatchObject({ code: 'setup_failed' });
    const failed = await world.manager.view(id);
    setup = script('true');
    const mended = await world.manager.setup(id);
    expect([failed.status, failed.setup, mended.setup]).toEqual([
      'running',
      { state: 'failed', message: 'sh ended with 3: no luck', seconds: expect.any(Number) },
      { state: 'done', seconds: expect.any(Number) },
    ]);
    expect(world.notices.map(({ kind }) => kind)).toEqual(['setup_failed']);
    await world.manager.discard(id);
    expect([textOf(world.root, 'torn'), (await world.manager.view(id)).status]).toEqual([
      `${failed.branch}\n`,
      'discarded',
    ]);
    expect(world.logged.some((line) => line.includes('the teardown of a worktree failed'))).toBe(true);
  },
);

verifies('T-45').test('a repository that is not trusted has no set-up, and that is said', async () => {
  const world = await makeWorld(undefined, {
    items: { scripts: () => Promise.reject(new Error('repo_untrusted: setup')) },
  });
  const { id } = await world.manager.submit({ taskId: 'task', plan: [] });
  await expect(world.manager.whenReady(id)).rejects.toMatchObject({ code: 'setup_failed' });
});
