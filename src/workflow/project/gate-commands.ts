import { parseJson } from '../../base/safe-json.ts';
import type { Gate, WorkflowManifest } from '../../protocol/workflow.ts';
import { type InternalWorker, rosterEntry } from '../language/names.ts';
import type { ReadProjectFile } from '../manifest/manifest-file.ts';

interface GateCommand {
  command: string[];
  from: 'roster' | 'configuration' | 'project' | 'script';
}
/** Frozen in the journal when the run begins. A gate without an entry has no command. */
export type GateCommands = Partial<Record<Gate, GateCommand>>;

const WORKERS: Record<Gate, InternalWorker> = { test: 'TestRunner', lint: 'RunLinter', build: 'RunBuilder' };
const SUGGESTED: Record<Exclude<Gate, 'build'>, { needs: string; command: string[] }> = {
  test: { needs: 'vitest', command: ['vitest', 'run', '--reporter=verbose'] },
  lint: { needs: 'eslint', command: ['eslint', '.', '--format=json'] },
};
/** `npm init` writes this when there are no tests. */
const NO_TESTS = /no test specified/;

interface Sources {
  workers: WorkflowManifest['workers'];
  /** `gates` of the configuration. */
  configured: { [gate in Gate]?: string[] | undefined };
  /** Reads the main checkout, never a worktree: no agent edits its own gates. */
  readProject: ReadProjectFile;
}

/** From the roster, else the configuration, else a known dependency of the project, else a script. */
export async function findGateCommands({ workers, configured, readProject }: Sources): Promise<GateCommands> {
  const project = readPackage(await readProject('package.json'));
  const commands: GateCommands = {};
  for (const gate of ['test', 'lint', 'build'] as const) {
    const roster = rosterEntry(workers, { kind: 'internal', name: WORKERS[gate] })?.command;
    const found =
      (roster && { command: roster, from: 'roster' as const }) ??
      (configured[gate] && { command: configured[gate], from: 'configuration' as const }) ??
      fromProject(gate, project);
    if (found) commands[gate] = found;
  }
  return commands;
}

interface Project {
  has: Set<string>;
  scripts: Record<string, string>;
}

function fromProject(gate: Gate, { has, scripts }: Project): GateCommand | undefined {
  const suggested = gate === 'build' ? undefined : SUGGESTED[gate];
  if (suggested && has.has(suggested.needs)) return { command: suggested.command, from: 'project' };
  const script = scripts[gate];
  if (script === undefined || NO_TESTS.test(script)) return undefined;
  return { command: gate === 'test' ? ['npm', 'test'] : ['npm', 'run', gate], from: 'script' };
}

function readPackage(text: string | undefined): Project {
  const parsed = text === undefined ? undefined : parseJson(text);
  const value = parsed?.ok ? asRecord(parsed.value) : {};
  const has = new Set([...Object.keys(asRecord(value.dependencies)), ...Object.keys(asRecord(value.devDependencies))]);
  const scripts = Object.entries(asRecord(value.scripts)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return { has, scripts: Object.fromEntries(scripts) };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
