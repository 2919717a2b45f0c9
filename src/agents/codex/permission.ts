import type { Answer } from '../adapter.ts';

const ALLOWING: readonly string[] = ['allow_once', 'allow_session', 'allow_always'];

/**
 * Whether Codex hears a yes. Any word that is not exactly an allowance is a no. What is allowed for longer than
 * once lives in Reef: the wire gets a single yes.
 */
export function isAllowed(answer: Answer | undefined): boolean {
  return answer?.kind === 'permission' && ALLOWING.includes(answer.decision);
}
