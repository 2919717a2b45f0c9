import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import { defineTool } from '../../runtime/tools/define-tool.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import type { CoderDeps } from '../coder-deps.ts';
import type { Ran } from './command.ts';
import { answerText } from './talk.ts';

const MOST_REFUSALS = 3;
const CHECK_S = 600;
const CONFLICT = /^(<{7} |={7}$|>{7} )/m;

interface DoneDeps extends Pick<CoderDeps, 'tracker' | 'dir' | 'checks'> {
  run(command: string, how: { timeoutS: number; signal: AbortSignal }): Promise<Ran>;
}

/** The only way to finish. Reef itself runs the checks; the agent does not decide whether they passed. */
export function doneTool(deps: DoneDeps): Tool {
  let refusals = 0;
  return defineTool({
    name: 'done',
    description: 'Finish. Taken when todos are closed, required checks are green and no conflict marker is left.',
    effect: 'read',
    arguments: z.strictObject({ summary: z.string().min(1).max(20_000) }),
    run: async ({ summary }, { ask, signal }) => {
      const missing = await whatIsMissing(deps, signal);
      if (missing.length === 0) return summary;
      refusals += 1;
      if (refusals >= MOST_REFUSALS && (await mayFinish(missing, ask, signal))) return summary;
      throw new ReefError('not_done', `Not done yet: ${missing.join('; ')}.`, { details: { missing } });
    },
  });
}

async function mayFinish(missing: string[], ask: CoderDeps['ask'], signal: AbortSignal): Promise<boolean> {
  const question = `The agent wants to finish, but: ${missing.join('; ')}. What now?`;
  const said = answerText(await ask({ kind: 'choice', question, options: ['continue', 'finish', 'stop'] }, signal));
  if (said === 'stop') throw new ReefError('cancelled', 'A person stopped the agent');
  return said === 'finish';
}

async function whatIsMissing({ tracker, dir, checks, run }: DoneDeps, signal: AbortSignal): Promise<string[]> {
  await tracker.refresh('asked');
  const open = tracker.getSnapshot().openTasks.filter(({ status }) => status !== 'completed');
  const todos = open.map(({ id, description }) => `todo ${id} is open (${description})`);
  const red: string[] = [];
  for (const [name, command] of Object.entries(checks)) {
    if (!isGreen(tracker, name)) await run(command, { timeoutS: CHECK_S, signal });
    if (!isGreen(tracker, name)) red.push(`the check ${name} fails (${command})`);
  }
  return [...todos, ...red, ...(await conflictsIn(tracker, dir))];
}

function isGreen(tracker: CoderDeps['tracker'], name: string): boolean {
  const { checks, fingerprint } = tracker.getSnapshot();
  return checks.some((check) => check.name === name && check.ok && check.fingerprint === fingerprint);
}

async function conflictsIn(tracker: CoderDeps['tracker'], dir: CoderDeps['dir']): Promise<string[]> {
  const changed = tracker.getSnapshot().files.filter(({ status }) => status === 'created' || status === 'modified');
  const found: string[] = [];
  for (const { path } of changed) {
    const text = await dir.read(path).then(
      (data) => data.toString('utf8'),
      () => '',
    );
    if (CONFLICT.test(text)) found.push(`${path} has conflict markers`);
  }
  return found;
}
