import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from './support/source-files.ts';
import { verifies } from './support/verifies.ts';

/** What Reef is made of, read from what is committed. What the registry would say of it takes a network: `.npmrc` makes npm ask. */

interface Locked {
  version: string;
  license?: string;
  optional?: boolean;
  hasInstallScript?: boolean;
  dependencies?: Record<string, string>;
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const own = JSON.parse(read('package.json'));
const locked: Record<string, Locked> = JSON.parse(read('package-lock.json')).packages;
const filesIn = (folder: string, name: RegExp) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => name.test(path) && !/\.test\.tsx?$|node_modules/.test(path))
    .map((path) => join(folder, path));
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Who runs a fleet installs them; the package brings neither. */
const PEERS = ['@dbos-inc/dbos-sdk', 'pg'];

/** Packages that the sources of a folder import; `installed` by name, so that words of a text are none. */
function importedBy(folder: string): Set<string> {
  const installed = new Set(Object.keys({ ...own.dependencies, ...own.devDependencies }));
  const named = filesIn(folder, /\.(?:tsx?|mjs)$/)
    .flatMap((path) => [...read(path).matchAll(/(?:from|import\(|require\()\s*'((?:@[^'/]+\/)?[^'./][^'/]*)/g)])
    .map(([, name = '']) => name);
  return new Set(named.filter((name) => installed.has(name) && !PEERS.includes(name)));
}

/** Packages that are released together; grammars are data of one parser. */
function familyOf(name: string): string {
  if (name.includes('tree-sitter')) return 'tree-sitter';
  const [first = '', second] = name.split('/');
  return second === undefined ? first : ({ '@ai-sdk': 'ai', '@hono': 'hono', '@preact': 'preact' }[first] ?? first);
}

const families = (names: Iterable<string>) => [...new Set([...names].map(familyOf))].sort();

verifies('X-71').test(
  'what runs is made of at most fifteen families, and what only the page brings counts apart',
  () => {
    const runs = importedBy('src');
    for (const name of Object.keys(own.dependencies)) runs.add(name);
    const page = families(importedBy('web')).filter((family) => !families(runs).includes(family));
    expect(Object.keys(own.dependencies).filter((name) => PEERS.includes(name))).toEqual([]);
    expect(families(runs)).toEqual([
      '@agentclientprotocol',
      '@codemirror',
      '@modelcontextprotocol',
      'ai',
      'better-sqlite3',
      'commander',
      'diff',
      'fastest-levenshtein',
      'gpt-tokenizer',
      'hono',
      'marked',
      'tree-sitter',
      'unpdf',
      'yaml',
      'zod',
    ]);
    expect(page).toEqual(['@dagrejs', 'preact', 'virtua']);
    // The known-bad twin: one package more is one family too many.
    expect(families([...runs, 'execa'])).toHaveLength(16);
  },
);

verifies('X-71').test('every pin is exact, is locked as it is pinned, and has a line of reason', () => {
  const pins = Object.entries<string>({ ...own.dependencies, ...own.devDependencies });
  expect(pins.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  expect(pins.filter(([name, version]) => locked[`node_modules/${name}`]?.version !== version)).toEqual([]);
  const reasons = filesIn('docs/decisions', /^(?:0007|0009).*\.md$/)
    .map(read)
    .join('\n');
  const unexplained = families([...importedBy('src'), ...importedBy('web')]).filter(
    (family) => !new RegExp(`^\\| .*\\b${family.replace('@', '')}\\b`, 'm').test(reasons),
  );
  expect(unexplained).toEqual([]);
});

const FREE = /^(?:MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|Unlicense)$/;
const isFree = (license: string) =>
  license
    .replace(/[()]/g, '')
    .split(/ OR | AND /)
    .some((each) => FREE.test(each));
/** Tools whose licences ask something of who changes them. No user of Reef gets them. */
const TOOLS_ONLY = ['@axe-core/playwright', '@modelcontextprotocol/inspector', 'axe-core', 'lightningcss'];

verifies('X-71').test('what users get is under a permissive licence, and so are the tools but for those named', () => {
  const reached = new Set<string>();
  const reach = (name: string, from: string): void => {
    const path = [...parents(from).map((parent) => `${parent}/node_modules/${name}`), `node_modules/${name}`].find(
      (each) => locked[each],
    );
    if (path === undefined || reached.has(path)) return;
    reached.add(path);
    for (const each of Object.keys(locked[path]?.dependencies ?? {})) reach(each, path);
  };
  for (const name of [...importedBy('src'), ...importedBy('web'), ...Object.keys(own.dependencies)]) reach(name, '');
  const strict = (path: string) => !isFree(locked[path]?.license ?? 'none');
  expect([reached.size > 30, [...reached].filter(strict)]).toEqual([true, []]);
  const others = Object.entries(locked).filter(
    ([path, { license, optional }]) => path !== '' && strict(path) && !(license === undefined && optional),
  );
  const named = others.map(([path]) => nameOf(path).replace(/^lightningcss-.*/, 'lightningcss'));
  expect([...new Set(named)].sort()).toEqual(TOOLS_ONLY);
});

/** `node_modules/a/node_modules/b` and then `node_modules/a`. */
function parents(path: string): string[] {
  if (path === '') return [];
  return [path, ...parents(path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/'))))];
}

verifies('X-71').test(
  'no install script runs but a listed one, and npm waits a week before it takes a new version',
  () => {
    const scripts = new Set(
      Object.entries(locked).flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [nameOf(path)] : [])),
    );
    const { allowScripts } = own;
    expect([...scripts].filter((name) => !Object.hasOwn(allowScripts, name))).toEqual([]);
    expect(Object.keys(allowScripts).filter((name) => allowScripts[name])).toEqual(['node']);
    expect(read('.npmrc')).toMatch(/^min-release-age=7$/m);
  },
);
