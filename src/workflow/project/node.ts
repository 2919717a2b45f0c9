import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { GATES, type Gate } from '../../protocol/workflow.ts';
import { findGateCommands } from './gate-commands.ts';
import { type FindToolchain, firstOf, type ProjectFolder, type Suggestion, suggest } from './toolchain.ts';

const packageSchema = z.looseObject({
  scripts: z.record(z.string(), z.unknown()).catch({}),
  dependencies: z.record(z.string(), z.unknown()).catch({}),
  devDependencies: z.record(z.string(), z.unknown()).catch({}),
});
type Package = z.infer<typeof packageSchema>;

/** By lock file, best known first: who installs, and how without changing that file. */
const MANAGERS: readonly (readonly [lock: string, manager: string, ...install: string[]])[] = [
  ['pnpm-lock.yaml', 'pnpm', 'install', '--frozen-lockfile'],
  ['bun.lock', 'bun', 'install', '--frozen-lockfile'],
  ['bun.lockb', 'bun', 'install', '--frozen-lockfile'],
  ['yarn.lock', 'yarn', 'install', '--frozen-lockfile'],
  ['package-lock.json', 'npm', 'ci'],
  ['npm-shrinkwrap.json', 'npm', 'ci'],
];

/** Scripts that do the work of a gate when none is named like it. */
const ALSO: Record<Gate, readonly string[]> = {
  lint: ['check', 'format:check'],
  build: ['typecheck', 'type-check', 'check-types', 'compile'],
  test: ['test:unit', 'tests'],
};

export const findNode: FindToolchain = async (folder) => {
  const text = await folder.read('package.json');
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  const about = packageSchema.safeParse(parsed.ok ? parsed.value : {}).data ?? NOTHING;
  const { manager, setup } = installer(folder, about);
  // The same search as a run's, so that the file changes nothing.
  const found = await findGateCommands({ workers: undefined, configured: {}, readProject: folder.read });
  const gates = GATES.flatMap((gate) => {
    const { command, from } = found[gate] ?? {};
    if (command && from === 'project') {
      return [[gate, { ...suggest(`${command[0]} is a dependency`, ...command), isInstalled: true }] as const];
    }
    const script = command ? gate : ALSO[gate].find((name) => typeof about.scripts[name] === 'string');
    return script === undefined ? [] : [[gate, runScript(manager, script)] as const];
  });
  return {
    name: 'Node',
    gates: Object.fromEntries(gates),
    leaves: hasDependencies(about) ? ['node_modules'] : [],
    ...(setup && { setup }),
  };
};

const NOTHING: Package = { scripts: {}, dependencies: {}, devDependencies: {} };

function runScript(manager: string, script: string): Suggestion {
  const because = `script "${script}" of package.json`;
  return script === 'test' ? suggest(because, manager, 'test') : suggest(because, manager, 'run', script);
}

function installer({ names }: ProjectFolder, about: Package): { manager: string; setup?: Suggestion } {
  const [lock, manager = 'npm', ...install] = MANAGERS.find(([file]) => names.has(file)) ?? [];
  if (lock !== undefined) {
    // Yarn 2 and later has its own name for it, and its own file.
    const args = manager === 'yarn' && firstOf(names, '.yarnrc.yml') ? ['install', '--immutable'] : install;
    return { manager, setup: suggest(lock, manager, ...args) };
  }
  if (!hasDependencies(about)) return { manager };
  return { manager, setup: suggest('dependencies without a lock file', 'npm', 'install', '--no-package-lock') };
}

function hasDependencies({ dependencies, devDependencies }: Package): boolean {
  return Object.keys(dependencies).length + Object.keys(devDependencies).length > 0;
}
