import type { Gate, WorkflowManifest } from '../../protocol/workflow.ts';
import { type InternalWorker, rosterEntry } from '../language/names.ts';
import type { ReadProjectFile } from '../manifest/manifest-file.ts';
import { gatesOf, LOCKS, managerOf, readPackage } from './package-scripts.ts';

interface GateCommand {
  command: string[];
  from: 'roster' | 'configuration' | 'project' | 'script';
}
/** Frozen in the journal when the run begins. A gate without an entry has no command. */
export type GateCommands = Partial<Record<Gate, GateCommand>>;

const WORKERS: Record<Gate, InternalWorker> = { test: 'TestRunner', lint: 'RunLinter', build: 'RunBuilder' };

interface Sources {
  workers: WorkflowManifest['workers'];
  /** `gates` of the configuration. */
  configured: { [gate in Gate]?: string[] | undefined };
  /** Reads the main checkout, never a worktree: no agent edits its own gates. */
  readProject: ReadProjectFile;
}

/** From the roster, else the configuration, else a script of the project, else a tool among its dependencies. */
export async function findGateCommands({ workers, configured, readProject }: Sources): Promise<GateCommands> {
  const about = readPackage(await readProject('package.json'));
  // A file that cannot be read is there all the same.
  const isThere = (name: string) =>
    readProject(name).then(
      (text) => text !== undefined,
      () => true,
    );
  const locks = await Promise.all(LOCKS.map(async ([file]) => ((await isThere(file)) ? [file] : [])));
  const { manager } = managerOf(about, (name) => locks.flat().some((lock) => lock === name));
  const { gates } = gatesOf(about, manager);
  const commands: GateCommands = {};
  for (const gate of ['test', 'lint', 'build'] as const) {
    const roster = rosterEntry(workers, { kind: 'internal', name: WORKERS[gate] })?.command;
    const own = gates[gate];
    const found =
      (roster && { command: roster, from: 'roster' as const }) ??
      (configured[gate] && { command: configured[gate], from: 'configuration' as const }) ??
      (own && { command: own.command, from: own.from });
    if (found) commands[gate] = found;
  }
  return commands;
}
