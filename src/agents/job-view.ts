import type { AgentEvent } from '../protocol/events.ts';
import type { JobView } from '../protocol/job-operations.ts';
import type { JobRecord } from '../store/job-table.ts';
import type { Store } from '../store/store.ts';
import { goesOnAt } from './goes-on.ts';
import type { JobRuntime } from './job-runtime.ts';
import { isLive } from './job-status.ts';
import { usageSoFar } from './usage.ts';

const LAST_OUTPUT = 400;
const LOOK_BACK = 8;

/** What the manager knows of the process right now, if there is one. */
export interface Liveness {
  silentMs: number;
  isEnding: boolean;
  stalledAfterMs: number;
}

/** A job as it is shown: what is stored, and what follows from it. */
export function viewJob(store: Store, record: JobRecord<JobRuntime>, liveness?: Liveness): JobView {
  const { job, runtime } = record;
  const questions = isLive(job.status) ? store.questions.unclosedOf(job.id).filter((row) => row.state === 'open') : [];
  const tail = store.events.tail(job.id, LOOK_BACK);
  const time = goesOnAt(job);
  const goesOn = time && store.blocks.get(job.id) ? undefined : time;
  return {
    ...job,
    ...(goesOn && { goesOnAt: goesOn.toISOString() }),
    usage: usageSoFar(record),
    awaiting_input: job.status === 'awaiting_input',
    activity: activityOf(tail.at(-1), record, liveness),
    questions: questions.map((row) => row.question),
    lastOutput: lastLine(tail) ?? runtime.lastText.slice(-LAST_OUTPUT),
  };
}

function activityOf(
  last: AgentEvent | undefined,
  { job, runtime }: JobRecord<JobRuntime>,
  liveness?: Liveness,
): JobView['activity'] {
  if (job.status === 'queued') return 'queued';
  if (!isLive(job.status)) return 'ended';
  if (liveness?.isEnding) return 'ending';
  if (job.status === 'awaiting_input') return 'waiting';
  if (job.status === 'paused') return 'idle';
  if (!runtime.wasHeard) return 'starting';
  if (liveness && liveness.silentMs > liveness.stalledAfterMs) return 'stalled';
  return last?.type === 'progress' && last.payload.kind === 'retry' ? 'retrying' : 'working';
}

/** The newest text, tool, error or end. Events are redacted already. */
function lastLine(events: AgentEvent[]): string | undefined {
  for (const event of events.toReversed()) {
    const text = lineOf(event);
    if (text !== undefined && text.trim() !== '') return text.slice(0, LAST_OUTPUT);
  }
  return undefined;
}

function lineOf(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'progress':
      return 'text' in event.payload && event.payload.kind !== 'raw' ? event.payload.text : undefined;
    case 'tool_call':
      return event.payload.title;
    case 'error':
      return event.payload.message;
    case 'needs_input':
      return event.payload.question;
    case 'completed':
      return event.payload.result;
    case 'file_edit':
      return `${event.payload.kind} ${event.payload.path}`;
    default:
      return undefined;
  }
}
