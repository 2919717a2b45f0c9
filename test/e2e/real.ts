import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentEvent, EventOf, EventType, Progress } from '../../src/protocol/events.ts';
import type { JobView } from '../../src/protocol/job-operations.ts';
import type { Decision, Question } from '../../src/protocol/jobs.ts';
import type { OperationInput } from '../../src/protocol/operations.ts';
import { errorBody } from '../../src/surfaces/client/request.ts';
import { type AgentName, makeAgentHome, realAgent } from '../agents/real-agents.ts';
import type { Scripts } from '../model-server/script.ts';
import { type ModelServer, type RecordedRequest, startModelServer } from '../model-server/server.ts';
import { eventually } from '../support/wait.ts';
import { makeWorld, type World } from './harness.ts';

/** Real agents, driven by Reef, talking to the scripted model: what every file of these tests shares. */

export const SLOW_MS = 120_000;

/** For a step that a real agent takes: it may have to start first, on a machine that does other things as well. */
const STEP_MS = 60_000;

/** Reef's name of an agent, and the program behind it. */
const programs = {
  claude: 'claude',
  codex: 'codex',
  'codex-exec': 'codex',
  'acp:gemini': 'gemini',
  'acp:opencode': 'opencode',
} as const satisfies Record<string, AgentName>;
export type ReefAgent = keyof typeof programs;

const leading: Partial<Record<ReefAgent, string[]>> = { 'acp:gemini': ['--acp'], 'acp:opencode': ['acp'] };

/** Set by Reef's own adapters: what they forget has to be missed here. */
const OF_THE_ADAPTER = /^(?:CLAUDE_CODE_|DISABLE_|OPENCODE_CONFIG_CONTENT$|GEMINI_CLI_NO_RELAUNCH$|NO_COLOR$)/;

/** For `needs`: whether these are there, and why not. */
export function installed(...agents: ReefAgent[]): [available: boolean, reason: string] {
  const missing = agents.map((name) => realAgent(programs[name])).find(({ available }) => !available);
  return [missing === undefined, `${missing?.name}: ${missing?.why}`];
}

type SpawnInput = Partial<OperationInput<'spawn'>>;

export interface RealSpawn extends Omit<SpawnInput, 'agent'> {
  agent: ReefAgent;
  script: string;
  /** Over and above what points the agent at the scripted model; undefined takes a variable away. */
  env?: Record<string, string | undefined>;
}

export class RealJob {
  readonly id: string;
  readonly cwd: string;
  /** Of the agent: its log-in, settings and sessions. */
  readonly home: string;
  readonly #rig: Rig;
  readonly #run: string;
  readonly #point: () => void;

  constructor(rig: Rig, of: { id: string; cwd: string; home: string; run: string; point: () => void }) {
    this.id = of.id;
    this.cwd = of.cwd;
    this.home = of.home;
    this.#rig = rig;
    this.#run = of.run;
    this.#point = of.point;
  }

  file(name: string): string | undefined {
    try {
      return readFileSync(join(this.cwd, name), 'utf8');
    } catch {
      return undefined;
    }
  }

  /** Until its command, which writes this file first, really runs. */
  begun(): Promise<unknown> {
    return eventually(
      () => this.file('begun.txt'),
      (text) => text !== undefined,
    );
  }

  view(): Promise<JobView> {
    return this.#rig.world.job(this.id);
  }

  until(isMet: (job: JobView) => boolean): Promise<JobView> {
    return this.#rig.world.until(this.id, isMet, STEP_MS);
  }

  ended(): Promise<JobView> {
    return this.until((job) => job.activity === 'ended');
  }

  paused(): Promise<JobView> {
    return this.until((job) => job.status === 'paused' || job.activity === 'ended');
  }

  /** The question it waits with. */
  async asked(): Promise<Question> {
    const { questions } = await this.until((job) => job.questions.length > 0 || job.activity === 'ended');
    const [question] = questions;
    if (!question) throw new Error(`job ${this.id} ended without a question`);
    return question;
  }

  /** The question with this header, whatever else it asks before it is interrupted. */
  async askedFor(header: string): Promise<Question> {
    const isIt = (question: Question) => question.header === header;
    const { questions } = await this.until((job) => job.questions.some(isIt) || job.activity === 'ended');
    const question = questions.find(isIt);
    if (!question) throw new Error(`job ${this.id} ended without a question about ${header}`);
    return question;
  }

  async decide(decision: Decision, reason?: string): Promise<Question> {
    const question = await this.asked();
    const { questionId, fingerprint } = question;
    await this.send({ decision, questionId, fingerprint, ...(reason === undefined ? {} : { reason }) });
    return question;
  }

  send(input: Omit<OperationInput<'send'>, 'id'>) {
    return this.#rig.world.client.call('send', { id: this.id, ...input });
  }

  /** In the run of the script it began in, so that the model goes on where it was. */
  resume(text?: string) {
    this.#point();
    return this.#rig.world.client.call('resume', { id: this.id, ...(text === undefined ? {} : { text }) });
  }

  kill() {
    return this.#rig.world.client.call('kill', { id: this.id });
  }

  interrupt() {
    return this.#rig.world.client.call('interrupt', { id: this.id });
  }

  events(): Promise<AgentEvent[]> {
    return this.#rig.world.events(this.id);
  }

  async payloads<T extends EventType>(type: T): Promise<EventOf<T>['payload'][]> {
    return (await this.events()).flatMap((event) =>
      event.type === type ? [event.payload as EventOf<T>['payload']] : [],
    );
  }

  async progress<K extends Progress['kind']>(kind: K): Promise<Extract<Progress, { kind: K }>[]> {
    const all = await this.payloads('progress');
    return all.filter((payload) => payload.kind === kind) as Extract<Progress, { kind: K }>[];
  }

  /** Its words, joined: how many events a text becomes depends on how fast it comes. */
  async said(kind: 'text' | 'thinking'): Promise<string> {
    return (await this.progress(kind)).map(({ text }) => text).join('');
  }

  /** What the model was asked in this run; requests without tools are about titles and the like. */
  requests(): RecordedRequest[] {
    const isOurs = ({ run, body }: RecordedRequest) => run === this.#run && Object.keys(body).length > 0;
    return this.#rig.model.requests.filter(isOurs);
  }
}

export class Rig {
  readonly world: World;
  readonly model: ModelServer;
  /** Read by the model at every request: a script may be added while it runs. */
  readonly scripts: Scripts;
  readonly #homes: string[] = [];
  readonly #agents: Record<string, unknown> = {};
  readonly #timings: Record<string, number>;
  #runs = 0;

  constructor(parts: { world: World; model: ModelServer; scripts: Scripts; timings: Record<string, number> }) {
    this.world = parts.world;
    this.model = parts.model;
    this.scripts = parts.scripts;
    this.#timings = parts.timings;
    this.configure({});
  }

  /** Entries of `agents` in the user's configuration, which is read anew at every launch. */
  configure(agents: Record<string, unknown>): void {
    Object.assign(this.#agents, agents);
    this.world.configure({ timings: this.#timings, agents: this.#agents });
  }

  /** A job in a folder and with an agent home of its own; resolves when its process runs, or when it has failed. */
  async spawn({ agent, script, env = {}, ...input }: RealSpawn): Promise<RealJob> {
    this.#runs += 1;
    const run = `r${this.#runs}`;
    const cwd = input.cwd ?? join(this.world.repository, run);
    mkdirSync(cwd, { recursive: true });
    const settings = this.settings(agent, this.model.runUrl(script, run), env);
    const point = () => this.configure({ [agent]: settings });
    point();
    const { agentId } = await this.world.client.call('spawn', { task: 'Go', ...input, agent, cwd });
    const home = settings.env.HOME ?? '';
    const job = new RealJob(this, { id: agentId, cwd: realpathSync(cwd), home, run, point });
    await job.until(({ status }) => status !== 'queued');
    return job;
  }

  settings(agent: ReefAgent, modelUrl: string, env: Record<string, string | undefined> = {}) {
    const program = realAgent(programs[agent]);
    const home = makeAgentHome();
    this.#homes.push(home);
    const own = Object.entries(program.env(modelUrl, home)).filter(([name]) => !OF_THE_ADAPTER.test(name));
    const all = Object.entries({ ...Object.fromEntries(own), ...env });
    const given = Object.fromEntries(all.filter(([, value]) => value !== undefined));
    return { command: [program.file, ...(leading[agent] ?? [])], env: given };
  }

  async close(): Promise<void> {
    await this.world.close();
    await this.model.close();
    for (const home of this.#homes) rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

export async function openRig(scripts: Scripts, parent?: string): Promise<Rig> {
  const model = await startModelServer({ scripts });
  return new Rig({ world: makeWorld(parent), model, scripts, timings: { linger: 200 } });
}

export interface Running {
  pid: number;
  args: string;
}

/** Living processes whose arguments or environment contain one of the texts, e.g. the tag of a job. */
export function processesWith(...marks: string[]): Running[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [state] = readFileSync(`/proc/${name}/stat`, 'latin1').replace(/^.*\) /s, '');
      const args = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      const text = `${args}${readFileSync(`/proc/${name}/environ`, 'utf8')}`;
      const isOne = state !== 'Z' && Number(name) !== process.pid && marks.some((mark) => text.includes(mark));
      return isOne ? [{ pid: Number(name), args }] : [];
    } catch {
      return []; // it has ended
    }
  });
}

/** Ends long after any test; told by its length from those of others, of another run of the same tests as well. */
export const nap = (n: number) => `sleep 301.${n}${process.pid}`;

export const appeared = (mark: string) =>
  eventually(
    () => processesWith(mark),
    (found) => found.length > 0,
  );
export const gone = (...marks: string[]) =>
  eventually(
    () => processesWith(...marks),
    (found) => found.length === 0,
  );

/** The code a call was refused with. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  const failed = call.then(
    (done) => Promise.reject(new Error(`not refused: ${JSON.stringify(done)}`)),
    (error: unknown) => error,
  );
  return errorBody(await failed).error.code;
}
