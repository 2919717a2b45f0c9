/** What can be read off the product's sources alone: who imports whom, and what is out of place. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Until they moved to `test/`, rigs lay beside the product: earlier commits are counted without them. */
const RIG = /\/testing\/|conformance|(test|crash|manager)-bench|test-(walk|input|replay|talk)/;

export interface Source {
  path: string;
  text: string;
  lines: number;
  imports: Set<string>;
  /** Who imports it, or finds it by its own address: programs, workers, scripts. */
  users: Set<string>;
}

export function readProduct(root: string): Source[] {
  const listed = execFileSync('git', ['ls-files', 'src', 'bin'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  const paths = listed.filter(
    (path) => /(?<!\.d)\.(ts|cjs|sh)$/.test(path) && !/\.test\.ts$/.test(path) && !RIG.test(path),
  );
  return linked(
    paths.filter((path) => existsSync(join(root, path))).map((path) => [path, readFileSync(join(root, path), 'utf8')]),
  );
}

const IMPORTED = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*'(\.[^']+)'/g;
const ADDRESSED = /new URL\('([^']+)', import\.meta\.url\)/g;

export function linked(files: [path: string, text: string][]): Source[] {
  const product = new Map(
    files.map(([path, text]): [string, Source] => {
      const lines = text.split('\n').length - 1;
      return [path, { path, text, lines, imports: new Set(), users: new Set() }];
    }),
  );
  for (const { path, text, imports } of product.values()) {
    const targets = (pattern: RegExp) =>
      [...text.matchAll(pattern)].flatMap(([, name = '']) => product.get(normalize(join(dirname(path), name))) ?? []);
    for (const target of targets(IMPORTED)) imports.add(target.path);
    for (const target of [...targets(IMPORTED), ...targets(ADDRESSED)]) target.users.add(path);
  }
  return [...product.values()];
}

/** What npm links. */
const STARTED = new Set(['bin/reef.cjs']);

/** Files that nobody imports or starts. */
export function orphans(sources: Source[]): string[] {
  return sources.filter(({ path, users }) => users.size === 0 && !STARTED.has(path)).map(({ path }) => path);
}

/** Sibling folders, each with all below it, that import each other, directly or through other siblings. */
export function siblingCycles(sources: Source[]): string[] {
  const siblings = new Map<string, Map<string, Set<string>>>();
  const crossings = new Map<string, string[]>();
  for (const { path, imports } of sources) {
    for (const to of imports) {
      const { parent, one, other } = parting(path, to);
      if (one === undefined || other === undefined) continue;
      const graph = siblings.get(parent) ?? new Map<string, Set<string>>();
      siblings.set(parent, graph.set(one, (graph.get(one) ?? new Set()).add(other)));
      const crossing = `${parent}: ${one} → ${other}`;
      crossings.set(crossing, [...(crossings.get(crossing) ?? []), `${path} → ${to}`]);
    }
  }
  return [...siblings].flatMap(([parent, graph]) =>
    ringsOf(graph).map((ring) => {
      const pairs = ring.flatMap((one) => ring.map((other) => crossings.get(`${parent}: ${one} → ${other}`) ?? []));
      const shown = pairs.flatMap((files) => (files[0] === undefined ? [] : [`  ${files.length} × ${files[0]}`]));
      return [`${parent}/{${ring.join(',')}}`, ...shown].join('\n    ');
    }),
  );
}

/** The deepest folder two files share, and the folder below it in which each lies. */
function parting(one: string, other: string): { parent: string; one: string | undefined; other: string | undefined } {
  const a = dirname(one).split('/');
  const b = dirname(other).split('/');
  const apart = a.findIndex((name, at) => name !== b[at]);
  const depth = apart < 0 ? a.length : apart;
  return { parent: a.slice(0, depth).join('/'), one: a[depth], other: b[depth] };
}

function ringsOf(graph: Map<string, Set<string>>): string[][] {
  const reach = (from: string) => {
    const seen = new Set<string>();
    for (const queue = [...(graph.get(from) ?? [])]; queue.length > 0; ) {
      const next = queue.pop() ?? '';
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push(...(graph.get(next) ?? []));
    }
    return seen;
  };
  const reached = new Map([...graph.keys()].map((name) => [name, reach(name)]));
  const isRound = (a: string, b: string) => reached.get(a)?.has(b) && reached.get(b)?.has(a);
  const rings = [...graph.keys()].map((name) => [...graph.keys()].filter((other) => isRound(name, other)).sort());
  return [...new Map(rings.filter(({ length }) => length > 1).map((ring) => [ring.join(), ring])).values()];
}

export function classesTwice(sources: Source[]): string[] {
  const names = new Map<string, string[]>();
  for (const { path, text } of sources) {
    for (const [, name = ''] of text.matchAll(/^(?:export )?(?:abstract )?class (\w+)/gm)) {
      names.set(name, [...(names.get(name) ?? []), path]);
    }
  }
  return [...names].flatMap(([name, paths]) => (paths.length > 1 ? [`${name}: ${paths.join(' ')}`] : []));
}

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*/g;
const REQUIREMENT = /\b[ACDEFGJQRSTUWX]-\d{1,3}\b|\bD\d{1,2}\b/;

export function idsInComments(sources: Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(COMMENT)].flatMap(([comment]) => {
      const id = REQUIREMENT.exec(comment)?.[0];
      return id === undefined ? [] : [`${path}: ${id}`];
    }),
  );
}

/** `...{ a, b }`: an object opened again at once, which says nothing that `a, b` would not. */
export function spreadsOfShorthand(sources: Source[]): string[] {
  return sources.flatMap(({ path, text }) => (text.match(/\.\.\.\{\s*\w+(,\s*\w+)*,?\s*\}/g) ?? []).map(() => path));
}
