import { GATES, type Gate, type WorkflowManifest } from '../../protocol/workflow.ts';
import type { ReefBlock } from '../../runtime/config/reef-block.ts';
import { type InternalWorker, rosterEntry } from '../language/names.ts';
import type { ReadProjectFile } from '../manifest/manifest-file.ts';
import type { GateSettings } from '../workers/worker.ts';
import { gatesOf, LOCKS, managerOf, readPackage } from './package-scripts.ts';

/** As the configuration says it, with where the command comes from. */
export interface GateCommand {
  command: string[];
  timeout?: number;
  report?: string;
  min_tests?: number;
  blocks?: boolean;
  from: 'roster' | 'configuration' | 'project' | 'script';
}
/** In the order they run. Frozen in the journal when the run begins. A gate without an entry has no command. */
export type GateCommands = Record<string, GateCommand>;

const WORKERS: Record<Gate, InternalWorker> = { test: 'TestRunner', lint: 'RunLinter', build: 'RunBuilder' };

interface Sources {
  workers: WorkflowManifest['workers'];
  /** `gates` of the configuration. */
  configured: ReefBlock['gates'];
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
  const known = GATES.flatMap((gate): [string, GateCommand][] => {
    const roster = rosterEntry(workers, { kind: 'internal', name: WORKERS[gate] })?.command;
    if (roster) return [[gate, { ...configured[gate], command: roster, from: 'roster' }]];
    const own = gates[gate];
    return own && !configured[gate] ? [[gate, { command: own.command, from: own.from }]] : [];
  });
  const named = Object.entries(configured).map(([name, gate]) => [name, { ...gate, from: 'configuration' }] as const);
  // Those that the configuration does not name come first; it gives the order of the others.
  const first = known.filter(([name]) => !configured[name]);
  return { ...Object.fromEntries(first), ...Object.fromEntries(named), ...Object.fromEntries(known) };
}

/** How long a gate may take unless something says otherwise. */
export const GATE_SECONDS = 900;

/** How a gate runs. What the workflow says of its worker goes before the configuration. */
export function settingsOf(gates: GateCommands, gate: string, workers: WorkflowManifest['workers']): GateSettings {
  const said = gates[gate];
  const roster = (isKnown(gate) && rosterEntry(workers, { kind: 'internal', name: WORKERS[gate] })) || {};
  const [report, minTests] = [roster.report ?? said?.report, roster.min_tests ?? said?.min_tests];
  return {
    timeoutMs: (roster.timeout_s ?? said?.timeout ?? GATE_SECONDS) * 1_000,
    ...(said && { command: said.command }),
    ...(report !== undefined && { report }),
    ...(minTests !== undefined && { minTests }),
  };
}

export const isKnown = (name: string): name is Gate => GATES.some((gate) => gate === name);

/**
 * The gates that the worker of a known one runs, in order: its own, and those without a worker that come before it. What
 * comes after the last worker of the workflow is run by that one.
 */
export function gatesAt(gates: GateCommands, own: Gate, inWorkflow: readonly Gate[]): string[] {
  const names = Object.keys(gates);
  const last = inWorkflow.includes('test') ? 'test' : inWorkflow.at(-1);
  const isOwn = (name: string, index: number) => {
    if (isKnown(name)) return name === own;
    const next = names.slice(index).find((each) => isKnown(each) && inWorkflow.includes(each));
    return (next ?? last) === own;
  };
  const found = names.filter(isOwn);
  return found.length > 0 ? found : [own];
}
