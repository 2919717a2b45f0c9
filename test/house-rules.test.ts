import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Module, parseSync } from '@swc/core';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { faultOf } from '../scripts/check-commits.ts';
import { classesTwice, idsInComments, linked, orphans, siblingCycles, spreadsOfShorthand } from '../scripts/tree.ts';
import { errorTable } from '../src/protocol/error-table.ts';
import { FOLLOWED, MET, NOT_MET } from './support/hint-situations.ts';
import { isTest, ROOT, sourceFiles } from './support/source-files.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { verifies } from './support/verifies.ts';

/** House rules the linter has no rule for, over the syntax tree; and proof that the linter's and cruiser's rules bite. */

const product = sourceFiles('src').filter((path) => !isTest(path));
const tests = [...sourceFiles('src'), ...sourceFiles('test')].filter(isTest);
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const parse = (code: string): Module => parseSync(code, { syntax: 'typescript', target: 'es2024' });

interface Node {
  type: string;
  [key: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Every node of a tree; swc wraps some in plain objects and arrays. */
function* walk(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if (isNode(value)) yield value;
  for (const child of Object.values(value)) yield* walk(child);
}

function find(code: string, isWrong: (node: Node) => boolean): Node[] {
  return [...walk(parse(code))].filter(isWrong);
}

/** Top-level declarations, exported or not. */
function topLevel(code: string): Node[] {
  return parse(code).body.map(
    (item) => (item.type === 'ExportDeclaration' ? item.declaration : item) as unknown as Node,
  );
}

/** An empty collection kept by a module is of use only to whoever fills it later. */
function isEmptyCollection(value: unknown): boolean {
  if (!isNode(value)) return false;
  if (value.type === 'TsAsExpression' || value.type === 'TsSatisfiesExpression')
    return isEmptyCollection(value.expression);
  if (value.type === 'ArrayExpression') return (value.elements as unknown[]).length === 0;
  if (value.type === 'ObjectExpression') return (value.properties as unknown[]).length === 0;
  const callee = value.callee;
  const isCollection = isNode(callee) && /^(Weak)?(Map|Set)$/.test(`${callee.value}`);
  return value.type === 'NewExpression' && isCollection && !(value.arguments as unknown[] | undefined)?.length;
}

function mutableState(code: string): string[] {
  const declared = topLevel(code).filter((node) => node.type === 'VariableDeclaration');
  const variables = declared.flatMap((node) => {
    const all = node.declarations as { id: Node; init: unknown }[];
    return node.kind === 'const' ? all.filter(({ init }) => isEmptyCollection(init)) : all;
  });
  const statics = find(
    code,
    (node) => /^(Class|Private)Property$/.test(node.type) && node.isStatic === true && node.readonly !== true,
  );
  return [...variables.map(({ id }) => `${id.value ?? id.type}`), ...statics.map(() => 'static property')];
}

const offenders = (paths: string[], isWrong: (path: string) => boolean) => paths.filter(isWrong);

test('no file is longer than 500 lines', () => {
  const lines = (path: string) => read(path).split('\n').length - 1;
  const lengths = product.map(lines).sort((a, b) => a - b);
  const at = (share: number) => lengths[Math.floor(share * (lengths.length - 1))];
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
  const ratio = sum(tests.map(lines)) / sum(lengths);
  process.stdout.write(
    `src: ${lengths.length} files, lines median ${at(0.5)} (wanted 100), p90 ${at(0.9)} (wanted 300), ` +
      `longest ${at(1)}; test lines ${ratio.toFixed(2)} times source (wanted 1.5)\n`,
  );
  const all = ['src', 'test', 'scripts'].flatMap(sourceFiles);
  expect(offenders(all, (path) => lines(path) > 500)).toEqual([]);
});

/** Seed 000 asks for these two by name; each gives what the running app has installed, and nothing of ours calls them. */
const ACCESSORS = ['src/context/manager/server-manager.ts', 'src/context/partitioner/context-partitioner.ts'];

test('no module keeps mutable state', () => {
  const wrong = product.flatMap((path) => mutableState(read(path)).map((name) => `${path}: ${name}`));
  expect(wrong).toEqual(ACCESSORS.map((path) => `${path}: static property`));
});

test('the check for mutable state knows its forms', () => {
  const bad = `let a = 1; export let b: string; var c; const d = new Map<string, number>(); export const e: string[] = [];
    const f = {} as Record<string, number>; export class G { static h = 0; static #i = 0 }`;
  expect(mutableState(bad)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'static property', 'static property']);
  const good = `const a = new Map([[1, 2]]); const b = ['x']; class C { static readonly d = 1; e = [] } function f() { let g = 1; return g; }`;
  expect(mutableState(good)).toEqual([]);
});

/** Errors thrown in a catch clause that forget what was caught. Biome's rule knows `cause` as second argument only. */
function forgottenCauses(code: string): string[] {
  const thrown = find(code, (node) => node.type === 'CatchClause').flatMap((clause) =>
    [...walk(clause.body)].filter((node) => node.type === 'ThrowStatement').map((node) => node.argument as Node),
  );
  const isCause = (node: Node) => (node.key as Node | undefined)?.value === 'cause' || node.value === 'cause';
  return thrown
    .filter((error) => error.type === 'NewExpression' && ![...walk(error.arguments)].some(isCause))
    .map((error) => `${(error.callee as Node).value}`);
}

test('an error thrown for another keeps it as its cause', () => {
  const bad = `try { a(); } catch (error) { if (b) throw new ReefError('x', 'y'); throw error; }`;
  const good = `try { a(); } catch (cause) { throw new ReefError('x', 'y', { cause }); }
    try { a(); } catch (error) { throw new Error('x', { cause: error }); } throw new Error('x');`;
  expect([forgottenCauses(bad), forgottenCauses(good)]).toEqual([['ReefError'], []]);
  expect(offenders(product, (path) => forgottenCauses(read(path)).length > 0)).toEqual([]);
});

test('a test of the page waits for what must come, never for a time', () => {
  expect(offenders(sourceFiles('test/page'), (path) => /waitForTimeout|networkidle/.test(read(path)))).toEqual([]);
});

test('nothing is a singleton', () => {
  const isAccessor = (node: Node) => node.type === 'Identifier' && node.value === 'getInstance';
  expect(offenders(product, (path) => find(read(path), isAccessor).length > 0)).toEqual(ACCESSORS);
});

verifies('X-21').test('no program is started through a shell', () => {
  const isShell = (node: Node) =>
    node.type === 'KeyValueProperty' &&
    (node.key as Node).value === 'shell' &&
    !((node.value as Node).type === 'BooleanLiteral' && (node.value as Node).value === false);
  const isExec = (node: Node) =>
    node.type === 'ImportSpecifier' &&
    /^exec(Sync)?$/.test(`${(node.imported as Node | null)?.value ?? (node.local as Node).value}`);
  const isChildProcess = (node: Node) =>
    node.type === 'ImportDeclaration' && /^(node:)?child_process$/.test(`${(node.source as Node).value}`);
  const wrong = offenders(product, (path) => {
    const code = read(path);
    const imported = find(code, isChildProcess).flatMap((node) => [...walk(node)]);
    return imported.some(isExec) || (imported.length > 0 && find(code, isShell).length > 0);
  });
  expect(wrong).toEqual([]);
});

verifies('X-120').test('no file in the folder that all users share has a name others can know beforehand', () => {
  const isGuessable = (line: string) => line.includes('tmpdir()') && !/mkdtemp|randomUUID/.test(line);
  expect(offenders(product, (path) => read(path).split('\n').some(isGuessable))).toEqual([]);
});

test('tests and benchmarks make folders by one helper, which removes them, and none before a whole file', () => {
  // An installed agent's home is made by a program that is copied alone.
  const makers = ['test/support/temporary-folder.ts', 'test/agents/real-agents.ts', 'test/house-rules.test.ts'];
  const rigs = [...tests, ...sourceFiles('test'), ...sourceFiles('bench')].filter((path) => !makers.includes(path));
  const inBeforeAll = /beforeAll\((?:async )?\(\) => (?:\{[^}]*)?temporaryFolder\(/;
  const isWrong = (code: string) => code.includes('mkdtemp') || inBeforeAll.test(code);
  expect(offenders(rigs, (path) => isWrong(read(path)))).toEqual([]);
});

verifies('A-50').test('what is particular to an agent stands in its adapter folder only', () => {
  const words: Record<string, RegExp> = {
    claude: /permission-prompt-tool|can_use_tool|control_request|session_state_changed/,
    codex: /app-server|turn\/start|thread\/start|requestApproval|requestUserInput/,
    acp: /session\/prompt|session\/request_permission|elicitation\/create/,
  };
  const wrong = product.flatMap((path) => {
    const isText = (node: Node) => node.type === 'StringLiteral' || node.type === 'TemplateElement';
    const texts = find(read(path), isText).map((node) => `${node.value ?? node.raw}`);
    const agents = Object.keys(words).filter((agent) => !path.startsWith(`src/agents/${agent}/`));
    return agents.filter((agent) => texts.some((text) => words[agent]?.test(text))).map((agent) => `${path}: ${agent}`);
  });
  expect(wrong).toEqual([]);
});

test('a TODO names its requirement', () => {
  const bare = /\b(TODO|FIXME)\b(?!.*\b[A-Z]-\d+)/;
  const comments = (path: string) => read(path).match(/\/\/.*|\/\*[\s\S]*?\*\//g) ?? [];
  expect(offenders(product, (path) => comments(path).some((comment) => bare.test(comment)))).toEqual([]);
});

test('no file is named after nothing', () => {
  // A folder called index may hold one; a file of that name holds what found no other.
  const isNothing = (path: string) => /\/(utils?|common|misc|helpers?)(\.ts|\/)|\/index\.ts$/.test(path);
  expect(offenders(product, isNothing)).toEqual([]);
});

verifies('Q-97').test('no test is retried', () => {
  const isRetry = (node: Node) => node.type === 'KeyValueProperty' && (node.key as Node).value === 'retry';
  expect(offenders([...tests, 'vitest.config.ts'], (path) => find(read(path), isRetry).length > 0)).toEqual([]);
});

verifies('Q-97').test('a test that cannot run says what it needs', () => {
  const isSilent = (node: Node) =>
    node.type === 'Identifier' && /^(skipIf|runIf|xtest|xit|todo)$/.test(`${node.value}`);
  const isTestCall = (node: Node) =>
    node.type === 'MemberExpression' && /^(test|it|describe)$/.test(`${(node.object as Node).value}`);
  const silent = (path: string) => find(read(path), isTestCall).some((node) => isSilent(node.property as Node));
  expect(offenders(tests, silent)).toEqual([]);
});

test('the check of the tree knows cycles of folders, classes named twice, requirement ids and needless spreads', () => {
  const sources = linked([
    ['src/a/deep/one.ts', "import '../../b/two.ts';\nexport class Same {}\n// As X-41 asks.\n"],
    ['src/a/three.ts', 'export class Same {}\n'],
    ['src/b/two.ts', "import '../a/three.ts';\nexport const two = { ...{ sources }, id: 'X-41' };\n"],
  ]);
  expect([classesTwice(sources), idsInComments(sources), spreadsOfShorthand(sources), orphans(sources)]).toEqual([
    ['Same: src/a/deep/one.ts src/a/three.ts'],
    ['src/a/deep/one.ts: X-41'],
    ['src/b/two.ts'],
    ['src/a/deep/one.ts'],
  ]);
  expect(siblingCycles(sources)).toEqual([expect.stringMatching(/^src\/\{a,b\}\n/)]);
});

test('a commit subject is imperative and at most 72 characters', () => {
  const good = ['Add a row', 'Bring back the lock', 'Pass ids on', 'Re-read files', 'Focus: keep it'];
  const bad = ['Added a row', 'Adds a row', 'Adding a row', 'The row is added', 'a row', `Add ${'x'.repeat(70)}`];
  expect([good.map(faultOf), bad.filter((subject) => faultOf(subject) === undefined)]).toEqual([
    good.map(() => undefined),
    [],
  ]);
});

/** Packages that are released together, or are grammars of one parser, are one decision. */
function familyOf(name: string): string {
  if (name.includes('tree-sitter')) return 'tree-sitter';
  return name.startsWith('@ai-sdk/') ? 'ai' : name.replace(/^@([^/]+)\/.*/, '$1');
}

test('every dependency is pinned to one version, and those of the product are at most 15 families', () => {
  const versions = { ...packageJson.dependencies, ...packageJson.devDependencies };
  expect(Object.entries(versions).filter(([, version]) => !/^\d+\.\d+\.\d+(-alpha\.\d+)?$/.test(version))).toEqual([]);
  const named = product.flatMap((path) => [
    ...read(path).matchAll(/(?:from |import\(|^ {2}\w+: )'((?:@[^/']+\/)?[\w-]+)[/']/gm),
  ]);
  const families = new Set(
    named
      .map(([, name = '']) => name)
      // An optional peer is no part of the product: whoever has one machine never installs it.
      .filter((name) => name in versions && !(name in packageJson.peerDependencies))
      .map(familyOf),
  );
  expect(families.size).toBeGreaterThan(5);
  expect(families.size).toBeLessThanOrEqual(15);
});

/** A small repository with our settings and the given files. */
function badTwin(files: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const name of ['biome.json', '.dependency-cruiser.cjs', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, name), join(folder, name));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function runTool(tool: string, args: string[], cwd: string): string {
  const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin', tool), args, { cwd, encoding: 'utf8' });
  return stdout;
}

test('the linter turns red on a file that breaks its rules', () => {
  const cwd = badTwin({
    'src/base/first.ts': `import { spawn } from 'node:child_process';
import { second } from './second.ts';
export const first = 1;
async function later(): Promise<void> {}
export default function go(kind: 'x' | 'y', ...[a, b]: any[]) {
  later();
  switch (kind) { case 'x': return second; }
  try { later(); } catch { throw new Error('no cause'); }
  return [process.env.HOME, spawn, a!, b];
}
export function wide(a: number, b: number, c: number, d: number, e: number) { return a + b + c + d + e; }
`,
    'src/base/second.ts': `import { first } from './first.ts';\nexport const second = first;\nexport * from './first.ts';\n`,
    'src/base/BadName.ts': `export const long = () => {\n${'  long();\n'.repeat(81)}};\n`,
    'src/base/tall.ts': 'void 0;\n'.repeat(501),
    'src/base/only.test.ts': `import { test } from 'vitest';\ntest.only('a', () => {});\ntest.skip('b', () => {});\n`,
    'src/process/shell.ts': `import { execSync } from 'node:child_process';\nexport const run = execSync;\n`,
  });
  const report = JSON.parse(
    runTool('biome', ['lint', '.', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none'], cwd),
  );
  const fired = new Set(report.diagnostics.map(({ category }: { category: string }) => category.replace(/.*\//, '')));
  const expected = [
    ...['noBarrelFile', 'noDefaultExport', 'noExcessiveLinesPerFile', 'noExcessiveLinesPerFunction', 'noExplicitAny'],
    ...[
      'noFloatingPromises',
      'noFocusedTests',
      'noImportCycles',
      'noNonNullAssertion',
      'noProcessEnv',
      'noReExportAll',
    ],
    ...['noRestrictedImports', 'noSkippedTests', 'useExhaustiveSwitchCases', 'useFilenamingConvention', 'useMaxParams'],
  ];
  expect(expected.filter((rule) => !fired.has(rule))).toEqual([]);
});

test('the cruiser turns red on imports that point upwards, sideways, in circles or at a capability', () => {
  const cwd = badTwin({
    'src/protocol/low.ts': `import type { High } from '../surfaces/high.ts';\nexport type Low = High;\n`,
    'src/surfaces/high.ts': `import { createServer } from 'node:http';\nexport type High = typeof createServer;\n`,
    'src/base/round.ts': `import './about.ts';\n`,
    'src/base/about.ts': `import './round.ts';\nimport 'node:child_process';\nimport 'node:net';\n`,
    'src/git/side.ts': `import '../store/open.ts';\nimport 'hono';\nimport 'vitest';\n`,
    'src/store/open.ts': `import 'better-sqlite3';\n`,
    'src/agents/claude/a.ts': `import '../codex/b.ts';\nimport 'better-sqlite3';\n`,
    'src/agents/codex/b.ts': `import './absent.ts';\n`,
    'src/app.ts': `import './programs/reef.ts';\n`,
    'src/programs/reef.ts': `import '../surfaces/high.ts';\nimport '../x.test.ts';\n`,
    'src/process/held.ts': `export async function hold() {\n  await using held = await import('../git/side.ts');\n  return held;\n}\n`,
    'src/x.test.ts': `import './surfaces/high.ts';\nimport 'node:child_process';\n`,
  });
  const report = JSON.parse(runTool('depcruise', ['src', '--config', '.dependency-cruiser.cjs', '-T', 'json'], cwd));
  const violations: { rule: { name: string }; from: string }[] = report.summary.violations;
  expect([...new Set(violations.map(({ rule, from }) => `${rule.name} ${from}`))].sort()).toEqual([
    'adapters-apart src/agents/claude/a.ts',
    'layer-app src/app.ts',
    'layer-git src/git/side.ts',
    'layer-process src/process/held.ts',
    'layer-protocol src/protocol/low.ts',
    'no-cycles src/base/about.ts',
    'only-database src/agents/claude/a.ts',
    'only-processes src/base/about.ts',
    'only-sockets src/base/about.ts',
    'only-sockets src/git/side.ts',
    'product-needs-no-dev-dependency src/git/side.ts',
    'product-needs-no-test src/programs/reef.ts',
    'resolvable src/agents/codex/b.ts',
  ]);
});

test('an error whose hint names a command is met by a test that types it, or says why not', () => {
  const named = Object.entries(errorTable).flatMap(([code, { hint }]) => (/`reef /.test(hint) ? [code] : []));
  const listed = [MET, FOLLOWED, NOT_MET].flatMap((each) => Object.keys(each));
  expect(listed.sort()).toEqual(named.sort());
  for (const file of Object.values(FOLLOWED)) expect(existsSync(join(ROOT, file))).toBe(true);
});
