import type { InboxEntry } from '../../../protocol/job-operations.ts';
import type { HaltVerb } from '../../../protocol/workflow.ts';
import type { Client } from '../../client/client.ts';
import { type Answer, answerOf, howTo } from '../prompt/answer-of.ts';
import type { TaskItem } from './board.ts';

/** Each resolves with what to say about it. */

export async function answer(client: Client, asked: InboxEntry, given: Answer & { reason?: string }): Promise<string> {
  const { jobId: id, questionId, fingerprint } = asked;
  const sent = await client.call('send', { id, questionId, fingerprint, ...given });
  return sent.delivered ? 'The agent has received it.' : 'Sent, but the agent has not confirmed it yet.';
}

/** Of a question that was cut, once it was read whole. */
export async function answerWhole(client: Client, asked: InboxEntry, given: Answer): Promise<string> {
  if (!asked.cut) return answer(client, asked, given);
  const { questions } = await client.call('inbox', { whole: asked.fingerprint });
  const [whole] = questions;
  return whole ? answer(client, whole, given) : 'Nobody asks this any more.';
}

/** What was typed, as an answer of this question. */
export function answerTyped(client: Client, asked: InboxEntry, typed: string): Promise<string> {
  if (asked.kind === 'permission') return answer(client, asked, { decision: 'deny', reason: typed });
  const given = answerOf(asked, typed);
  return given ? answer(client, asked, given) : Promise.resolve(howTo(asked));
}

/** What a halted run is told to do: one of the options that it lists. */
export async function control(client: Client, id: string, verb: HaltVerb, guidance: string): Promise<string> {
  const run = await client.call('run_control', { id, verb, ...(guidance !== '' && { guidance }) });
  return `The run is ${run.status}${run.because ? `: ${run.because}` : ''}`;
}

export async function merge(client: Client, id: string): Promise<string> {
  const { status, commit, waiting } = await client.call('accept', { id });
  return status === 'merged'
    ? `merged as ${commit.slice(0, 12)}`
    : `not yet: ${waiting?.checkout ?? 'the checkout'} has uncommitted changes`;
}

export async function end(client: Client, id: string): Promise<string> {
  const { agentId, status } = await client.call('kill', { id });
  return `${agentId} ${status}`;
}

/** A word to the agent: now, or to begin its next turn with. */
export async function talk(client: Client, { id, run, job, state }: TaskItem, text: string): Promise<string> {
  if (state === 'job_working' || state === 'asking' || state === 'working') {
    const sent = await client.call('send', { id, text });
    return sent.delivered ? 'The agent has received it.' : 'Sent, but the agent has not confirmed it yet.';
  }
  if (run) {
    const verb = run.status === 'halted' ? 'resume' : 'continue';
    const next = await client.call('run_control', { id, verb, guidance: text });
    return `run ${next.runId} ${next.status}`;
  }
  const resumed = await client.call('resume', { id: job?.id ?? id, text });
  return `${resumed.agentId} ${resumed.status}`;
}
