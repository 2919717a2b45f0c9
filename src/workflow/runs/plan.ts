import { chooseDepth, chooseSandbox, refuseDepth, refuseEscape } from '../../agents/permissions.ts';
import type { AdapterRegistry } from '../../agents/registry.ts';
import type { Clock } from '../../base/clock.ts';
import { defined } from '../../base/defined.ts';
import { nearestName } from '../../base/nearest.ts';
import type { Capabilities } from '../../process/capabilities.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Job } from '../../protocol/jobs.ts';
import type { Caller, OperationRequest } from '../../protocol/operations.ts';
import type { WorkflowManifest } from '../../protocol/workflow.ts';
import type { ReefBlock } from '../../runtime/config/reef-block.ts';
import type { Store } from '../../store/store.ts';
import { knownAgents } from '../manifest/check-block.ts';
import { runnableManifest } from '../manifest/check-manifest.ts';
import { findGateCommands } from '../project/gate-commands.ts';
import type { Project } from '../project/project.ts';
import { DEFAULT_SHIPPED, SHIPPED, type ShippedName, shippedWorkflow } from '../shipped/shipped.ts';
import type { RunSpec } from './spec.ts';

interface RunPlannerDeps {
  store: Store;
  clock: Clock;
  registry: AdapterRegistry;
  capabilities: Capabilities;
  project: Project;
  settings(): Pick<ReefBlock, 'gates' | 'sandbox' | 'fallback_agents'>;
}

/** Turns a request into a spec. A run that is refused here has left no trace. */
export class RunPlanner {
  readonly #deps: RunPlannerDeps;

  constructor(deps: RunPlannerDeps) {
    this.#deps = deps;
  }

  async plan(request: OperationRequest<'run'>, caller: Caller): Promise<RunSpec> {
    const { clock, project, registry, capabilities } = this.#deps;
    const { manifest, node } = await this.#manifest(request.workflow);
    const { task, agent, model, plan, base, priority, anyway, accept, autoResume, budget, yes, unsafe } = request;
    const parent = this.#parentOf(request, caller);
    const fallbacks = request.fallbacks ?? this.#deps.settings().fallback_agents;
    for (const each of fallbacks) registry.get(each);
    const described = agent === undefined ? undefined : registry.get(agent).adapter.describe();
    chooseSandbox(request, parent, { ...capabilities, mode: this.#deps.settings().sandbox.mode, agent: described });
    const gates = await findGateCommands({
      workers: manifest.workers,
      configured: { ...this.#deps.settings().gates, ...(await project.gates()) },
      readProject: project.readGateFile,
    });
    return {
      ...{ task, node, manifest, gates, plan, anyway, accept, autoResume, budget, stepping: request.step },
      ...(fallbacks.length > 0 && { fallbacks }),
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model }),
      ...(base !== undefined && { base }),
      ...(priority !== undefined && { priority }),
      leave: {
        yes,
        unsafe,
        ...defined({ sandbox: parent?.sandbox === 'bubblewrap' || request.sandbox }),
        ...(parent && { parentId: parent.id }),
        ...chooseDepth(request.maxDepth, parent),
      },
      createdAt: clock.now().toISOString(),
      by: caller.by,
    };
  }

  #parentOf(
    { agent, fallbacks = [], yes, accept, sandbox }: OperationRequest<'run'>,
    { jobId }: Caller,
  ): Job | undefined {
    if (jobId === undefined) return undefined;
    const { store, registry } = this.#deps;
    const { job: parent } = store.jobs.get(jobId) ?? {};
    if (!parent) throw new ReefError('job_not_found', `there is no job "${jobId}"`);
    if (accept) throw new ReefError('not_yours', 'people merge: leave "accept" out');
    for (const each of [agent, ...fallbacks]) refuseEscape(registry, parent, { agent: each, yes, sandbox });
    refuseDepth(parent);
    return parent;
  }

  /** A node of the repository's own file, or a workflow that ships with Reef. */
  async #manifest(named: string | undefined) {
    const agents = knownAgents(this.#deps.registry.names());
    const shipped = SHIPPED.find((name) => name === named);
    const own = shipped ? undefined : await this.#deps.project.manifest();
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

/** The node that a run begins with; undefined means the shipped workflow. */
export function chooseStart(manifest: WorkflowManifest | undefined, named?: string): string | undefined {
  const nodes = Object.keys(manifest?.nodes ?? {});
  if (named === undefined) return manifest?.start ?? (nodes.length === 1 ? nodes[0] : undefined);
  if (nodes.includes(named)) return named;
  const near = nearestName(named, nodes);
  const hint = near === undefined ? `There are: ${nodes.join(', ') || 'none'}.` : `Did you mean "${near}"?`;
  throw new ReefError('wf_target', `There is no node "${named}". ${hint}`, { details: { nodes } });
}
