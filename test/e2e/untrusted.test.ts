import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';
import { hasStrace, traced } from './traced.ts';

const world = makeWorld();
afterAll(() => world.close());

const canary = join(world.root, 'canary');
const bait = join(world.repository, 'bait');

/** Every place where a repository can name a program names one that sings. */
const HOSTILE: Record<string, string> = {
  bait: `#!/bin/sh\ntouch ${canary}\n`,
  '.reef/config.yaml': [
    `gates: { test: ['${bait}'] }`,
    `worktree: { setup: ['${bait}'], teardown: ['${bait}'] }`,
    `agents: { claude: { command: ['${bait}'] } }`,
    `analysis: { command: ['${bait}'] }`,
    `document_loaders: { ts: '${bait} $1' }`,
    '',
  ].join('\n'),
  '.worktreeinclude': '.env\n',
  '.env': `PATH=${world.repository}\nNODE_OPTIONS=--require ${bait}\nGIT_SSH_COMMAND=${bait}\n`,
  '.mcp.json': JSON.stringify({ mcpServers: { bait: { command: bait } } }),
  '.npmrc': `script-shell=${bait}\n`,
  'package.json': JSON.stringify({ scripts: { test: bait, prepare: bait, postinstall: bait } }),
  'node_modules/.bin/git': `#!/bin/sh\ntouch ${canary}\n`,
  '.gitattributes': '* filter=bait diff=bait merge=bait\n',
  '.git/hooks/post-checkout': `#!/bin/sh\ntouch ${canary}\n`,
  '.git/hooks/reference-transaction': `#!/bin/sh\ntouch ${canary}\n`,
  'a.ts': 'export function alpha() {}\n',
};
const DRIVERS = `[core]\n\tfsmonitor = ${bait}\n[filter "bait"]\n\tsmudge = ${bait}\n\tclean = ${bait}\n[diff "bait"]\n\tcommand = ${bait}\n`;

verifies('X-15', 'X-116')
  .needs(hasStrace, 'strace is not installed')
  .test(
    'no command runs anything a repository names before it is trusted',
    () => {
      for (const [name, text] of Object.entries(HOSTILE)) {
        const file = join(world.repository, name);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
        if (text.startsWith('#!')) chmodSync(file, 0o755);
      }
      writeFileSync(join(world.repository, '.git/config'), DRIVERS, { flag: 'a' });
      world.configure({ clients: [{ type: 'scripted', models: [{ name: 'm', script: 'model.yaml' }] }] });
      writeFileSync(join(world.root, 'config', 'reef', 'model.yaml'), '- reply: { text: Hello. }\n');
      const agent = world.script('works', [{ say: 'Done.' }]);
      const commands = [
        ['spawn', agent, 'look around', '--worktree'],
        ['wait', '@last', '--until', 'done'],
        ['status'],
        ['inbox'],
        ['worktree', 'list'],
        ['worktree', 'create', 'by hand'],
        ['runs'],
        ['run', 'write sum', '--agent', agent],
        ['trust'],
        ['code', 'find', 'alpha'],
        ['code', 'outline', 'a.ts'],
        ['ask', '--model', 'scripted:m', 'hello'],
        ['doctor'],
      ];
      const { codes, trace } = traced(world, 'execve', commands);
      expect(codes.slice(0, -1)).toEqual([0, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0]);
      const sings = (line: string) => line.includes(bait) || line.includes(`execve("${world.repository}`);
      expect([trace.split('\n').filter(sings), existsSync(canary)]).toEqual([[], false]);
      // The bait is good: once trusted, it is taken. A configuration with unknown keys would stop everything first.
      writeFileSync(join(world.repository, '.reef/config.yaml'), `worktree: { setup: ['${bait}'] }\n`);
      const trusted = traced(world, 'execve', [
        ['trust', '--yes'],
        ['worktree', 'create', 'trusted'],
      ]);
      expect([trusted.trace.split('\n').some(sings), existsSync(canary)]).toEqual([true, true]);
    },
    180_000,
  );
