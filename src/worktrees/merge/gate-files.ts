import { compileGlob, matchesGlob, type Pattern } from '../../base/glob.ts';
import { readBlobs } from '../../git/blobs.ts';
import type { Checkout } from '../../git/checkout.ts';
import type { FileChange } from '../../git/diff.ts';
import type { Git } from '../../git/git-command.ts';

/** What decides whether work is good: an agent that edits them edits its own judge. */
const GATE_FILES = [
  '.reef/workflows.{json,yaml}',
  '.vision/workflows.json',
  '.github/workflows/**',
  '.circleci/**',
  '{.gitlab-ci,azure-pipelines,.travis,bitbucket-pipelines}.{yml,yaml}',
  'Jenkinsfile',
  '**/{vitest,jest,playwright,cypress,karma}.{config,workspace,conf}.*',
  '**/.mocharc*',
  '**/{pytest.ini,tox.ini,conftest.py,phpunit.xml,noxfile.py}',
  '**/{eslint.config.*,.eslintrc*,biome.json,biome.jsonc,.golangci.yml,ruff.toml,.flake8}',
];
const SCRIPTS_OF = '**/package.json';

const patterns = GATE_FILES.map((text) => compileGlob(text)).filter((pattern) => pattern !== undefined);

export async function editedGateFiles(git: Git, checkout: Checkout, changes: readonly FileChange[]): Promise<string[]> {
  const edited: string[] = [];
  for (const change of changes) {
    const names = change.from === undefined ? [change.path] : [change.path, change.from];
    const isGate = (pattern: Pattern) => names.some((name) => matchesGlob(pattern, name));
    if (patterns.some(isGate) || (await editsScripts(git, checkout, change))) edited.push(change.path);
  }
  return edited;
}

async function editsScripts(git: Git, checkout: Checkout, { path, from, before, after }: FileChange): Promise<boolean> {
  const manifest = compileGlob(SCRIPTS_OF);
  if (!manifest || ![path, from ?? path].some((name) => matchesGlob(manifest, name))) return false;
  const scripts: string[] = [];
  for await (const blob of readBlobs(git, checkout, {
    oids: [before.oid, after.oid].filter((oid) => !/^0+$/.test(oid)),
  })) {
    scripts.push(blob.state === 'read' ? scriptsIn(blob.content) : '');
  }
  return scripts.length !== 2 || scripts[0] !== scripts[1];
}

/** A manifest that does not parse is taken whole: what a tool makes of it we cannot know. */
function scriptsIn(content: Buffer): string {
  try {
    return JSON.stringify((JSON.parse(content.toString('utf8')) as { scripts?: unknown }).scripts ?? null);
  } catch {
    return content.toString('latin1');
  }
}
