import { setTimeout as sleep } from 'node:timers/promises';
import { errorBody } from '../../src/surfaces/client/request.ts';
import { byBlock, done, type RunsRig, writes } from '../e2e/runs-rig.ts';
import { stubbornly } from '../e2e/stubbornly.ts';
import { fixture } from '../support/programs.ts';

/** What people and agents do all day, with the end that each task must come to. */

const LINES = Array.from({ length: 20 }, (_, n) => `line ${n + 1}`);
const TALK = LINES.flatMap((say) => [{ say }, { sleep: 50 }]);
/** In the background and with nothing of the agent's in its hands, as job-trees plants them. */
const TREE = `said=$(mktemp); sh ${fixture('tree.sh')} "$0" </dev/null >$said 2>&1 &
  until grep -q ready $said; do sleep 0.05; done; rm $said`;

const agents = {
  talk: TALK,
  ask: [{ ask: { question: 'Which one?', options: ['this', 'that'] } }, ...TALK],
  permit: [{ permit: { tool: 'deploy', input: {}, steps: [{ say: 'deployed' }] } }, ...TALK],
  fail: [...TALK, { exit: 7 }],
  crash: [...TALK, { crash: 'SIGKILL' }],
  tree: [{ shell: ['sh', '-c', TREE, '000000000000777'] }, { say: 'planted' }, { sleep: 600_000 }],
};
type JobKind = keyof typeof agents;
export type Kind = JobKind | 'run' | 'mended run';

/** Twenty in a minute, in this order. */
export const MINUTE: readonly Kind[] = [
  ...(['talk', 'run', 'ask', 'talk', 'tree', 'talk', 'fail', 'talk', 'talk', 'permit'] as const),
  ...(['talk', 'mended run', 'talk', 'ask', 'talk', 'tree', 'crash', 'talk', 'run', 'talk'] as const),
];

/** How each ends, less the id; a run ends merged. */
const ENDS: Record<Kind, string> = {
  ...{ talk: 'completed', ask: 'completed', permit: 'completed', fail: 'error', crash: 'error', tree: 'killed' },
  ...{ run: 'success merged', 'mended run': 'success merged' },
};

export const PROJECT = {
  'package.json': '{"type":"module","scripts":{"test":"sh check.sh"}}\n',
  'check.sh': 'if grep -r broken work; then exit 1; fi\n',
  'work/first.txt': 'fine\n',
};

export interface Task {
  n: number;
  kind: Kind;
  id: string;
}

/** Starts tasks, answers what they ask and kills those that are to be killed, through whatever befalls the daemon. */
export class Tasks {
  readonly started: Task[] = [];
  /** Calls that a person would have had to repeat. */
  readonly refused: string[] = [];
  readonly #rig: RunsRig;
  readonly #agents: Record<JobKind, string>;

  constructor(rig: RunsRig) {
    this.#rig = rig;
    const script = (kind: JobKind) => [kind, rig.world.script(kind, agents[kind])];
    this.#agents = Object.fromEntries((Object.keys(agents) as JobKind[]).map(script)) as Record<JobKind, string>;
  }

  /** By key: a daemon killed while it takes an order is asked again. */
  async start(n: number): Promise<void> {
    const kind = MINUTE[n % MINUTE.length] ?? 'talk';
    const key = `task-${n}`;
    const { client } = this.#rig.world;
    if (kind === 'run' || kind === 'mended run') {
      const order = { task: key, agent: this.#writer(n, kind), plan: [`work/${n}.txt`], workflow: 'test-fix' };
      const { runId } = await stubbornly(() => client.call('run', { ...order, base: 'main', accept: true, key }));
      this.started.push({ n, kind, id: runId });
    } else {
      const { agentId } = await stubbornly(() => client.call('spawn', { agent: this.#agents[kind], task: key, key }));
      this.started.push({ n, kind, id: agentId });
    }
  }

  #writer(n: number, kind: Kind): string {
    const file = (text: string) => [writes(`work/${n}.txt`, `${text}\n`), done('Written.')];
    const first = kind === 'mended run' ? 'broken' : 'fine';
    const { world } = this.#rig;
    return world.script(`writer-${n % 100}`, byBlock({ GenerateCode: file(first), FixCode: file('mended') }));
  }

  /** Until it is told to stop: what a person at the inbox would do. */
  async attend(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look().catch((error) => this.refused.push(String(error)));
      await sleep(500);
    }
  }

  async #look(): Promise<void> {
    const { client } = this.#rig.world;
    const { questions } = await stubbornly(() => client.call('inbox', {}));
    for (const { jobId: id, questionId, kind, fingerprint } of questions) {
      const said = kind === 'permission' ? { decision: 'allow_once' as const, fingerprint } : { option: [1] };
      // Somebody else may have been first: an answer that a killed daemon took before it could say so.
      await client.call('send', { id, questionId, key: `${id} ${questionId}`, ...said }).catch(() => undefined);
    }
    const { jobs } = await stubbornly(() => client.call('status', {}));
    const planted = jobs.filter(({ status, lastOutput }) => status === 'running' && lastOutput.includes('planted'));
    for (const { id } of planted) {
      await stubbornly(() => client.call('kill', { id })).catch((error: unknown) => {
        // On a machine without time to spare the tree ends later, and nobody need do anything.
        if (errorBody(error).error.code !== 'still_ending') throw error;
      });
    }
  }

  /** Those that have not come to the end they should; empty when all is well. */
  async wrong(): Promise<string[]> {
    const seen: string[] = [];
    for (const { n, kind, id } of this.started) {
      const end = await this.#endOf(kind, id);
      if (end !== ENDS[kind]) seen.push(`task ${n}, ${kind} ${id}: ${end}`);
    }
    return seen;
  }

  async #endOf(kind: Kind, id: string): Promise<string> {
    const { client } = this.#rig.world;
    if (kind === 'run' || kind === 'mended run') {
      const { runs } = await stubbornly(() => client.call('run_status', { id }));
      return `${runs[0]?.status} ${runs[0]?.merge}`;
    }
    const { jobs } = await stubbornly(() => client.call('status', { id }));
    return `${jobs[0]?.status}`;
  }
}
