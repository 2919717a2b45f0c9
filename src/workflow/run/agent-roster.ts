import { capText } from '../../base/cap.ts';
import type { RunEvent } from '../../protocol/workflow.ts';
import type { VisitOrder } from '../walk/outcomes.ts';
import type { BlockAt, BranchRun } from './branch-run.ts';
import type { JobEnd } from './ports.ts';
import type { Tried } from './visit-step.ts';

/** An agent that may do a block. */
export interface Candidate {
  agent: string;
  /** Names of models mean something to one agent only. */
  model?: string;
}

/** Why an agent stopped that another one can take over from. */
export interface Stopped {
  agent: string;
  code: string;
  message: string;
}

/** Who does the block, and who takes over in which order. An agent that the block names is meant: only its own roster takes over. */
export function agentsFor({ ports, input }: BranchRun, { roster, worker }: BlockAt): [Candidate, ...Candidate[]] {
  const { run } = input;
  const named = roster.agents ?? (roster.agent === undefined ? undefined : [roster.agent]);
  const own = named ?? (ports.isAgent(worker.name) ? [worker.name] : undefined);
  const [first = ports.defaultAgent(), ...others] = own ?? [
    run.agent ?? ports.defaultAgent(),
    ...(run.fallbacks ?? []),
  ];
  const model = roster.model ?? (own === undefined ? run.model : undefined);
  const next = [...new Set(others)].filter((agent) => agent !== first);
  return [{ agent: first, ...(model !== undefined && { model }) }, ...next.map((agent) => ({ agent }))];
}

const NOT_USABLE: ReadonlySet<string> = new Set(['agent_not_logged_in', 'agent_not_installed', 'agent_too_old']);

/** A limit, an outage, a missing log-in or a missing program; undefined for everything that another agent would meet as well. */
export function whyAnother(worked: Tried<{ end: JobEnd }>): Omit<Stopped, 'agent'> | undefined {
  if ('crash' in worked) {
    const { code = '', message } = worked.crash;
    return NOT_USABLE.has(code) ? { code, message } : undefined;
  }
  const { end } = worked.ok;
  if (end.how === 'rate_limit') return { code: 'rate_limit', message: end.message };
  if (end.how !== 'error') return undefined;
  const isOutage = end.code === 'agent_error' && end.retryable === true;
  return isOutage || NOT_USABLE.has(end.code) ? { code: end.code, message: end.message } : undefined;
}

const MESSAGE_BYTES = 300;
/** Tokens of a hand-over, at most. */
export const HAND_OVER_TOKENS = 200;

/** What the next agent is told before its prompt. The state of the files is in the prompt itself. */
export function handOver(before: readonly Stopped[]): string {
  const last = before.at(-1);
  if (!last) return '';
  const why = capText(last.message, MESSAGE_BYTES);
  return `Another agent (${last.agent}) has worked on this and had to stop: ${why}\nWhat it has done is in the files. Look at them first and go on from there.\n\n`;
}

export function changeOfAgent(
  at: BranchRun,
  { block, visit }: VisitOrder,
  stopped: Stopped,
  next: Candidate,
): RunEvent {
  const where = { block, visit, branch: at.walk.branch, at: at.ports.clock.now().toISOString() };
  const message = `${stopped.agent} stopped (${stopped.message}); ${next.agent} goes on`;
  return { type: 'agent_changed', ...where, slice: '', code: stopped.code, message };
}
