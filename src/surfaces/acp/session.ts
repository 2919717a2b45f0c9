import { randomBytes } from 'node:crypto';
import {
  type AgentContext,
  type ContentBlock,
  methods,
  type SessionUpdate,
  type StopReason,
} from '@agentclientprotocol/sdk';
import { systemClock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { InboxEntry, JobView } from '../../protocol/job-operations.ts';
import type { OperationOutput } from '../../protocol/operations.ts';
import { isUnderWay, type RunSummary } from '../../protocol/run-operations.ts';
import type { RunView } from '../../protocol/workflow.ts';
import type { Client } from '../client/client.ts';
import { errorBody } from '../client/request.ts';
import { shortBlock } from '../render/run.ts';
import { toAnswer, toRequest } from './questions.ts';
import { message, Updates } from './updates.ts';

/** What a first prompt starts: one agent, or a workflow whose blocks name no agent. */
export interface Wanted {
  agent?: string;
  workflow?: string;
}

interface SessionDeps {
  client: Pick<Client, 'call'>;
  editor: AgentContext;
  wanted: Wanted;
  folder: string;
}

const SESSION = /^editor-[0-9a-f]{16}$/;
const PAGE_MS = 2_000;
const LOOK_MS = 500;
const ENDED = ['completed', 'error', 'killed', 'stale', 'paused'];

/**
 * One conversation of an editor is one task of Reef. Its id is the key with which the task is started, and so a name of the
 * task: nothing is remembered here that a second process would lack.
 */
export class EditorSession {
  readonly id: string;
  readonly #deps: SessionDeps;
  readonly #updates = new Map<string, Updates>();
  readonly #cursors = new Map<string, string>();
  readonly #asked = new Set<string>();

  constructor(deps: SessionDeps, id = `editor-${randomBytes(8).toString('hex')}`) {
    if (!SESSION.test(id)) throw new ReefError('bad_request', `"${id}" is not a Reef session`);
    this.#deps = deps;
    this.id = id;
  }

  /** Everything that was said, as after a restart of the editor. */
  async replay(): Promise<void> {
    const task = await this.#task();
    if (!task) throw new ReefError('job_not_found', `The session "${this.id}" has no task`);
    await this.#tell({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: task.title } });
    for (const job of task.jobs) await this.#events(job, 0);
  }

  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<StopReason> {
    const text = textOf(blocks);
    if (text === '') throw new ReefError('bad_request', 'The prompt has no text');
    await this.#say(text);
    const onCancel = () => void this.cancel().catch(() => {}); // it has ended by itself
    signal.addEventListener('abort', onCancel);
    if (signal.aborted) onCancel();
    try {
      await this.#follow(signal);
    } finally {
      signal.removeEventListener('abort', onCancel);
    }
    return signal.aborted ? 'cancelled' : 'end_turn';
  }

  async cancel(): Promise<void> {
    const task = await this.#task();
    if (task) await this.#call('interrupt', { id: this.id });
  }

  /** To whom the text goes: an open question, the agent at work, or the next turn. */
  async #say(text: string): Promise<void> {
    const { agent = 'native:coder', workflow } = this.#deps.wanted;
    const task = await this.#task();
    const [question] = task ? await this.#open(task) : [];
    if (question && !question.secret && toRequest(question) === undefined) await this.#send(question, { text });
    else if (task?.run) await this.#call('run_control', { id: this.id, verb: 'continue', guidance: text });
    else if (task) await this.#call(isOver(task.jobs[0]) ? 'resume' : 'send', { id: this.id, text });
    else if (workflow === undefined)
      await this.#call('spawn', { agent, task: text, cwd: this.#deps.folder, worktree: '', key: this.id });
    else
      await this.#call('run', {
        task: text,
        ...(workflow !== '' && { workflow }),
        ...(this.#deps.wanted.agent !== undefined && { agent }),
        cwd: this.#deps.folder,
        key: this.id,
      });
  }

  /** Tells what goes on until the task rests, or waits for words. */
  async #follow(signal: AbortSignal): Promise<void> {
    for (;;) {
      const task = await this.#task();
      if (!task) return;
      await this.#news(task);
      if (!(await this.#askAll(task, signal))) return;
      if (rests(task)) return signal.aborted ? undefined : this.#tell(message(ending(task)));
      if (isAtWork(task)) continue;
      if (signal.aborted) return;
      await systemClock.sleep(LOOK_MS);
    }
  }

  async #news({ jobs, view }: Task): Promise<void> {
    if (view) await this.#tell(planOf(view));
    const atWork = jobs.find((job) => !isOver(job));
    for (const job of jobs) await this.#events(job, job === atWork ? PAGE_MS : 0);
  }

  /** False: a question waits for words, or the turn was cancelled. */
  async #askAll(task: Task, signal: AbortSignal): Promise<boolean> {
    for (const question of await this.#open(task)) if (!(await this.#ask(question, signal))) return false;
    return true;
  }

  async #events({ id }: JobView, waitMs: number): Promise<void> {
    const updates = this.#updates.get(id) ?? new Updates();
    this.#updates.set(id, updates);
    for (let wait = waitMs; ; wait = 0) {
      const page = await this.#call('output', { id, since: this.#cursors.get(id), waitMs: wait });
      for (const event of page.events) for (const update of updates.of(event)) await this.#tell(update);
      this.#cursors.set(id, page.nextCursor);
      if (!page.truncated) return;
    }
  }

  /** False: only words can answer it, and those are the next prompt; or the turn was cancelled. */
  async #ask(question: InboxEntry, signal: AbortSignal): Promise<boolean> {
    const asked = toRequest(question);
    if (!asked) {
      if (!this.#asked.has(question.questionId)) await this.#tell(message(`\n\n${printable(question.question)}\n`));
      this.#asked.add(question.questionId);
      return false;
    }
    const over = new AbortController();
    const gone = this.#gone(question, over.signal);
    const cancellationSignal = AbortSignal.any([gone, signal]);
    try {
      const params = { sessionId: this.id, ...asked };
      const { outcome } = await this.#deps.editor.request(methods.client.session.requestPermission, params, {
        cancellationSignal,
        stopWaitingOnCancel: true,
      });
      if (outcome.outcome === 'cancelled') return gone.aborted;
      await this.#send(question, toAnswer(question, outcome.optionId));
      return true;
    } catch (error) {
      if (gone.aborted) return true;
      if (signal.aborted) return false;
      throw error;
    } finally {
      over.abort();
    }
  }

  /** Aborted when somebody else has answered. */
  #gone({ questionId }: InboxEntry, over: AbortSignal): AbortSignal {
    const gone = new AbortController();
    const look = async () => {
      for (;;) {
        await systemClock.sleep(LOOK_MS, over);
        const { questions } = await this.#call('inbox', {});
        if (!questions.some((each) => each.questionId === questionId)) return gone.abort();
      }
    };
    look().catch(() => {}); // it was answered here
    return gone.signal;
  }

  async #send({ jobId, questionId, fingerprint }: InboxEntry, answer: object): Promise<void> {
    const input = { id: jobId, questionId, fingerprint, ...answer };
    await this.#call('send', input);
  }

  async #open({ jobs, run }: Task): Promise<InboxEntry[]> {
    const { questions } = await this.#call('inbox', {});
    const ids = new Set(jobs.map(({ id }) => id));
    return questions.filter(({ jobId, runId, path }) =>
      run ? runId === run.runId : ids.has(jobId) || path.some((id) => ids.has(id)),
    );
  }

  async #task(): Promise<Task | undefined> {
    const { jobs, runs = [] } = await this.#call('status', { id: this.id }).catch((error: unknown) => {
      if (isMissing(error)) return { jobs: [], runs: [] };
      throw error;
    });
    const [run] = runs;
    if (!run) return jobs[0] && { title: jobs[0].task, jobs };
    const { view } = await this.#call('run_status', { id: run.runId });
    const ids = Object.values(view?.executionLog ?? {}).flatMap(({ jobId }) => jobId ?? []);
    const found = await Promise.all([...new Set(ids)].map((id) => this.#call('status', { id })));
    return { title: run.task, jobs: found.flatMap((each) => each.jobs), run, ...(view && { view }) };
  }

  #call: Client['call'] = (operation, input) => this.#deps.client.call(operation, input);

  #tell(update: SessionUpdate): Promise<void> {
    return this.#deps.editor.notify(methods.client.session.update, { sessionId: this.id, update });
  }
}

interface Task {
  title: string;
  jobs: JobView[];
  run?: RunSummary;
  view?: RunView;
}

const isAtWork = ({ jobs }: Task) => jobs.some((job) => !isOver(job));

function rests(task: Task): boolean {
  const { run } = task;
  return run ? !isUnderWay(run) && run.status !== 'awaiting_input' : !isAtWork(task);
}

function ending({ jobs, run }: Task): string {
  const worktree = run?.worktree ?? jobs[0]?.worktree;
  const how = run ? `${run.status}${run.because === undefined ? '' : `: ${printable(run.because)}`}` : '';
  const failed = jobs[0]?.status === 'error' ? `${jobs[0].agent} failed. ` : '';
  if (worktree === undefined) return `\n\n${failed}${how}`;
  return `\n\n${failed}${how && `${how}. `}See it with \`reef diff ${worktree}\`, merge it with \`reef accept ${worktree}\`.`;
}

const isOver = (job: JobView | undefined) => job === undefined || ENDED.includes(job.status);

const isMissing = (error: unknown) => /_not_found$/.test(errorBody(error).error.code);

function planOf({ executionLog }: NonNullable<OperationOutput<'run_status'>['view']>): SessionUpdate {
  const entries = Object.values(executionLog).map(({ block, visit, endedAt, status }) => ({
    content: `${shortBlock(block, visit)}${status === 'failed' ? ' (failed)' : ''}`,
    priority: 'medium' as const,
    status: endedAt === undefined ? ('in_progress' as const) : ('completed' as const),
  }));
  return { sessionUpdate: 'plan', entries };
}

/** Files that the person named are paths for the agent, which reads them itself. */
function textOf(blocks: readonly ContentBlock[]): string {
  const texts = blocks.flatMap((block) => {
    if (block.type === 'text') return [block.text];
    if (block.type === 'resource_link') return [`@${block.uri.replace(/^file:\/\//, '')}`];
    if (block.type === 'resource' && 'text' in block.resource)
      return [`${block.resource.uri.replace(/^file:\/\//, '')}:\n${block.resource.text}`];
    return [];
  });
  return texts.join('\n').trim();
}
