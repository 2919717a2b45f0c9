import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { GATES, type Gate } from '../../protocol/workflow.ts';

const named = z.record(z.string(), z.unknown()).catch({});
const packageSchema = z.looseObject({
  scripts: named,
  dependencies: named,
  devDependencies: named,
  packageManager: z.string().catch(''),
});
type Package = z.infer<typeof packageSchema>;

/** An absent or broken file has nothing in it. */
export function readPackage(text: string | undefined): Package {
  const parsed = text === undefined ? undefined : parseJson(text);
  return packageSchema.safeParse(parsed?.ok ? parsed.value : {}).data ?? packageSchema.parse({});
}

/** Best known first. */
export const LOCKS = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['yarn.lock', 'yarn'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
] as const;
export type Manager = (typeof LOCKS)[number][1];

/** By its lock file; with several of them, or none, as `packageManager` says. */
export function managerOf({ packageManager }: Package, hasFile: (name: string) => boolean) {
  const [said] = packageManager.split('@');
  const present = LOCKS.filter(([file]) => hasFile(file));
  const [lock, manager] = present.find(([, each]) => each === said) ?? present[0] ?? [];
  if (lock !== undefined && manager !== undefined) return { manager, lock };
  return { manager: LOCKS.find(([, each]) => each === said)?.[1] ?? ('npm' as const) };
}

/** Scripts that do the work of a gate, best first. */
const NAMES: Record<Gate, readonly string[]> = {
  lint: ['lint', 'lint:ci', 'check', 'format:check'],
  build: ['build', 'typecheck', 'type-check', 'check-types', 'compile'],
  test: ['test', 'test:ci', 'test:run', 'test:unit', 'tests'],
};

/** Without a script for it, a tool that the project has and that no script runs. */
const TOOLS: Partial<Record<Gate, readonly [tool: string, ...args: string[]]>> = {
  test: ['vitest', 'run', '--reporter=verbose'],
  lint: ['eslint', '.', '--format=json'],
};

/** `npm init` writes this when there are no tests. */
const NO_TESTS = /no tests? specified/i;

interface PackageGate {
  command: string[];
  from: 'script' | 'project';
  because: string;
}

interface PackageGates {
  gates: Partial<Record<Gate, PackageGate>>;
  /** Scripts for the same gates that were not taken. */
  spare: (readonly [Gate, PackageGate])[];
  /** Scripts that are no gate, because they do not end by themselves. */
  endless: { script: string; word: string }[];
}

/** A script is run whole, as the project wrote it: a part of it would pass what the whole refuses. */
export function gatesOf(about: Package, manager: Manager): PackageGates {
  const scripts = textsIn(about.scripts);
  const result: PackageGates = { gates: {}, spare: [], endless: [] };
  for (const gate of GATES) {
    const there = NAMES[gate].filter((name) => scripts[name]?.trim() && !NO_TESTS.test(scripts[name]));
    for (const script of there) {
      const word = watches(scripts, script);
      const found = { command: runScript(manager, script), from: 'script', because: whose(script) } as const;
      if (word !== undefined) result.endless.push({ script, word });
      else if (result.gates[gate]) result.spare.push([gate, found]);
      else result.gates[gate] = found;
    }
    const tool = TOOLS[gate];
    if (!result.gates[gate] && tool && isIdle(tool[0], about, scripts))
      result.gates[gate] = { command: [...tool], from: 'project', because: `${tool[0]} is a dependency` };
  }
  return result;
}

function textsIn(scripts: Package['scripts']): Record<string, string> {
  const texts = Object.entries(scripts).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(texts);
}

const whose = (script: string) => `script "${script}" of package.json`;

/** `bun test` is Bun's own test runner and not the script. */
function runScript(manager: Manager, script: string): string[] {
  return script === 'test' && manager !== 'bun' ? [manager, 'test'] : [manager, 'run', script];
}

function isIdle(tool: string, { dependencies, devDependencies }: Package, scripts: Record<string, string>): boolean {
  const isThere = Object.hasOwn(dependencies, tool) || Object.hasOwn(devDependencies, tool);
  return isThere && !Object.values(scripts).some((text) => new RegExp(`\\b${tool}\\b`).test(text));
}

/** A plain `vitest` is none of them: it watches at a terminal only, and a gate has none. */
const WATCHING = [
  /(?<=^|\s)--watch(?:All)?(?:=true)?(?=\s(?!\s*false\b)|$|["'&;|])/,
  /\b(?:tsc|rollup|mocha|tsup|ava|webpack|babel|swc)\b[^&|;]*\s-w(?=\s|$|["'&;|])/,
  /\bvitest\s+(?:watch|dev)\b/,
  /(?<=^|[\s;&|])(?:nodemon|tsc-watch|chokidar|watchexec)(?=\s|$)/,
  /^(?!.*\bCI=(?:true|1)\b)(?!.*--watch(?:All)?=false)(?!.*--no-watch).*?\b(?:react-scripts|ng)\s+test\b/,
] as const;
const CALLED = /\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:-\S+\s+)*([\w:.-]+)/g;

/** The words that make it watch files for ever, in the script itself or in one that it calls. */
function watches(scripts: Record<string, string>, name: string, seen = new Set<string>()): string | undefined {
  const text = scripts[name];
  if (text === undefined || seen.has(name)) return undefined;
  seen.add(name);
  const own = WATCHING.map((pattern) => pattern.exec(text)?.[0]).find((word) => word !== undefined);
  const called = [...text.matchAll(CALLED)].map(([, script = '']) => watches(scripts, script, seen));
  return own ?? called.find((word) => word !== undefined);
}
