import type { AdapterRegistry } from '../../agents/registry.ts';
import type { Clock } from '../../base/clock.ts';
import type { SafeDir } from '../../base/safe-dir.ts';
import { GATES, type Gate, type Json, type WorkflowManifest } from '../../protocol/workflow.ts';
import type { ReefBlock } from '../../runtime/config/reef-block.ts';
import type { Store } from '../../store/store.ts';
import type { ConfiguredGate } from '../../worktrees/deps.ts';
import { type InternalWorker, rosterEntry, SUCCESS } from '../language/names.ts';
import { knownAgents } from '../manifest/check-block.ts';
import { checkManifest } from '../manifest/check-manifest.ts';
import { findGateCommands, type GateCommands } from '../project/gate-commands.ts';
import type { Project } from '../project/project.ts';
import { GATE_SECONDS } from '../run/branch-run.ts';
import { type GateParts, runBuilder, runLinter, testRunner } from '../workers/gates.ts';
import type { GateSettings, Worker, WorkerOutput } from '../workers/worker.ts';
import type { RunSpec } from './spec.ts';

interface WorktreeGatesDeps extends GateParts {
  openDir(root: string): SafeDir;
  store: Store;
  clock: Clock;
  project: Project;
  registry: AdapterRegistry;
  settings(): Pick<ReefBlock, 'gates'>;
  redact<T>(value: T): T;
}

type Workers = WorkflowManifest['workers'];

const WORKERS: Record<Gate, { name: InternalWorker; make(parts: WorktreeGatesDeps): Worker }> = {
  lint: { name: 'RunLinter', make: runLinter },
  build: { name: 'RunBuilder', make: runBuilder },
  test: { name: 'TestRunner', make: testRunner },
};

/** The gates of a worktree outside a run: the same workers judge, with the limits of the same roster. */
export function worktreeGates(deps: WorktreeGatesDeps): (worktreeId: string) => Promise<ConfiguredGate[]> {
  return async (worktreeId) => {
    const [run] = deps.store.runs.byWorktree<RunSpec>(worktreeId);
    const { gates, workers } = run
      ? { gates: run.doc.gates, workers: run.doc.manifest?.workers }
      : await ofProject(deps);
    return GATES.flatMap((gate) => {
      const command = gates[gate]?.command;
      if (command === undefined) return [];
      const settings = settingsOf(gate, command, workers);
      return [{ gate, command, run: (folder: string) => runGate(deps, { gate, settings, folder, worktreeId }) }];
    });
  };
}

async function ofProject({
  project,
  settings,
  registry,
}: WorktreeGatesDeps): Promise<{ gates: GateCommands; workers: Workers }> {
  const found = await project.manifest();
  const agents = knownAgents(registry.names());
  const workers = found && checkManifest(found, { agents }).manifest?.workers;
  const configured = { ...settings().gates, ...(await project.gates()) };
  return { workers, gates: await findGateCommands({ workers, configured, readProject: project.readGateFile }) };
}

function settingsOf(gate: Gate, command: string[], workers: Workers): GateSettings {
  const { report, min_tests, timeout_s } = rosterEntry(workers, { kind: 'internal', name: WORKERS[gate].name }) ?? {};
  return {
    command,
    timeoutMs: (timeout_s ?? GATE_SECONDS) * 1_000,
    ...(report !== undefined && { report }),
    ...(min_tests !== undefined && { minTests: min_tests }),
  };
}

interface Order {
  gate: Gate;
  settings: GateSettings;
  folder: string;
  worktreeId: string;
}

async function runGate(deps: WorktreeGatesDeps, { gate, settings, folder, worktreeId }: Order) {
  const place = { block_id: gate, run_id: '', visit: 1, branch: 'accept' };
  const output = await WORKERS[gate].make(deps)(
    {
      execution_payload: [],
      block_contract: { task: '', signals: [], args: {}, returned: {} },
      inherited_context: {},
      primary_artifacts: [],
      system_metadata: { worktree_path: folder, worktree_id: worktreeId, ...place },
    },
    {
      visitKey: gate,
      now: () => deps.clock.now(),
      abort: new AbortController().signal,
      isApplied: () => false,
      gate: settings,
    },
  );
  return { passed: output.signal === SUCCESS, log: deps.redact(logOf(output)) };
}

/** The first segment holds what the command wrote; that of a linter may be data. */
function logOf({ new_payload: [first] }: WorkerOutput): string {
  const said: Json = first?.content ?? '';
  if (typeof said === 'string') return said;
  const { raw } = said as { raw?: unknown };
  return typeof raw === 'string' ? raw : JSON.stringify(said, null, 2);
}
