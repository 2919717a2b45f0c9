import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeUser } from './runtime-rig.ts';

// Several programs one after the other.
vi.setConfig({ testTimeout: 120_000 });

const LOKI = join(import.meta.dirname, '../fixtures/runtime/loki');

function contentOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'utf8')]));
}

verifies('R-15', 'R-13').test('the folder of Loki is taken over, and what could not be used is listed', async () => {
  const user = makeUser({ fixture: null });
  const from = join(user.root, 'loki');
  cpSync(LOKI, from, { recursive: true });
  const before = contentOf(from);
  const { stdout, code } = await user.reef(['config', 'import', '--from', '../loki', '--json']);
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      copied: [
        'agents/helper/config.yaml',
        'config.yaml',
        'functions/mcp.json',
        'macros/greet.yaml',
        'roles/pirate.md',
        'sessions/old.yaml',
      ],
      differs: expect.any(Array),
      notUsed: expect.arrayContaining([
        { path: 'vault.yml', why: expect.any(String) },
        { path: expect.stringMatching(/^config\.yaml:\d+$/), why: expect.stringContaining('night_mode') },
      ]),
      secrets: ['GITHUB_TOKEN', 'LOCAL_API_KEY'],
    },
  ]);
  const lists = ['roles', 'sessions', 'macros', 'models'].map((what) => user.reef(['ask', `--list-${what}`, '--json']));
  const [roles, sessions, macros, models] = (await Promise.all(lists)).map((said) => JSON.parse(said.stdout));
  expect([roles.roles, sessions, macros, models]).toEqual([
    expect.arrayContaining(['pirate']),
    { sessions: ['old'] },
    { macros: ['greet'] },
    { models: ['local:small'] },
  ]);
  const old = await user.reef(['ask', '--dry-run', '--session', 'old', 'And the lake?']);
  expect(old.stdout).toBe('How deep is the sea?\n\nDeep.\n\nAnd the lake?\n');
  expect(contentOf(from)).toEqual(before);
});

verifies('R-15').test('nothing that is there is overwritten', async () => {
  const user = makeUser();
  const mine = readFileSync(join(user.config, 'config.yaml'), 'utf8');
  const { stdout } = await user.reef(['config', 'import', '--from', LOKI]);
  expect(stdout).toMatch(/^Copied 5 files to .*\n(.*\n)*not used: config\.yaml: there is one already\n/);
  expect(readFileSync(join(user.config, 'config.yaml'), 'utf8')).toBe(mine);
  expect((await user.reef(['config', 'import', '--from', 'nowhere'])).code).toBe(2);
});
