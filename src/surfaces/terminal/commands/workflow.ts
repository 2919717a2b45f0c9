import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { AdapterRegistry } from '../../../agents/registry.ts';
import { findRepository } from '../../../base/home.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Finding } from '../../../protocol/workflow.ts';
import { readConfig } from '../../../runtime/config/user-config.ts';
import { knownAgents } from '../../../workflow/manifest/check-block.ts';
import { checkManifest } from '../../../workflow/manifest/check-manifest.ts';
import { findManifest, manifestNotFound, workflowJsonSchema } from '../../../workflow/manifest/manifest-file.ts';
import { SHIPPED, shippedWorkflow } from '../../../workflow/shipped/shipped.ts';
import type { Cli, Command } from '../cli.ts';

const TARGET = '.reef/workflows.yaml';

/** Reads the file and starts nothing, not even a daemon. */
export const checkWorkflow: Command<{ strict?: true }> = async (cli, [file], { strict = false }) => {
  const found =
    file === undefined
      ? await projectManifest(cli)
      : { path: file, text: readText(resolve(cli.cwd, file)), ignored: [] };
  const agents = knownAgents(new AdapterRegistry(() => readConfig(cli.env).agents).names());
  const { findings } = checkManifest(found, { agents, strict, ignored: found.ignored });
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  cli.print({ path: found.path, findings }, () =>
    findings.length === 0
      ? `${found.path}: no problems found`
      : findings.map((finding) => findingLine(found.path, finding)).join('\n'),
  );
  return errors > 0 ? 1 : 0;
};

function findingLine(path: string, { line, column, severity, code, message, hint }: Finding): string {
  return `${path}:${line}:${column}: ${severity} ${code}: ${message}\n  ${hint}`;
}

export const workflowSchema: Command<object> = async (cli) => {
  cli.out(JSON.stringify(workflowJsonSchema(), null, 2));
  return 0;
};

export const initWorkflow: Command<{ force?: true }> = async (cli, [name = 'full-gates'], { force }) => {
  const shipped = SHIPPED.find((each) => each === name);
  if (!shipped)
    throw new ReefError('bad_request', `There is no workflow "${name}"; choose one of ${SHIPPED.join(', ')}`);
  const path = join(root(cli), TARGET);
  if (existsSync(path) && !force)
    throw new ReefError('bad_request', `${relative(cli.cwd, path)} exists already: add --force to replace it`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, shippedWorkflow(shipped).text);
  cli.print({ path }, () => relative(cli.cwd, path) || path);
  if (!cli.json) cli.talk('  reef trust    allow Reef to use it');
  return 0;
};

async function projectManifest(cli: Cli) {
  const folder = root(cli);
  const found = await findManifest(async (path) => {
    const file = join(folder, path);
    return existsSync(file) ? readText(file) : undefined;
  });
  if (!found) throw manifestNotFound();
  return found;
}

function root(cli: Cli): string {
  const repository = findRepository(cli.cwd);
  if (repository === undefined) throw new ReefError('not_a_repository', `${cli.cwd} is not in a git repository`);
  return repository;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw manifestNotFound(path);
    throw error;
  }
}
