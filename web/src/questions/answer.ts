import type { Decision } from '../../../src/protocol/jobs.ts';
import { op, Refusal } from '../connection/op.ts';
import { type AskedCard, change, who } from './asked.ts';

export type Given = { decision: Decision; reason?: string } | { option: string[]; text?: string } | { text: string };

const DECIDED: Record<Decision, string> = {
  allow_once: 'You allowed it once',
  allow_session: 'You allowed it for this session',
  allow_always: 'You allowed it always',
  deny: 'You denied it',
};

function words(given: Given, isSecret: boolean): string {
  if ('decision' in given) return DECIDED[given.decision];
  const said = 'option' in given ? [given.option.join(', '), given.text].filter(Boolean).join(': ') : given.text;
  return isSecret ? 'You answered' : `You answered: ${said}`;
}

/** Sends the answer to exactly this question as it was shown. Throws what the person has to know. */
export async function answer({ key, entry }: AskedCard, given: Given): Promise<void> {
  const outcome = words(given, entry.secret);
  change(key, { state: 'sending', outcome });
  const { jobId, questionId, fingerprint } = entry;
  try {
    const sent = await op('send', { id: jobId, questionId, fingerprint, ...given });
    change(key, { state: sent.delivered ? 'closed' : 'sent', outcome });
  } catch (error) {
    const late = error instanceof Refusal ? lateOutcome(error) : undefined;
    change(key, late === undefined ? { state: 'open' } : { state: 'closed', outcome: late });
    if (late === undefined) throw error;
  }
}

/** Somebody was faster, or nobody waits any more. */
function lateOutcome({ code, message, details }: Refusal): string | undefined {
  if (code === 'already_answered' && typeof details.by === 'string') {
    const given = (details.answer ?? {}) as { decision?: string; labels?: string[]; text?: string };
    const said = given.decision?.replace('_', ' ') ?? given.labels?.join(', ') ?? given.text;
    return `Answered by ${who(details.by)}${said ? `: ${said}` : ''}`;
  }
  const isOver = ['already_answered', 'question_withdrawn', 'question_not_found', 'job_ended', 'run_not_halted'];
  return isOver.includes(code) ? message : undefined;
}
