import { compileGlob, matchesGlob, type Pattern } from '../../base/glob.ts';
import { readBlobs } from '../../git/blobs.ts';
import type { Checkout } from '../../git/checkout.ts';
import type { FileChange } from '../../git/diff.ts';
import type { Git } from '../../git/git-command.ts';

/**
 * Files that decide whether work is good, or that programs of the user act on by themselves. An agent that edits them edits
 * its own judge, or has code run later. Lists of dependencies alone (`Cargo.toml`, `go.mod`, lock files) are left out: they
 * change with ordinary work, and a list that is always long is not read.
 */
const FILES = [
  // Reef itself, and what it copies into worktrees
  '.reef/**',
  '.vision/**',
  '.worktreeinclude',
  // CI of the known forges
  '.{github,gitea,forgejo}/{workflows,actions}/**',
  '.{circleci,buildkite,woodpecker,teamcity,semaphore,azure-pipelines,builds}/**',
  '**/{.gitlab-ci,azure-pipelines,.travis,bitbucket-pipelines,.drone,.woodpecker,.cirrus,appveyor,.appveyor,.build}.{yml,yaml}',
  '.gitlab/ci/**',
  '**/Jenkinsfile*',
  // tests
  '**/*.{config,workspace,conf}.{js,cjs,mjs,jsx,ts,cts,mts,tsx,json}',
  '**/{vitest,jest,cypress}.setup.*',
  '**/{.mocharc*,.nycrc*,.c8rc*,.taprc,.rspec,setupTests.*,codecov.yml,.codecov.yml}',
  '**/{pytest.ini,tox.ini,conftest.py,phpunit.xml,noxfile.py,.coveragerc}',
  // lint and types; `tsconfig` turns the checks of the build on and off
  '**/{eslint.config.*,.eslintrc*,.eslintignore,biome.json,biome.jsonc,.golangci.*,ruff.toml,.ruff.toml,.flake8,mypy.ini}',
  '**/{tsconfig*.json,.prettierrc*,.prettierignore,.stylelintrc*,.babelrc*,.swcrc,.pylintrc,pylintrc,.rubocop.yml}',
  // package managers: these name registries, shells and code that each call loads
  '**/{.npmrc,.yarnrc*,.pnpmfile.cjs,pnpm-workspace.yaml,bunfig.toml,.bunfig.toml,deno.json,deno.jsonc,pip.conf}',
  '**/{.yarn/releases,.yarn/plugins,.cargo,.mvn,gradle/wrapper}/**',
  // installed programs, which belong to the set-up and not to the work
  '**/{node_modules,.venv,venv}/**',
  // builds that are code; `pyproject.toml` and `pom.xml` also configure the tests
  '**/{Makefile,makefile,GNUmakefile,*.mk,justfile,Justfile,.justfile,Taskfile.*,taskfile.*,Rakefile,build.rs}',
  '**/{Gruntfile.*,gruntfile.*,Gulpfile.*,gulpfile.*,magefile.go,nx.json,turbo.json,.bazelrc,mise.toml,.mise.toml,*.nix}',
  '**/{setup.py,setup.cfg,pyproject.toml,pom.xml,build.gradle*,settings.gradle*,gradlew*,mvnw*}',
  // hooks
  '**/{.husky,.githooks}/**',
  '**/{lefthook.*,.lefthook.*,lefthook-local.*,.pre-commit-config.yaml,.lintstagedrc*,lint-staged.config.*}',
  // agents, editors, shells and git
  '**/{.claude,.codex,.gemini,.opencode,.cursor,.vscode,.zed,.idea,.devcontainer}/**',
  '**/{opencode.json*,.mcp.json,.envrc,.gitmodules,.gitattributes}',
];

const patterns = FILES.map((text) => compileGlob(text)).filter((pattern) => pattern !== undefined);

/** Whether a file of this name judges or executes, whatever is in it. */
export function isJudging(path: string): boolean {
  // A link may stand for a folder, and some file systems take `.REEF` for `.reef`.
  const names = [path, `${path}/`, path.toLowerCase(), `${path.toLowerCase()}/`];
  return patterns.some((pattern: Pattern) => names.some((name) => matchesGlob(pattern, name)));
}

/** The changed files that judge or execute. */
export async function editedJudges(git: Git, checkout: Checkout, changes: readonly FileChange[]): Promise<string[]> {
  const edited: string[] = [];
  for (const change of changes) {
    const names = [change.path, change.from ?? change.path];
    if (names.some(isJudging) || (await editsManifest(git, checkout, change))) edited.push(change.path);
  }
  return edited;
}

const isManifest = (path: string) => path === 'package.json' || path.endsWith('/package.json');

/** What runs by `package.json`, or configures what runs. Its other parts change with ordinary work. */
const EXECUTED = [
  ...['scripts', 'packageManager', 'pnpm', 'trustedDependencies', 'config', 'wireit', 'nx'],
  ...['jest', 'mocha', 'ava', 'tap', 'c8', 'nyc', 'xo', 'eslintConfig', 'prettier', 'stylelint', 'babel'],
  ...['lint-staged', 'husky', 'simple-git-hooks', 'pre-commit'],
];

async function editsManifest(
  git: Git,
  checkout: Checkout,
  { path, from, before, after }: FileChange,
): Promise<boolean> {
  if (![path, from ?? path].some(isManifest)) return false;
  const parts: string[] = [];
  for await (const blob of readBlobs(git, checkout, {
    oids: [before.oid, after.oid].filter((oid) => !/^0+$/.test(oid)),
  })) {
    parts.push(blob.state === 'read' ? executedParts(blob.content) : '');
  }
  return parts.length !== 2 || parts[0] !== parts[1];
}

/** A manifest that does not parse is compared whole. */
function executedParts(content: Buffer): string {
  try {
    const manifest = JSON.parse(content.toString('utf8')) as Record<string, unknown>;
    return JSON.stringify(EXECUTED.map((key) => manifest[key] ?? null));
  } catch {
    return content.toString('latin1');
  }
}
