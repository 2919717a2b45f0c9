import { randomUUID } from 'node:crypto';
import { CODER } from '../../agents/native-agents.ts';
import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import { isOver } from '../../protocol/is-over.ts';
import type { JobStatus } from '../../protocol/jobs.ts';
import type { OperationOutput } from '../../protocol/operations.ts';
import { isWorkflow } from '../../runtime/agent-spec/spec.ts';
import type { InboxMessage } from '../../runtime/state/scope.ts';
import type { Escalations } from '../../runtime/team/escalation.ts';
import type { Escalation, JobEnd, JobPort } from '../../runtime/team/job-port.ts';
import type { Client } from '../client/client.ts';
import { childRuns } from './child-runs.ts';
import { type Call, patient } from './patient-call.ts';

export interface ChildJobsDeps {
  /** The parent's job. */
  jobId: string;
  client: Client;
  clock: Clock;
  escalations: Escalations;
  /** The agents of this process. `deliver` is false for an agent of another one. */
  tree: { deliver(message: InboxMessage, to: { id: string; isComing: boolean }): boolean };
}

const ATTEND_MS = 300;
const FOLLOW_MS = 20_000;
/** Between two reads of a child that writes without pause. */
const BREATH_MS = 100;

/** Starts and follows the children of one agent as jobs of the daemon, through that agent's own job socket. */
export function childJobs({ jobId, client, clock, escalations, tree }: ChildJobsDeps): JobPort {
  const coming = new Set<string>();
  const call = patient(client, clock);
  const runs = childRuns(call, clock);
  return {
    async spawn({ plan, ...child }) {
      if (isWorkflow(child.agent)) return runs.start({ plan, ...child });
      const { agent } = child;
      const { agentId } = await call('spawn', { ...child, key: randomUUID() });
      // The coder always has a process of its own.
      if (agent.startsWith('native:') && agent !== CODER) coming.add(agentId);
      return agentId;
    },
    ended: (id, signal) => (runs.has(id) ? runs.ended(id, signal) : follow(call, id, { signal, clock })),
    async look(id) {
      if (runs.has(id)) return runs.look(id);
      const [job] = (await call('status', { id })).jobs;
      return { status: job?.status ?? 'unknown', last_output: job?.lastOutput ?? '' };
    },
    async attend(id, signal) {
      if (runs.has(id)) await runs.attend(id, { waitMs: ATTEND_MS, signal });
      else {
        const { because } = await call('wait', { ids: [id], until: ['done'], timeoutMs: ATTEND_MS }, signal);
        if (because !== undefined) await clock.sleep(ATTEND_MS, signal);
      }
      const { questions } = await call('inbox', {}, signal);
      return questions.filter(({ path, runId }) => path.includes(id) || runId === id).map(toEscalation);
    },
    async reply(name, reply) {
      const asked = escalations.find(name, jobId);
      if (!asked) throw new ReefError('not_yours', `${name} is not open, or only the person may answer it`);
      escalations.reply(asked.id, reply, `job:${jobId}`);
    },
    async send(id, message) {
      if (runs.has(id)) throw new ReefError('send_unsupported', `${id} is a run and reads no messages`);
      const isHere = tree.deliver(message, { id, isComing: coming.has(id) });
      if (!isHere) await call('send', { id, text: message.text });
    },
    kill: async (id) => void (await call('kill', { id })),
  };
}

/** Reads a job's events to the end. The last result is its output. */
async function follow(call: Call, id: string, how: { signal: AbortSignal; clock: Clock }): Promise<JobEnd> {
  let since = '0';
  let left = { output: '', exit_status: '' };
  for (;;) {
    const page = await call('output', { id, since, limit: 1000, waitMs: FOLLOW_MS }, how.signal);
    since = page.nextCursor;
    left = page.events.reduce(leftBy, left);
    if (page.truncated) continue;
    if (isOver(page.status)) return toEnd(page.status, left);
    await how.clock.sleep(BREATH_MS, how.signal);
  }
}

type Left = Pick<JobEnd, 'output' | 'exit_status'>;

function leftBy(before: Left, { type, payload }: OperationOutput<'output'>['events'][number]): Left {
  if (type !== 'completed' && type !== 'error') return before;
  const { result } = payload;
  const output = typeof result === 'string' && result !== '' ? result : before.output;
  return { output, exit_status: exitOf(payload) ?? before.exit_status };
}

function exitOf(payload: Record<string, unknown>): string | undefined {
  const { code, message, signal, exitCode, outcome } = payload;
  if (typeof code === 'string') return `${code}: ${String(message)}`;
  if (typeof signal === 'string') return signal;
  if (typeof exitCode === 'number') return String(exitCode);
  return typeof outcome === 'string' ? outcome : undefined;
}

function toEnd(status: JobStatus, left: Left): JobEnd {
  if (status === 'killed') return { ...left, status: 'cancelled', exit_status: 'killed' };
  // The daemon ends the process of a completed job, so its exit code says nothing.
  return status === 'completed' ? { ...left, status, exit_status: '0' } : { ...left, status: 'failed' };
}

type Asked = OperationOutput<'inbox'>['questions'][number];

function toEscalation({ jobId, requestId, agent, path, kind, question, options }: Asked): Escalation {
  const id = `${jobId}:${nameOf(requestId)}`;
  return { id, job_id: jobId, agent, path, kind, question, ...(options && { options }) };
}

/** The daemon stores the id of a request as JSON. */
function nameOf(requestId: string): string {
  try {
    return String(JSON.parse(requestId));
  } catch {
    return requestId;
  }
}
