import { gatesOf, type Manager, managerOf, readPackage } from './package-scripts.ts';
import { type FindToolchain, type ProjectFolder, type Suggestion, suggest } from './toolchain.ts';

type Package = ReturnType<typeof readPackage>;

/** How each installs without changing the lock file, and without leaving one where there is none. */
const INSTALL: Record<Manager, { locked: readonly string[]; unlocked: readonly string[] }> = {
  pnpm: { locked: ['install', '--frozen-lockfile'], unlocked: ['install', '--no-lockfile'] },
  bun: { locked: ['install', '--frozen-lockfile'], unlocked: ['install', '--no-save'] },
  yarn: { locked: ['install', '--frozen-lockfile'], unlocked: ['install', '--no-lockfile'] },
  npm: { locked: ['ci'], unlocked: ['install', '--no-package-lock'] },
};

export const findNode: FindToolchain = async ({ names, read }) => {
  const text = await read('package.json');
  if (text === undefined) return undefined;
  const about = readPackage(text);
  const { manager, lock } = managerOf(about, (name) => names.has(name));
  // The same search as a run's, so that the file changes nothing.
  const { gates, spare, endless } = gatesOf(about, manager);
  const setup = installer({ about, manager, lock, names });
  const suggestions = Object.entries(gates).map(([gate, { because, command }]) => [gate, suggest(because, ...command)]);
  return {
    name: 'Node',
    gates: Object.fromEntries(suggestions),
    spare: spare.map(([gate, { because, command }]) => [gate, suggest(because, ...command)] as const),
    leaves: hasDependencies(about) ? ['node_modules'] : [],
    notes: endless.map(
      ({ script, word }) =>
        `Script "${script}" of package.json cannot be a gate: it watches files and never ends (${word}).`,
    ),
    isAside: !isProduct(about, names),
    ...(setup && { setup }),
  };
};

interface Installer {
  about: Package;
  manager: Manager;
  lock: string | undefined;
  names: ProjectFolder['names'];
}

function installer({ about, manager, lock, names }: Installer): Suggestion | undefined {
  const { locked, unlocked } = INSTALL[manager];
  if (lock === undefined)
    return hasDependencies(about) ? suggest('dependencies without a lock file', manager, ...unlocked) : undefined;
  // Yarn 2 and later has its own name for it.
  const isLater = manager === 'yarn' && (names.has('.yarnrc.yml') || /^yarn@[2-9]/.test(about.packageManager));
  return suggest(lock, manager, ...(isLater ? ['install', '--immutable'] : locked));
}

function hasDependencies({ dependencies, devDependencies }: Package): boolean {
  return Object.keys(dependencies).length + Object.keys(devDependencies).length > 0;
}

/** Something that others install or start. With nothing of it, `package.json` only brings tools for another language. */
function isProduct(about: Package, names: ProjectFolder['names']): boolean {
  const isMade = ['main', 'module', 'exports', 'bin', 'workspaces'].some((key) => about[key] !== undefined);
  return isMade || Object.keys(about.dependencies).length > 0 || names.has('pnpm-workspace.yaml');
}
