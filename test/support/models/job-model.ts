import type { JobStatus } from '../../../src/protocol/jobs.ts';

/** What a job is, written down a second time and as plainly as possible: the real one has to agree after every action. */

type Asked = 'open' | 'answered' | 'closed' | 'withdrawn';

export class JobModel {
  status: JobStatus = 'queued';
  reason: string | undefined;
  hasProcess = false;
  /** The provider's limit is reached: Reef is ending the process. */
  isEnding = false;
  turn: 'none' | 'open' | 'over' | 'failed' = 'none';
  readonly keep: boolean;
  readonly requests = new Map<string, Asked[]>();
  readonly messages = new Map<string, 'sent' | 'taken' | 'lost'>();
  texts = 0;
  /** Answers that were given, taken or not. */
  tries = 0;
  /** Messages and answers that the agent took: each is told once. */
  taken = 0;

  constructor(keep: boolean) {
    this.keep = keep;
  }

  get isLive(): boolean {
    return ['queued', 'running', 'awaiting_input', 'paused'].includes(this.status);
  }

  get canTalk(): boolean {
    return this.hasProcess && !this.isEnding;
  }

  ids(...wanted: Asked[]): string[] {
    return [...this.requests].flatMap(([request, states]) =>
      states.flatMap((state, index) => (wanted.includes(state) ? [`${request}#${index}`] : [])),
    );
  }

  start(): void {
    this.hasProcess = true;
    this.isEnding = false;
    this.turn = 'none';
    this.#become('running');
  }

  ask(request: string, count: number): void {
    this.requests.set(
      request,
      Array.from({ length: count }, () => 'open'),
    );
    this.#become('awaiting_input');
  }

  answer(id: string): string {
    if (!this.isLive) return 'job_ended';
    const [request = '', index = ''] = id.split('#');
    const states = this.requests.get(request);
    const state = states?.[Number(index)];
    if (!states || state === undefined) return 'question_not_found';
    if (state === 'withdrawn') return 'question_withdrawn';
    if (state !== 'open') return 'already_answered';
    states[Number(index)] = 'answered';
    return 'taken';
  }

  /** An answer counts as sent when the agent itself has taken it; with the last one it goes on. */
  takeAnswers(request: string): void {
    this.taken += this.#close(request, 'closed');
    this.#goOn();
  }

  withdraw(...requests: string[]): void {
    for (const request of requests) this.#close(request, 'withdrawn');
    this.#goOn();
  }

  takeMessage(key: string): void {
    this.messages.set(key, 'taken');
    this.taken += 1;
    if (this.status === 'paused') this.#become('running');
  }

  /** The model behind the agent has answered: one that was idle works again. */
  work(): void {
    if (this.reason === 'idle') this.#become('running');
  }

  endTurn(how: 'done' | 'failed' | 'interrupted'): void {
    this.turn = how === 'failed' ? 'failed' : 'over';
    this.withdraw(...this.requests.keys());
    if (how === 'interrupted' && this.status !== 'paused') this.#become('paused', how);
    if (how === 'done' && this.keep && this.status === 'running') this.#become('paused', 'idle');
    if (how === 'failed' && this.keep && this.status === 'running') this.#become('paused', 'turn_failed');
  }

  reachLimit(): void {
    this.withdraw(...this.requests.keys());
    this.isEnding = true;
    this.#become('paused', 'rate_limit');
  }

  endProcess(how: 'killed' | 'unknown' | number): void {
    this.withdraw(...this.requests.keys());
    this.hasProcess = false;
    const isPaused = this.status === 'paused';
    if (how === 'killed') this.#become('killed');
    else if (how === 'unknown') this.#become('stale', 'exit_unknown');
    else if (isPaused && this.reason !== 'idle') return;
    else if (isPaused || (how === 0 && this.turn === 'over')) this.#become('completed');
    else this.#become('error');
    for (const [key, state] of this.messages) if (state === 'sent') this.messages.set(key, 'lost');
  }

  resume(): void {
    this.#become('queued');
  }

  #become(status: JobStatus, reason?: string): void {
    this.status = status;
    this.reason = reason;
  }

  /** Returns how many had been answered. */
  #close(request: string, open: Asked): number {
    const states = this.requests.get(request) ?? [];
    const answered = states.filter((state) => state === 'answered').length;
    const closed = states.map((state) => (state === 'open' ? open : state === 'answered' ? 'closed' : state));
    this.requests.set(request, closed);
    return answered;
  }

  #goOn(): void {
    if (this.status === 'awaiting_input' && this.ids('open', 'answered').length === 0) this.#become('running');
  }
}
