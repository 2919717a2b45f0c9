/**
 * The way of a command: the product files of which at least one function runs between the command and its end, in every
 * process of Reef, beyond what an idle daemon and `reef daemon status` run anyway. A file that is only imported, however much
 * its top level does, is not on the way. Measured by V8 in a throw-away repository, with a scripted agent and model.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Way {
  command: string;
  files: string[];
  /** The rooms of these files, the largest first. */
  rooms: [room: string, files: number][];
}

const COMMANDS: [command: string, ...args: string[]][] = [
  ['spawn', 'spawn', 'scripted:../agent.yaml', 'Add a file', '--follow'],
  ['run', 'run', 'Make the failing test pass', '--agent', 'scripted:../agent.yaml', '--accept', '--follow'],
  ['ask', 'ask', 'hello'],
  ['code refs', 'code', 'refs', 'sum'],
];

const FILES = {
  'repo/package.json': '{"type":"module","scripts":{"test":"node --test --test-isolation=none"}}\n',
  'repo/sum.test.mjs': [
    "import { equal } from 'node:assert/strict';",
    "import { test } from 'node:test';",
    "import { sum } from './sum.mjs';",
    "test('two and three make five', () => equal(sum(2, 3), 5));\n",
  ].join('\n'),
  'repo/sum.mjs': 'export const sum = (a, b) => a - b;\n',
  'agent.yaml': [
    "- edit: { path: sum.mjs, content: 'export const sum = (a, b) => a + b;' }",
    '- say: "Written.\\nSIGNAL:SUCCESS"\n',
  ].join('\n'),
  'config/reef/config.yaml': [
    'model: scripted:one',
    'clients: [{ type: scripted, models: [{ name: one, script: one.yaml }] }]\n',
  ].join('\n'),
  'config/reef/one.yaml': '- reply: { text: hello }\n',
  /**
   * Loaded by every Node below the command. Children get the settings that a job's environment would leave out, a sandbox
   * shows the folder of reports, and what has run is written every half second: a killed program writes nothing at its end.
   */
  'hook.cjs': `
    const processes = require('node:child_process');
    const { NODE_V8_COVERAGE, NODE_OPTIONS, NODE_DISABLE_COMPILE_CACHE } = process.env;
    for (const name of ['spawn', 'fork', 'execFile', 'spawnSync', 'execFileSync']) {
      const start = processes[name];
      processes[name] = (file, ...rest) => {
        for (const given of rest) {
          if (given?.env) given.env = { ...given.env, NODE_V8_COVERAGE, NODE_OPTIONS, NODE_DISABLE_COMPILE_CACHE };
          const sandbox = Array.isArray(given) ? given.findIndex((word) => word.endsWith('/bwrap')) : -1;
          if (sandbox >= 0) given.splice(given.indexOf('--', sandbox), 0, '--bind', __dirname, __dirname);
        }
        return start(file, ...rest);
      };
    }
    require('node:module').syncBuiltinESMExports();
    if (NODE_V8_COVERAGE) setInterval(() => require('node:v8').takeCoverage(), 500).unref();
  `,
};

export function measureWays(root: string): Way[] {
  const idle = new Set(functionsOf(root, []));
  return COMMANDS.map(([command, ...args]) => {
    const ran = functionsOf(root, args).filter((name) => !idle.has(name));
    const files = [...new Set(ran.map((name) => name.split('#')[0] ?? ''))].sort();
    const rooms = Map.groupBy(files, (file) => /^(?:src\/)?([^/.]+)/.exec(file)?.[1] ?? file);
    const counts = [...rooms].map(([room, { length }]): [string, number] => [room, length]);
    return { command, files, rooms: counts.sort(([, a], [, b]) => b - a) };
  });
}

/** The functions that ran, as `path#offset`, until the daemon had ended. */
function functionsOf(root: string, args: string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'reef-way-'));
  const repository = join(folder, 'repo');
  const git = (...words: string[]) => execFileSync('git', words, { cwd: repository, stdio: 'ignore' });
  try {
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    git('init', '-q', '-b', 'main');
    git('config', 'user.name', 'Reef');
    git('config', 'user.email', 'reef@example.invalid');
    git('add', '.');
    git('commit', '-qm', 'start');
    const reef = reefIn(root, folder);
    // Trust is given beforehand: it is no part of the way.
    reef(['trust', '--yes'], 'unmeasured');
    reef(['daemon', 'stop'], 'unmeasured');
    // `ps` starts the daemon; which daemon is there does not matter to a command.
    reef(['ps'], 'measured');
    reef(['daemon', 'status'], 'measured');
    if (args.length > 0) reef(args, 'measured');
    else execFileSync('sleep', ['3']);
    reef(['daemon', 'stop'], 'measured');
    return readdirSync(join(folder, 'measured')).flatMap((name) => functionsIn(join(folder, 'measured', name), root));
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

function reefIn(root: string, folder: string): (args: string[], coverage: string) => void {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    NO_COLOR: '1',
    // What the cache of compiled modules holds is not counted when it runs.
    NODE_DISABLE_COMPILE_CACHE: '1',
    NODE_OPTIONS: `--require ${join(folder, 'hook.cjs')}`,
  };
  return (args, coverage) => {
    execFileSync(process.execPath, [join(root, 'bin/reef.cjs'), ...args], {
      cwd: join(folder, 'repo'),
      env: { ...env, NODE_V8_COVERAGE: join(folder, coverage) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  };
}

interface Report {
  result: { url: string; functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[] }[];
}

/** A module's top level is the function that begins with the file. */
function functionsIn(report: string, root: string): string[] {
  const prefix = pathToFileURL(`${root}/`).href;
  const { result } = parseReport(readFileSync(report, 'utf8'));
  const own = result.filter(({ url }) => url.startsWith(`${prefix}src/`) || url.startsWith(`${prefix}bin/`));
  return own.flatMap(({ url, functions }) =>
    functions.flatMap(({ ranges: [whole] }) =>
      whole !== undefined && whole.count > 0 && whole.startOffset > 0
        ? [`${url.slice(prefix.length)}#${whole.startOffset}`]
        : [],
    ),
  );
}

/** A process that was killed while it wrote leaves half a report; the one before it is whole. */
function parseReport(text: string): Report {
  try {
    return JSON.parse(text);
  } catch {
    return { result: [] };
  }
}
