import { cutToTokens } from '../repostate/prompt/caps.ts';
import type { CoderDeps } from './coder-deps.ts';

/** A job never waits longer for its index: a cold one of a large repository takes minutes. */
const LOOK_MS = 5_000;
const LONGEST_QUESTION = 20_000;
/** For the headings around the pieces, which the index does not count. */
const OF_THE_BUDGET = 0.85;
const LEAST_ASKED = 500;

const HEADING =
  'Code that the index finds for the task, as it was before your first change (read a file before you edit it):';
const NOTHING = 'The code index was not ready for a first look at the task. Ask it with code_search and get_symbol.';

interface Looked {
  task: string;
  tokens: number;
}

/** The code that the index ranks first for a task, within so many tokens. Says so when there is none in time; never rejects. */
export async function firstLook(
  {
    askCode,
    clock,
    counter,
    artifacts,
    jobId,
  }: Pick<CoderDeps, 'askCode' | 'clock' | 'counter' | 'artifacts' | 'jobId'>,
  { task, tokens }: Looked,
  signal: AbortSignal,
): Promise<string> {
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  const question = task.slice(0, LONGEST_QUESTION);
  const budget_tokens = Math.max(LEAST_ASKED, Math.floor(tokens * OF_THE_BUDGET));
  const late = clock.sleep(LOOK_MS, within).catch(() => undefined);
  const asked = askCode('explore_code', { question, budget_tokens }, within).catch(() => undefined);
  const found = await Promise.race([asked, late]);
  over.abort();
  if (typeof found !== 'string') return NOTHING;
  const whole = `${HEADING}\n${found}`;
  const { text, id } = cutToTokens(counter, whole, { tokens });
  if (id !== undefined) await artifacts.put(whole, { jobId });
  return text;
}
