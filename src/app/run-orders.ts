import { chooseDepth, chooseSandbox, refuseDepth, refuseEscape, refuseSandbox } from '../agents/leave.ts';
import type { AdapterRegistry } from '../agents/registry.ts';
import type { Clock } from '../base/clock.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Caller, OperationRequest } from '../protocol/operations.ts';
import type { UserConfig } from '../runtime/config-file.ts';
import type { Store } from '../store/store.ts';
import { runnableManifest } from '../workflow/manifest/check-manifest.ts';
import { chooseStart } from '../workflow/manifest/choose-start.ts';
import { DEFAULT_SHIPPED, SHIPPED, type ShippedName, shippedWorkflow } from '../workflow/shipped/shipped.ts';
import { findGateCommands } from '../workflow/workers/gate-commands.ts';
import { knownAgents } from './known-agents.ts';
import type { Project } from './project.ts';
import type { RunOrder } from './run-book.ts';

interface RunOrdersParts {
  store: Store;
  clock: Clock;
  registry: AdapterRegistry;
  capabilities: Capabilities;
  project: Project;
  settings(): Pick<UserConfig, 'gates'>;
}

/** From what was asked to what will be done: refused here, a run has left no trace. */
export class RunOrders {
  readonly #parts: RunOrdersParts;

  constructor(parts: RunOrdersParts) {
    this.#parts = parts;
  }

  async take(request: OperationRequest<'run'>, caller: Caller): Promise<RunOrder> {
    const { clock, project, registry, capabilities } = this.#parts;
    const { manifest, node } = await this.#manifest(request.workflow);
    const { task, agent, model, plan, base, priority, anyway, accept, autoResume, budget, yes, unsafe } = request;
    const parent = this.#parentOf(request, caller);
    if (agent !== undefined) refuseSandbox({ ...request, agent }, parent, registry.get(agent).adapter.describe());
    const sandbox = chooseSandbox(request, parent, capabilities) === 'bubblewrap';
    const gates = await findGateCommands({
      workers: manifest.workers,
      configured: { ...this.#parts.settings().gates, ...(await project.gates()) },
      readProject: project.readGateFile,
    });
    return {
      ...{ task, node, manifest, gates, plan, anyway, accept, autoResume, budget, stepping: request.step },
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model }),
      ...(base !== undefined && { base }),
      ...(priority !== undefined && { priority }),
      leave: { sandbox, yes, unsafe, ...(parent && { parentId: parent.id }), ...chooseDepth(request.maxDepth, parent) },
      createdAt: clock.now().toISOString(),
      by: caller.by,
    };
  }

  #parentOf({ agent, yes, accept }: OperationRequest<'run'>, { jobId }: Caller): Job | undefined {
    if (jobId === undefined) return undefined;
    const { store, registry } = this.#parts;
    const { job: parent } = store.jobs.get(jobId) ?? {};
    if (!parent) throw new ReefError('job_not_found', `there is no job "${jobId}"`);
    if (accept) throw new ReefError('not_yours', 'people merge: leave "accept" out');
    refuseEscape(registry, parent, { agent, yes });
    refuseDepth(parent);
    return parent;
  }

  /** A node of the repository's own file, or a workflow that ships with Reef (W-07, W-66). */
  async #manifest(named: string | undefined) {
    const agents = knownAgents(this.#parts.registry);
    const shipped = SHIPPED.find((name) => name === named);
    const own = shipped ? undefined : await this.#parts.project.manifest();
    const check = (file: { path: string; text: string }, ignored: string[] = []) =>
      runnableManifest(file, { agents, ignored }).manifest;
    const manifest = own && check(own, own.ignored);
    const node = shipped ? undefined : chooseStart(manifest, named);
    if (manifest && node !== undefined) return { manifest, node };
    const name: ShippedName = shipped ?? DEFAULT_SHIPPED;
    const chosen = check(shippedWorkflow(name));
    return { manifest: chosen, node: chosen.start ?? Object.keys(chosen.nodes)[0] ?? '' };
  }
}
