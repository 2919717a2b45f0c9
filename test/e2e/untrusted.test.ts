import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { afterAll, expect } from 'vitest';
import { createProgram } from '../../src/programs/reef.ts';
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

/** Every command there is, in an order in which most of them find something to work on. */
const typed = (agent: string): string[][] => [
  ['spawn', agent, 'look around', '--worktree'],
  ['wait', '@last', '--until', 'done'],
  ...[['status'], ['ps'], ['inbox'], ['output', '@last'], ['attach', '@last'], ['interrupt', '@last']],
  ...[
    ['resume', '@last', 'more'],
    ['wait', '@last', '--until', 'done'],
    ['send', '@last', 'hello'],
    ['kill', '@last'],
  ],
  ...[
    ['run', 'write it', '--agents', `${agent},${agent}`],
    ['compare', '@last', '--review', agent],
  ],
  ...[['run', 'write sum', '--agent', agent], ['runs'], ['run', 'show', '@last'], ['run', 'log', '@last']],
  ...['approve', 'resume', 'retry', 'skip', 'continue', 'abort', 'hold', 'step', 'go', 'replay'].map((verb) => [
    ...['run', verb, '@last'],
  ]),
  ['run', 'continue', '@last', '--from-pr'],
  ...[['workflow', 'check'], ['workflow', 'schema'], ['workflow', 'init', 'mine'], ['conflicts'], ['state']],
  ...[
    ['state', 'artifact', 'a:1'],
    ['state', 'calls', '@last'],
    ['state', 'hook'],
  ],
  ...[
    ['calls', 'list'],
    ['calls', 'show', '1'],
    ['calls', 'rerun', '1'],
    ['worktree', 'create', 'by hand'],
  ],
  ...['diff', 'update', 'gates', 'setup', 'push', 'pr', 'shell', 'accept', 'hold', 'restore', 'discard'].map((verb) => [
    'worktree',
    verb,
    '@last',
  ]),
  ...[
    ['worktree', 'list'],
    ['worktree', 'prune'],
    ['code', 'find', 'alpha'],
    ['code', 'outline', 'a.ts'],
  ],
  ...[
    ['code', 'tree'],
    ['code', 'explore', 'alpha'],
    ['code', 'symbol', 'alpha'],
    ['code', 'refs', 'alpha'],
  ],
  ...['callers', 'callees', 'impact', 'tests'].map((what) => ['code', what, 'alpha']),
  ...[
    ['code', 'search', 'alpha'],
    ['code', 'index'],
    ['code', 'status'],
    ['code', 'slice', 'outline:a.ts'],
  ],
  ...[
    ['ask', '--model', 'scripted:m', 'hello'],
    ['chat', '--model', 'scripted:m'],
    ['mcp'],
    ['acp'],
    ['mcp', 'install', 'claude'],
    ['mcp', 'list'],
    ['mcp', 'approve'],
    ['fleet', 'hosts', '--database-url-file', 'none'],
  ],
  ...['config', 'role', 'macro', 'agent'].flatMap((what) => [
    [what, 'show', 'x'],
    [what, what === 'config' ? 'import' : 'list'],
  ]),
  ...[
    ['rag', 'list'],
    ['rag', 'build', 'x', 'a.ts'],
    ['rag', 'search', 'x', 'alpha'],
    ['vault', 'list'],
  ],
  ...['add', 'get', 'update', 'delete'].map((verb) => ['vault', verb, 'x']),
  ...[['trust'], ['grants'], ['daemon', 'status'], ['completions', 'bash'], ['doctor'], ['init']],
  ...[['usage'], ['events'], ['prune', '--dry-run'], ['review', '@last', 'look again'], ['top'], ['host']],
  ...[['serve'], ['open'], ['token', 'rotate'], ['serve', '--close']],
];
/** The last one of every trace, and one that makes a repository of its own. */
const ELSEWHERE = ['daemon stop', 'demo'];
/** They read a database and no repository, so one stands for all. */
const isOfFleet = (name: string) => name.startsWith('worker') || (name.startsWith('fleet ') && name !== 'fleet hosts');

/** What the command line and the daemon may start: Node, git, and what the wrapper of a job is made of. */
const PROGRAMS = new Set([
  ...['node', 'git', 'sh', 'bwrap', 'unshare', 'setpriv', 'timeout', 'perl', 'env', 'true', 'id'],
  ...['mkfifo', 'ln', 'rm', 'mv', 'grep', 'date', 'prlimit'],
]);
/** Where the C library asks for the name of a user. */
const NAME_CACHE = '/nscd/socket';

async function allCommands(): Promise<string[]> {
  const sink = { write: () => true } as unknown as NodeJS.WritableStream;
  const host = { argv: [], env: {}, cwd: () => '/', stdin: new PassThrough(), stdout: sink, stderr: sink };
  const names = (command: Command, above: string[]): string[] =>
    command.commands.flatMap((each) => {
      const path = [...above, each.name()];
      return [...(each.options.some(({ long }) => long === '--json') ? [path.join(' ')] : []), ...names(each, path)];
    });
  return names(await createProgram(host, async () => {}), []);
}

verifies('X-15', 'X-116', 'X-72')
  .needs(hasStrace, 'strace is not installed')
  .test(
    'no command runs anything a repository names before it is trusted, nor any program or socket that is not expected',
    async () => {
      for (const [name, text] of Object.entries(HOSTILE)) {
        const file = join(world.repository, name);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
        if (text.startsWith('#!')) chmodSync(file, 0o755);
      }
      writeFileSync(join(world.repository, '.git/config'), DRIVERS, { flag: 'a' });
      world.configure({ clients: [{ type: 'scripted', models: [{ name: 'm', script: 'model.yaml' }] }] });
      writeFileSync(join(world.root, 'config', 'reef', 'model.yaml'), '- reply: { text: Hello. }\n');
      const commands = typed(world.script('works', [{ say: 'Done.' }]));
      const isTyped = (name: string) => commands.some((words) => `${words.join(' ')} `.startsWith(`${name} `));
      expect((await allCommands()).filter((name) => !isTyped(name) && !isOfFleet(name)).sort()).toEqual(ELSEWHERE);
      const { codes, trace } = traced(world, 'execve,connect', commands);
      expect(codes.length).toBe(commands.length);
      const lines = trace.split('\n');
      const sings = (line: string) => line.includes(bait) || line.includes(`execve("${world.repository}`);
      expect([lines.filter(sings), existsSync(canary)]).toEqual([[], false]);
      const started = lines.flatMap((line) =>
        line.includes('ENOENT') ? [] : (/execve\("([^"]+)"/.exec(line)?.[1] ?? []),
      );
      expect([...new Set(started.map((file) => basename(file)))].filter((name) => !PROGRAMS.has(name))).toEqual([]);
      expect(started.filter((file) => file.startsWith(world.root))).toEqual([]);
      const reached = lines.flatMap((line) => /sa_family=[^}]*/.exec(line)?.[0] ?? []);
      const ours = `sa_family=AF_UNIX, sun_path="${world.root}/`;
      expect(reached.filter((address) => !address.startsWith(ours) && !address.includes(NAME_CACHE))).toEqual([]);
      expect([started.length > 100, reached.length > 50]).toEqual([true, true]);
      // The bait is good: once trusted, it is taken. A configuration with unknown keys would stop everything first.
      writeFileSync(join(world.repository, '.reef/config.yaml'), `worktree: { setup: ['${bait}'] }\n`);
      const trusted = traced(world, 'execve', [
        ['trust', '--yes'],
        ['worktree', 'create', 'trusted'],
      ]);
      expect([trusted.trace.split('\n').some(sings), existsSync(canary)]).toEqual([true, true]);
    },
    600_000,
  );
