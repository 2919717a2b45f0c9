import { createHash } from 'node:crypto';
import { readBlobs } from '../../git/blobs.ts';
import type { Oid } from '../../git/ref-name.ts';
import { listTree, type TreeEntry } from '../../git/tree.ts';
import type { Deps } from '../deps.ts';

/** What package managers read when they install: manifests, lock files, and settings of theirs. */
const MANIFESTS = new RegExp(
  `(?:^|/)(?:${[
    'package(?:-lock)?\\.json|npm-shrinkwrap\\.json|\\.npmrc|pnpm-(?:lock|workspace)\\.yaml|\\.pnpmfile\\.cjs',
    'yarn\\.lock|\\.yarnrc[^/]*|bun\\.lockb?|\\.?bunfig\\.toml|deno\\.(?:jsonc?|lock)|patches/[^/]+',
    'pyproject\\.toml|(?:uv|poetry|pdm)\\.lock|Pipfile(?:\\.lock)?|[^/]*requirements[^/]*\\.(?:txt|in)|requirements/[^/]+',
    'setup\\.(?:py|cfg)|environment\\.ya?ml|Cargo\\.(?:toml|lock)|go\\.(?:mod|sum|work)|Gemfile(?:\\.lock)?|[^/]*\\.gemspec',
    'composer\\.(?:json|lock)|pom\\.xml|mix\\.(?:exs|lock)|[^/]*\\.(?:cs|fs)proj|[^/]*\\.sln|packages\\.lock\\.json',
    '\\.tool-versions|\\.nvmrc|\\.node-version|\\.python-version|rust-toolchain(?:\\.toml)?',
  ].join('|')})$`,
);

/** Commands that install what manifests name and do nothing else. */
const INSTALLS =
  /^(?:[A-Z_]+=\S* +)*(?:npm (?:ci|install|i)|pnpm (?:install|i)|yarn(?: install)?|bun install|corepack enable|deno install|(?:python3? -m )?pip3? install|(?:python3? -m |uv )venv|uv (?:sync|pip install)|poetry install|pipenv install|cargo fetch|go mod download|bundle install|composer install|mix deps\.get|dotnet restore)(?: [^|&;<>$`\n]*)?$/;

/** Scripts that package managers run while they install. */
const LIFECYCLE = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare'];
/** These install git hooks or patch packages: they read no source. */
const HARMLESS = /^(?:(?:is-ci|npx) +(?:\|\| +)?)?(?:husky|lefthook|simple-git-hooks|patch-package)\b[^&|;]*$/;

/**
 * Names everything that a set-up of this commit depends on: its command, the files it copies, manifests and lock files. A
 * set-up that does more than install packages may read any file, so for it this is the whole tree.
 */
export async function setupInputs(deps: Deps, commit: Oid): Promise<string> {
  const { git, checkout, items } = deps;
  const { setup = [] } = (await items.scripts?.()) ?? {};
  const read: TreeEntry[] = [];
  const all = createHash('sha256');
  for await (const entry of listTree(git, checkout, commit)) {
    all.update(`${entry.mode} ${entry.oid} ${entry.path}\0`);
    if (MANIFESTS.test(entry.path) || setup.some((word) => word === entry.path || word === `./${entry.path}`))
      read.push(entry);
  }
  const readsAll = setup.length > 0 && !(isInstall(setup) && !(await hasLifecycle(deps, read)));
  const files = readsAll ? all.digest('hex') : read.map(({ mode, oid, path }) => [mode, oid, path]);
  const copied = (await items.include?.()) ?? null;
  return createHash('sha256')
    .update(JSON.stringify([setup, copied, files]))
    .digest('hex');
}

function isInstall(command: readonly string[]): boolean {
  const [shell = '', flag, text] = command;
  const isShell = /^(?:\/bin\/)?(?:ba)?sh$/.test(shell) && /^-\w*c$/.test(flag ?? '') && text !== undefined;
  const lines = isShell ? (text ?? '').split(/&&|;|\n/) : [command.join(' ')];
  return lines
    .map((line) => line.trim())
    .filter(Boolean)
    .every((line) => INSTALLS.test(line));
}

async function hasLifecycle({ git, checkout }: Deps, read: readonly TreeEntry[]): Promise<boolean> {
  const oids = read.filter(({ path }) => /(?:^|\/)package\.json$/.test(path)).map(({ oid }) => oid);
  if (oids.length === 0) return false;
  for await (const blob of readBlobs(git, checkout, { oids })) {
    if (blob.state !== 'read' || runsScripts(blob.content)) return true;
  }
  return false;
}

/** A manifest that cannot be read may say anything. */
function runsScripts(manifest: Buffer): boolean {
  try {
    const { scripts = {} } = JSON.parse(manifest.toString('utf8')) as { scripts?: Record<string, unknown> };
    return LIFECYCLE.some((name) => scripts[name] !== undefined && !HARMLESS.test(String(scripts[name]).trim()));
  } catch {
    return true;
  }
}
