import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { RunSummary } from '../../protocol/run-operations.ts';
import type { LogEntry, RunView } from '../../protocol/workflow.ts';
import type { JobEnd, JobPort } from '../../runtime/team/job-port.ts';
import type { Call } from './patient-call.ts';

type Child = Parameters<JobPort['spawn']>[0];

/** Between two looks at a run. */
const LOOK_MS = 1_000;
const ENDS: Partial<Record<RunSummary['status'], JobEnd['status']>> = {
  success: 'completed',
  failure: 'failed',
  broken: 'failed',
  aborted: 'cancelled',
};

/** The runs that an agent started as children. The agents of their blocks are jobs below it. */
export function childRuns(call: Call, clock: Clock) {
  const started = new Set<string>();
  const see = async (id: string, how: { waitMs?: number; signal?: AbortSignal } = {}) => {
    const { runs, view } = await call('run_status', { id, waitMs: how.waitMs, until: 'done' }, how.signal);
    const [run] = runs;
    if (!run) throw new Error(`no run ${id}`);
    return { run, view };
  };
  return {
    has: (id: string) => started.has(id),

    async start({ agent, task, plan = [], maxDepth }: Child): Promise<string> {
      const workflow = agent.replace(/^workflow:?/, '');
      const spec = { task, plan: [...plan], maxDepth, key: randomUUID(), ...(workflow !== '' && { workflow }) };
      const { runId } = await call('run', spec);
      started.add(runId);
      return runId;
    },

    /** Polls, because waiting in the daemon would free the parent's slot. Only `attend` does that. */
    async ended(id: string, signal: AbortSignal): Promise<JobEnd> {
      for (;;) {
        const { run, view } = await see(id, { signal });
        const status = ENDS[run.status];
        if (status) return { status, exit_status: run.status, output: account(run, view) };
        await clock.sleep(LOOK_MS, signal);
      }
    },

    async look(id: string): Promise<Awaited<ReturnType<JobPort['look']>>> {
      const { run, view } = await see(id);
      return { status: run.status, last_output: account(run, view) };
    },

    async attend(id: string, how: { waitMs: number; signal: AbortSignal }): Promise<void> {
      await see(id, how);
    },
  };
}

/** A run as its parent sees it: its worktree, and the result of each visit. */
function account({ runId, worktree, status, because }: RunSummary, view: RunView | null): string {
  const visits = Object.values(view?.executionLog ?? {}).filter(({ endedAt }) => endedAt !== undefined);
  const head = `Run ${runId} (${status}) in worktree ${worktree || 'none yet'}; people merge it.`;
  return [head, ...(because === undefined ? [] : [because]), ...visits.map(lineOf)].join('\n');
}

function lineOf({ block, visit, signal, segments }: LogEntry): string {
  const said = segments.filter(({ type }) => type === 'AGENT_OUTPUT').map(({ head, tail = '' }) => head + tail);
  return [`${block}#${visit} ${signal ?? ''}`.trimEnd(), ...said].join(': ');
}
