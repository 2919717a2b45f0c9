import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { SLOW_MS } from '../e2e/real.ts';
import { RunsRig } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

/** A filter as git-lfs has one: other bytes in the repository than in the files. */
const CONFIG = 'reef: { git: { drivers: [filter.lower] } }\n';

let rig: RunsRig;
beforeEach(() => {
  rig = new RunsRig({ '.gitattributes': '*.up filter=lower\n', 'a.up': 'hello\n', '.reef/config.yaml': CONFIG });
  rig.git('config', 'filter.lower.clean', 'tr A-Z a-z');
  rig.git('config', 'filter.lower.smudge', 'tr a-z A-Z');
});
afterEach(() => rig.close());

const newWorktree = async (title: string) => {
  const { id, path } = await rig.world.client.call('worktree_create', { title, plan: [] });
  const file = join(path ?? '', 'a.up');
  await eventually(
    () => existsSync(file),
    (isThere) => isThere,
  );
  return { id, file, text: readFileSync(file, 'utf8') };
};
const item = async () => {
  const { items } = await rig.world.client.call('trust', {});
  return items.find(({ name }) => name === 'git drivers');
};

verifies('X-34').test(
  'a driver that the configuration names runs once its very command is trusted, and stops when a byte of it changes',
  async () => {
    expect((await newWorktree('before')).text).toBe('hello\n');
    expect(await item()).toMatchObject({
      trusted: false,
      content: 'filter.lower.clean = tr A-Z a-z\nfilter.lower.smudge = tr a-z A-Z\n',
    });
    await rig.reef('trust', '--yes');

    const trusted = await newWorktree('trusted');
    expect(trusted.text).toBe('HELLO\n');
    writeFileSync(trusted.file, 'WORLD\n');
    expect((await rig.json('worktree', 'accept', trusted.id)).status).toBe('merged');
    expect(rig.git('show', 'main:a.up')).toBe('world');

    rig.git('config', 'filter.lower.smudge', 'tr a-y A-Y');
    expect([(await newWorktree('changed')).text, (await item())?.trusted]).toEqual(['world\n', false]);
  },
  SLOW_MS,
);
