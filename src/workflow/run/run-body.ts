import { ReefError } from '../../protocol/errors.ts';
import type { GateView, Halt, Json } from '../../protocol/workflow.ts';
import type { Body } from '../durable/durable.ts';
import type { DurableEngine } from '../durable/durable-engine.ts';
import { accountIn, Ledger } from '../walk/amounts.ts';
import type { Answer, BranchEnd, VisitOrder, VisitOutcome } from '../walk/outcomes.ts';
import { VisitLog } from '../walk/visit-log.ts';
import { Walk } from '../walk/walk.ts';
import {
  BRANCH_BODY,
  type BranchInput,
  type BranchRun,
  blockAt,
  mainBranch,
  type RunInput,
  WORKFLOW_BODY,
} from './branch-run.ts';
import { fork } from './fork.ts';
import type { WorkflowPorts } from './ports.ts';
import { visitAgent } from './visit-agent.ts';
import { visitInternal } from './visit-internal.ts';

/** Raised whenever a recorded run would take another way. */
export const INTERPRETER = 1;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 300_000;

/** Defines the workflow bodies in a durable engine. */
export function defineWorkflows(engine: DurableEngine, ports: WorkflowPorts): void {
  const ledger = new Ledger();
  const options = { version: INTERPRETER };
  engine.define(WORKFLOW_BODY, mainBody(ports, ledger), options);
  engine.define(BRANCH_BODY, branchBody(ports, ledger), options);
}

function mainBody(ports: WorkflowPorts, ledger: Ledger): Body {
  return async (durable, input) => {
    const run = input as unknown as RunInput;
    const treeNow = async () => (await ports.captures.treeId(run.worktree.path)) ?? null;
    const tree = await durable.step('begin', null, treeNow);
    try {
      const branch = { run, worktree: run.worktree, start: mainBranch(run, tree) };
      const { outcome, signal, tree: last } = await walkBranch({ ports, ledger, durable, input: branch });
      return { outcome, signal, tree: last };
    } finally {
      ledger.forget(run.runId);
    }
  };
}

function branchBody(ports: WorkflowPorts, ledger: Ledger): Body {
  return async (durable, input) =>
    (await walkBranch({ ports, ledger, durable, input: input as unknown as BranchInput })) as unknown as Json;
}

/** The loop: do what the walk says and tell it the outcome. All it learns comes from the journal. */
async function walkBranch(deps: Omit<BranchRun, 'walk' | 'forks'>): Promise<BranchEnd> {
  const { run, start } = deps.input;
  const { blobs } = deps.ports;
  const verdicts: GateView[] = [];
  const log = new VisitLog(run.manifest, (verdict) => verdicts.push(verdict));
  const walk = new Walk({ manifest: run.manifest, blobs, autoResume: run.autoResume }, start, log);
  const at: BranchRun = { ...deps, walk, forks: new Map() };
  for (;;) {
    await keepVerdicts(deps.ports, run.runId, verdicts);
    const { command } = walk;
    switch (command.do) {
      case 'end':
        return command.end;
      case 'visit': {
        const outcome = await visit(at, command.order);
        if (outcome.spent) deps.ledger.enter(run.runId, accountIn(command.order, outcome), outcome.spent);
        walk.takeVisit(outcome);
        break;
      }
      case 'ask':
        walk.takeAnswer(await ask(at, command.halt, command.until));
        break;
      case 'fork':
        walk.takeJoin(await fork(at, command.order));
        break;
    }
  }
}

/** Waits while the store cannot write, as the journal does. */
async function keepVerdicts(ports: WorkflowPorts, runId: string, verdicts: GateView[]): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; verdicts.length > 0; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      ports.keepVerdicts(runId, verdicts);
      verdicts.length = 0;
    } catch (error) {
      if (!(error instanceof ReefError && error.retryable)) throw error;
      await ports.clock.sleep(pause);
    }
  }
}

function visit(at: BranchRun, order: VisitOrder): Promise<VisitOutcome> {
  const block = blockAt(at, order);
  return block.worker.kind === 'agent' ? visitAgent(at, order, block) : visitInternal(at, order, block);
}

async function ask({ durable }: BranchRun, halt: Halt, until?: string): Promise<Answer | undefined> {
  const options = { ...(until !== undefined && { until }), compared: aboutOf };
  return (await durable.waitFor(halt.key, halt as Json, options)) as Answer | undefined;
}

/** What is asked, and where: an answer means the same as long as these do. */
function aboutOf(halt: Json): Json {
  const { reason, block, visit, branch } = halt as Halt;
  return { reason, block, visit, branch };
}
