import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { loadConfig } from '../config/load.ts';
import { createPaths } from '../paths.ts';
import { listRoles } from '../roles/role-folder.ts';
import { SessionStore } from '../sessions/store.ts';
import { importFolder } from './import-folder.ts';

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
      'functions/scripts/run-tool.sh': 'x',
      'functions/scripts/run-tool.py': 'x',
      'vault.yml': 'sealed',
      'loki.log': 'log',
      'notes.txt': 'mine',
      'dark.tmTheme': '<plist/>',
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
        'dark.tmTheme',
        'functions/mcp.json',
        'functions/tools/t.sh',
        'macros/m.yaml',
        'roles/mine.md',
        'sessions/old.yaml',
      ],
      differs: [
        { path: 'config.yaml:2', why: 'use_tools is called enabled_tools here, and is in effect' },
        { path: 'functions/mcp.json', why: 'a server that does not start is left out with a warning' },
        { path: 'functions/tools/*', why: expect.stringMatching(/^a call that does more than read is asked about/) },
        { path: 'sessions/*', why: 'becomes a session of Reef when it is first opened; the file stays' },
      ],
      notUsed: [
        { path: 'config.yaml:3', why: 'strange is not a setting and is ignored' },
        { path: 'functions/scripts/*', why: 'not needed: Reef starts the tools itself' },
        { path: '*.log', why: 'Reef writes its own' },
        { path: 'notes.txt', why: 'no such file in Reef' },
        { path: 'roles/link.md', why: 'not a regular file' },
        { path: 'vault.yml', why: expect.stringMatching(/^encrypted in another way: enter the secrets again/) },
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
    differs: [],
    notUsed: [
      { path: 'config.yaml', why: 'line 1: temperature: expected number, found "hot"' },
      { path: 'roles/mine.md', why: 'there is one already' },
    ],
    secrets: [],
  });
  expect(readFileSync(paths.roleFile('mine'), 'utf8')).toBe('Mine.');
});

verifies('R-160').test(
  "a folder of Loki's is reported as it is: what differs, what is wrong, which secrets",
  async () => {
    const { from, paths } = folders({
      'config.yaml': `function_calling: true
user_agent: null
compression_threshold: 100
document_loaders: { jina: "curl {{JINA}}" }
clients:
  - { type: cohere, api_key: "{{COHERE}}", auth: oauth }
  - { type: openai-compatible, name: a, extra: { proxy: "socks5://x" }, models: [{ name: m, no_stream: true, oops: 1 }] }
`,
      '.env': 'LOKI_MODEL=a\n',
      'roles/r.md': '---\nname: other\n---\nHi {{topic}}.',
      'macros/m.yaml': 'steps: 3\n',
      'agents/a/config.yaml':
        'instructions: In {{project_dir}}\nvariables: [{ name: v, default: "{{TOKEN}}" }]\nodd: 1\n',
    });
    const { copied, ...report } = await importFolder(from, paths);
    expect(copied).toHaveLength(5);
    expect(report).toEqual({
      differs: [
        { path: '.env', why: 'variables that begin with `LOKI_` begin with `REEF_` here' },
        {
          path: 'config.yaml:3',
          why: 'compression_threshold: compared with the conversation alone, without the system prompt',
        },
        { path: 'config.yaml:4', why: expect.stringMatching(/^document_loaders: a program/) },
        {
          path: 'config.yaml:6',
          why: 'clients[].type: cohere: needs a package that you install yourself: `@ai-sdk/cohere`',
        },
        { path: 'config.yaml:7', why: expect.stringMatching(/^clients\[\]\.extra\.proxy: http:/) },
        { path: 'config.yaml:1', why: 'function_calling is called function_calling_support here, and is in effect' },
        { path: 'agents/a/config.yaml', why: 'odd is not a key of an agent and is ignored' },
        { path: 'macros/m.yaml', why: expect.stringMatching(/^does not load yet: .*steps: expected array, found 3/) },
        { path: 'roles/r.md', why: 'name has no effect: the file gives the role its name' },
      ],
      notUsed: [
        { path: 'config.yaml:6', why: 'clients[].auth: there is no log-in: the client needs an `api_key`' },
        { path: 'config.yaml:7', why: expect.stringMatching(/^clients\[\]\.models\[\]\.no_stream: not sent/) },
        { path: 'config.yaml:7', why: 'clients.1.models.0.oops is not used by a model' },
      ],
      secrets: ['COHERE', 'JINA', 'TOKEN'],
    });
  },
);

verifies('R-160').test("a copy of Loki's source is imported as the folder of its user", async () => {
  const { from, paths } = folders({ 'README.md': 'x', 'config.example.yaml': 'a: 1', 'assets/roles/r.md': 'Hi.' });
  expect(await importFolder(from, paths)).toMatchObject({
    copied: ['roles/r.md'],
    notUsed: [{ path: from, why: "this is Loki's source: its folder assets was copied, and of its examples nothing" }],
  });
});

test('a folder that is not there is told', async () => {
  await expect(importFolder('/nonexistent/loki', createPaths({}, '/tmp'))).rejects.toMatchObject({
    code: 'bad_request',
  });
});
