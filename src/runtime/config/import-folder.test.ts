import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { createPaths } from '../paths.ts';
import { listRoles } from '../roles/role-folder.ts';
import { SessionStore } from '../sessions/store.ts';
import { importFolder } from './import-folder.ts';
import { loadConfig } from './load.ts';

function folders(files: Record<string, string>) {
  const home = temporaryFolder();
  const from = join(home, 'loki');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), text, { mode: path.endsWith('.sh') ? 0o755 : 0o644 });
  }
  return { home, from, paths: createPaths({}, home) };
}

const tree = (dir: string) => readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();

verifies('R-15').test(
  'the folder of a Loki is copied, what cannot be used is listed, and nothing in it changes',
  async () => {
    const { home, from, paths } = folders({
      'config.yaml':
        "model: openai:gpt-4o\nuse_tools: fs\nstrange: 1\nclients: [{type: openai, api_key: '{{OPENAI}}'}]\n",
      '.env': 'A=1\n',
      'roles/mine.md': 'Mine.',
      'macros/m.yaml': 'steps: [x]\n',
      'sessions/old.yaml': 'messages: [{role: user, content: hello}]\n',
      'functions/mcp.json': '{"mcpServers": {"github": {"command": "x", "env": {"TOKEN": "{{GITHUB}}"}}}}',
      'functions/tools/t.sh': '#!/bin/sh\n',
      'agents/a/config.yaml': 'instructions: hi\n',
      'vault.yml': 'sealed',
      'loki.log': 'log',
    });
    symlinkSync('/etc/passwd', join(from, 'roles', 'link.md'));
    mkdirSync(paths.rolesDir(), { recursive: true });
    const before = tree(from).map((path) => [path, statSync(join(from, path), { throwIfNoEntry: false })?.mtimeMs]);
    const report = await importFolder(from, paths);
    expect(report).toEqual({
      copied: [
        '.env',
        'agents/a/config.yaml',
        'config.yaml',
        'functions/mcp.json',
        'functions/tools/t.sh',
        'macros/m.yaml',
        'roles/mine.md',
        'sessions/old.yaml',
      ],
      notUsed: [
        { path: 'config.yaml:2', why: 'use_tools is called enabled_tools here, and is in effect' },
        { path: 'config.yaml:3', why: 'strange is no setting and is ignored' },
        { path: 'loki.log', why: 'no such file in Reef' },
        { path: 'roles/link.md', why: 'not a regular file' },
        { path: 'vault.yml', why: 'no such file in Reef' },
      ],
      secrets: ['GITHUB', 'OPENAI'],
    });
    expect(tree(from).map((path) => [path, statSync(join(from, path), { throwIfNoEntry: false })?.mtimeMs])).toEqual(
      before,
    );
    const store = new SessionStore({ dir: paths.sessionsDir(), clock: systemClock, warn: () => {} });
    expect({
      model: loadConfig({ env: {}, home, cwd: home }).config.model_id,
      roles: listRoles(paths, false),
      session: (await store.openOrCreate('old')).messages.length,
      mode: statSync(join(paths.globalToolsDir(), 't.sh')).mode & 0o777,
    }).toEqual({ model: 'openai:gpt-4o', roles: ['mine'], session: 1, mode: 0o700 });
  },
);

verifies('R-15').test('what is there already stays, and a configuration with a mistake is not taken', async () => {
  const { from, paths } = folders({ 'config.yaml': 'temperature: hot\n', 'roles/mine.md': 'Theirs.' });
  mkdirSync(paths.rolesDir(), { recursive: true });
  writeFileSync(paths.roleFile('mine'), 'Mine.');
  expect(await importFolder(from, paths)).toEqual({
    copied: [],
    notUsed: [
      { path: 'config.yaml', why: 'line 1: temperature: expected number, found "hot"' },
      { path: 'roles/mine.md', why: 'there is one already' },
    ],
    secrets: [],
  });
  expect(readFileSync(paths.roleFile('mine'), 'utf8')).toBe('Mine.');
});

test('a folder that is not there is told', async () => {
  await expect(importFolder('/nonexistent/loki', createPaths({}, '/tmp'))).rejects.toMatchObject({
    code: 'bad_request',
  });
});
