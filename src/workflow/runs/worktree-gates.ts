import type { AdapterRegistry } from '../../agents/registry.ts';
import type { Clock } from '../../base/clock.ts';
import type { SafeDir } from '../../base/safe-dir.ts';
import type { Gate, WorkflowManifest } from '../../protocol/workflow.ts';
import type { ReefBlock } from '../../runtime/config/reef-block.ts';
import type { Store } from '../../store/store.ts';
import type { ConfiguredGate } from '../../worktrees/deps.ts';
import { SUCCESS } from '../language/names.ts';
import { knownAgents } from '../manifest/check-block.ts';
import { checkManifest } from '../manifest/check-manifest.ts';
import { readableContent } from '../memory/segment.ts';
import { findGateCommands, type GateCommands, isKnown, settingsOf } from '../project/gate-commands.ts';
import type { Project } from '../project/project.ts';
import { type GateSurroundings, gateKey, namedGate, runBuilder, runLinter, testRunner } from '../workers/gates.ts';
import type { GateSettings, Worker } from '../workers/worker.ts';
import type { RunSpec } from './spec.ts';

interface WorktreeGatesDeps extends GateSurroundings {
  openDir(root: string): SafeDir;
  store: Store;
  clock: Clock;
  project: Project;
  registry: AdapterRegistry;
  settings(): Pick<ReefBlock, 'gates'>;
  redact<T>(value: T): T;
}

type Workers = WorkflowManifest['workers'];

const WORKERS: Record<Gate, (parts: WorktreeGatesDeps) => Worker> = {
  lint: runLinter,
  build: runBuilder,
  test: testRunner,
};

/** The gates of a worktree outside a run: the same workers judge, with the limits of the same roster. */
export function worktreeGates(deps: WorktreeGatesDeps): (worktreeId: string) => Promise<ConfiguredGate[]> {
  return async (worktreeId) => {
    const [ran] = deps.store.runs.byWorktree<RunSpec>(worktreeId);
    const { gates, workers } = ran
      ? { gates: ran.doc.gates, workers: ran.doc.manifest?.workers }
      : await ofProject(deps);
    const all = Object.entries(gates).map(async ([gate, said]) => {
      const settings = settingsOf(gates, gate, workers);
      const run = (folder: string, abort = new AbortController().signal) =>
        runGate(deps, { gate, settings, folder, worktreeId, abort });
      const key = await gateKey(settings, deps);
      return { gate, command: said.command, key, blocks: said.blocks !== false, run };
    });
    return Promise.all(all);
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

interface Order {
  gate: string;
  settings: GateSettings;
  folder: string;
  worktreeId: string;
  abort: AbortSignal;
}

async function runGate(deps: WorktreeGatesDeps, { gate, settings, folder, worktreeId, abort }: Order) {
  const place = { block_id: gate, run_id: '', visit: 1, branch: 'accept' };
  const worker = isKnown(gate) ? WORKERS[gate](deps) : namedGate(gate, deps);
  const output = await worker(
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
      abort,
      isApplied: () => false,
      gate: settings,
    },
  );
  return {
    passed: output.signal === SUCCESS,
    log: deps.redact(readableContent(output.new_payload[0]?.content ?? '', 2)),
  };
}
