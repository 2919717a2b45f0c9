import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { readEnvironment } from '../../src/base/env.ts';
import { findHome } from '../../src/base/home.ts';
import { serveTurns } from '../model-server/testing.ts';
import { type InstalledPackage, installPackage } from '../support/installed-package.ts';
import { initRepository } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';

const run = promisify(execFile);
const user = temporaryFolder();
const repository = join(user, 'repo');
const env = { PATH: process.env.PATH ?? '', HOME: user, NO_COLOR: '1' };
let installed: InstalledPackage;

const reef = async (args: string[]) => {
  const running = run(process.execPath, [installed.reef, ...args], { cwd: repository, env, timeout: 290_000 });
  running.child.stdin?.end();
  return (await running).stdout;
};

beforeAll(async () => {
  installed = installPackage();
  initRepository(repository);
  const config = join(user, '.config/reef');
  mkdirSync(config, { recursive: true });
  writeFileSync(
    join(config, 'config.yaml'),
    'model: scripted:one\nclients: [{ type: scripted, models: [{ name: one, script: one.yaml }] }]\n',
  );
  writeFileSync(join(config, 'one.yaml'), '- reply: { text: packed }\n');
});

afterAll(() => installed?.[Symbol.dispose]());

test('a package holds no program as source: Node would refuse it below node_modules', () => {
  const has = (path: string) => existsSync(join(installed.dir, path));
  expect([has('src/programs/reef.ts'), has('src/programs/daemon/daemon.ts'), has('dist/cli/reef.cjs')]).toEqual([
    false,
    false,
    true,
  ]);
});

test('the package weighs at most 80 MB with its dependencies, and names what it bundles', async () => {
  const { stdout } = await run('du', ['-sm', join(installed.dir, '..')]);
  expect(Number.parseInt(stdout, 10)).toBeLessThanOrEqual(80);
  expect(Object.keys(packageJson.dependencies)).toEqual(['better-sqlite3']);
  const notices = readFileSync(join(installed.dir, 'dist/THIRD-PARTY.md'), 'utf8');
  for (const name of ['zod', 'ai', 'gpt-tokenizer', 'tree-sitter-go']) expect(notices).toContain(`\n## ${name} `);
});

test('any file of the command line may be the first to be read', () => {
  const require = createRequire(join(installed.dir, 'dist/cli/'));
  const files = readdirSync(join(installed.dir, 'dist/cli')).filter((name) => name.startsWith('src-'));
  expect(files.length).toBeGreaterThan(100);
  for (const name of files) {
    for (const path of Object.keys(require.cache)) delete require.cache[path];
    expect(() => require(`./${name}`), name).not.toThrow();
  }
});

test('what needs no daemon works from a package', async () => {
  expect(await reef(['--version'])).toBe(`${packageJson.version}\n`);
  expect(await reef(['ask', '--dry-run', 'hello'])).toBe('hello\n');
  expect(await reef(['ask', 'hello'])).toBe('packed\n');
  const { findings } = JSON.parse(await reef(['doctor', '--json']).catch(({ stdout }) => stdout));
  expect(findings).toContainEqual(expect.objectContaining({ check: 'node', severity: 'ok' }));
});

const DRY_RUN = ['ask', '--dry-run', 'hello'];

verifies('R-156', 'U-05').test('a dry run reads no SDK, no MCP, no PDF reader and no database', async () => {
  const hook = join(user, 'hook.cjs');
  writeFileSync(
    hook,
    `const fs = require('fs');
    const { readFileSync } = fs;
    const read = [];
    fs.readFileSync = (path, ...rest) => (read.push(path), readFileSync(path, ...rest));
    process.on('exit', () => {
      const all = [...read, ...Object.keys(require.cache), ...process.moduleLoadList];
      process.stderr.write(all.join('\\n'));
    });`,
  );
  const running = run(process.execPath, ['-r', hook, installed.reef, ...DRY_RUN], { cwd: repository, env });
  running.child.stdin?.end();
  const { stdout, stderr } = await running;
  const loaded = stderr.split('\n');
  expect([stdout, loaded.filter((path) => path.endsWith('package-commander.cjs')).length]).toEqual(['hello\n', 1]);
  const heavy =
    /ai-sdk|package-ai\b|modelcontextprotocol|unpdf|sqlite|tree-sitter|tokenizer|undici|http2|child_process/;
  expect(loaded.filter((path) => heavy.test(path))).toEqual([]);
});

test('what V8 compiled is kept for the next start, and nothing worse than a slow start comes of a broken copy', async () => {
  await reef(DRY_RUN);
  const folder = join(user, '.cache/reef/built');
  const [build = ''] = readdirSync(folder);
  const kept = join(folder, build, 'ask');
  const whole = readFileSync(kept);
  for (const broken of [Buffer.alloc(0), Buffer.from('[]\n'), whole.subarray(0, 5_000), Buffer.alloc(9_000, 1)]) {
    writeFileSync(kept, broken);
    expect(await reef(DRY_RUN)).toBe('hello\n');
    expect(statSync(kept).size).toBeGreaterThan(100_000);
  }
  mkdirSync(join(folder, 'of-another-build'));
  rmSync(kept);
  await reef(DRY_RUN);
  expect(readdirSync(folder)).toEqual([build]);
});

test('parsers run from a package: a worker, its grammars and its queries', async () => {
  writeFileSync(join(repository, 'cart.ts'), 'export function total(): number {\n  return 1;\n}\n');
  await run('git', ['add', '.'], { cwd: repository });
  expect(await reef(['code', 'outline', 'cart.ts'])).toContain('total');
  await reef(['daemon', 'stop']);
});

test('databases are read from a package: documents, and all that doctor looks at in a home', async () => {
  mkdirSync(join(repository, 'docs'));
  writeFileSync(join(repository, 'docs/keys.md'), '# Keys\n\nKeys are rotated every month by hand.\n');
  expect(await reef(['rag', 'build', 'docs', './docs'])).toBe('1 new or changed, 0 unchanged, 0 removed\n');
  expect(await reef(['ask', '--rag', 'docs', '--dry-run', 'how are keys rotated?'])).toMatch(/every month by hand/);
  expect(existsSync(findHome(readEnvironment(env), repository).database)).toBe(true);
  const { findings } = JSON.parse(await reef(['doctor', '--json']).catch(({ stdout }) => stdout));
  expect(findings.filter(({ what }: { what: string }) => what === 'the check failed')).toEqual([]);
  expect(findings).toContainEqual(expect.objectContaining({ check: 'database', what: 'quick_check ok' }));
});

test('pages are fetched, and a model is reached with a patience of its own, from a package', async () => {
  const page = createServer((_, response) => response.end('coral is pink')).listen(0, '127.0.0.1');
  onTestFinished(() => void page.close());
  await once(page, 'listening');
  const host = `127.0.0.1:${(page.address() as AddressInfo).port}`;
  const near = { type: 'openai-compatible', name: 'near', api_base: `${await serveTurns({ text: 'patient' })}/v1` };
  const config = {
    enabled_tools: 'fetch_url_via_curl',
    clients: [
      { type: 'scripted', models: [{ name: 'page', script: 'page.yaml', supports_function_calling: true }] },
      { ...near, extra: { connect_timeout: 5 }, models: [{ name: 'm', supports_function_calling: true }] },
    ],
    reef: { allowed_hosts: [host] },
  };
  const url = `http://${host}/`;
  const script = [
    { reply: { tool_calls: [{ name: 'fetch_url_via_curl', arguments: { url } }] } },
    { when: { last_result: 'coral is pink' }, reply: { text: 'fetched' } },
  ];
  writeFileSync(join(user, '.config/reef/config.yaml'), JSON.stringify(config));
  writeFileSync(join(user, '.config/reef/page.yaml'), JSON.stringify(script));
  expect(await reef(['ask', '--yes', '--model', 'scripted:page', 'what colour?'])).toBe('fetched\n');
  expect(await reef(['ask', '--model', 'near:m', 'hello'])).toBe('patient\n');
});

test('the demo runs from a package: a daemon, workflows, the coder, code context, kill -9 and merges', async () => {
  expect(await reef(['demo'])).toMatch(/events from two daemons, none lost, none twice\./);
}, 300_000);
