import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { makeWorld, textOf } from '../../../test/support/worktrees/world.ts';
import { capture } from '../../git/capture.ts';
import { run } from '../../process/run.ts';

/** A package manager of our own: it installs, and writes down that it ran. */
const NPM = '#!/bin/sh\nmkdir -p node_modules\ncp package.json node_modules/made\necho x >> "$PWD-installed"\n';

function judgedWorld() {
  const bin = temporaryFolder();
  writeFileSync(join(bin, 'npm'), NPM, { mode: 0o755 });
  const files = { 'package.json': '{"name":"x"}\n', 'a.txt': '1\n', '.gitignore': 'node_modules\ndist\n' };
  return makeWorld(files, {
    items: { scripts: async () => ({ setup: ['npm', 'ci'] }) },
    run: (spec) => run({ ...spec, env: { ...spec.env, PATH: `${bin}:${process.env.PATH}` } }),
  });
}

verifies('X-136').test(
  'the checkout for gates follows the files, and is set up again only when what a set-up reads or made has changed',
  async () => {
    const world = await judgedWorld();
    const work = await world.start('task');
    const judge = async (use: (folder: string) => void) => {
      const worktree = await world.git.locate(work.path);
      const at = new Date();
      const taken = await capture(world.git, worktree, { ref: `refs/reef/trees/${work.id}`, message: 'look', at });
      await world.manager.inGateCheckout(work.id, taken, async ({ folder }) => use(folder));
    };
    const installs = () => textOf(dirname(work.path), `scratch-${work.id}-installed`)?.length ?? 0;
    const seen: unknown[] = [];
    const look = (folder: string) => {
      seen.push([
        textOf(folder, 'a.txt'),
        textOf(folder, 'dist/out'),
        textOf(folder, 'node_modules/made'),
        installs() / 2,
      ]);
    };
    await judge((folder) => {
      look(folder);
      world.edit({ path: folder }, 'dist/out', 'built\n');
      writeFileSync(join(folder, 'a.txt'), 'a gate that edits\n');
    });
    await judge(look);
    world.edit(work, 'a.txt', '2\n');
    await judge((folder) => {
      look(folder);
      // Same length, and the time put back: the kernel knows better.
      writeFileSync(join(folder, 'node_modules/made'), '{"name":"y"}\n');
    });
    await judge(look);
    world.edit(work, 'package.json', '{"name":"z"}\n');
    await judge(look);
    expect(seen).toEqual([
      ['1\n', undefined, '{"name":"x"}\n', 1],
      ['1\n', 'built\n', '{"name":"x"}\n', 1],
      ['2\n', undefined, '{"name":"x"}\n', 1],
      ['2\n', undefined, '{"name":"x"}\n', 2],
      ['2\n', undefined, '{"name":"z"}\n', 3],
    ]);
    expect(readFileSync(join(work.path, 'a.txt'), 'utf8')).toBe('2\n');
    await world.manager.discard(work.id);
    expect(world.plain('worktree', 'list', '--porcelain').match(/^worktree/gm)).toHaveLength(1);
  },
);
