import { computed, signal } from '@preact/signals';
import type { AgentEvent } from '../../../src/protocol/events.ts';
import type { OperationOutput } from '../../../src/protocol/operations.ts';
import { askForProof, keep, kept, logIn, type Session, setRemembers, takeCode } from './session.ts';
import { readMessages, type StreamMessage } from './sse.ts';

export interface HomeInfo {
  repository: string;
  folder: string;
  version: string;
  lastSeq: number;
  /** Of a fleet: where its stream goes on, since each of its homes counts for itself. */
  cursor?: string;
}

/** What has changed, without saying how: look again. */
export interface Change {
  kind: string;
  id?: string;
}

export type RunNews = OperationOutput<'run_follow'>;

/** A run whose screen is open, so that the stream tells what becomes different in it. */
interface WatchedRun {
  id: string;
  /** The `seq` of the view that is known. */
  seq(): number;
  take(news: RunNews): void;
}

/** `impostor`: something else answers at the daemon's address, and gets no token. */
type Phase = 'starting' | 'signed-out' | 'live' | 'lost' | 'impostor';

export const phase = signal<Phase>('starting');
/** Since when it has been lost. */
export const lostSince = signal<Date | undefined>(undefined);
export const info = signal<HomeInfo | undefined>(undefined);
/** Events that were gone before we could read them. */
export const skipped = signal(0);
export const isLive = computed(() => phase.value === 'live');

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** A daemon that is started anew is there within seconds and found at once; one that stays away costs little. */
const SOON_BACK_MS = 20_000;

type EventReader = (event: AgentEvent) => void;
type ChangeReader = (change: Change) => void;

const isSoonAfterLoss = () => Date.now() - (lostSince.peek()?.getTime() ?? 0) < SOON_BACK_MS;

/** One connection to the daemon: signs in, follows the event stream, and comes back by itself when it is lost. */
class Connection {
  readonly #events = new Set<EventReader>();
  readonly #changes = new Set<ChangeReader>();
  readonly #returns = new Set<() => void>();
  #session: Session | undefined;
  #lastSeq: number | undefined;
  /** Of the same event: it also says of which log. */
  #cursor: string | undefined;
  #isFleet = false;
  #stream = new AbortController();
  /** A stream that takes the place of the one that is read. */
  #next: Response | undefined;
  #watched: WatchedRun | undefined;
  #wake: () => void = () => {};

  onEvent(reader: EventReader): () => void {
    this.#events.add(reader);
    return () => this.#events.delete(reader);
  }

  onChange(reader: ChangeReader): () => void {
    this.#changes.add(reader);
    return () => this.#changes.delete(reader);
  }

  /** Each time the connection is there, the first time included: what was shown may be old. */
  onLive(reader: () => void): () => void {
    this.#returns.add(reader);
    if (phase.peek() === 'live') reader();
    return () => this.#returns.delete(reader);
  }

  /** From now on the stream tells of this run too, until the next one is watched. */
  watchRun(run: WatchedRun): () => void {
    this.#watched = run;
    if (phase.peek() === 'live') void this.#turn().catch(() => this.#stream.abort());
    return () => {
      if (this.#watched === run) this.#watched = undefined;
    };
  }

  async start(): Promise<void> {
    addEventListener('online', () => this.#wake());
    document.addEventListener('visibilitychange', () => this.#wake());
    // A fresh address in a tab that shows the page already changes nothing but its fragment.
    addEventListener('hashchange', () => {
      const code = takeCode();
      if (code !== undefined && phase.peek() === 'signed-out') void this.#enter(code);
    });
    const code = takeCode();
    if (code === undefined) await this.#begin(kept());
    else await this.#enter(code);
  }

  async #enter(code: string): Promise<void> {
    phase.value = 'starting';
    await this.#begin(await logIn(code).catch(() => undefined), { isProven: true });
  }

  async #begin(session: Session | undefined, { isProven } = { isProven: false }): Promise<void> {
    this.#session = session;
    keep(session);
    if (session) await this.#follow(isProven);
    else phase.value = 'signed-out';
  }

  remember(wanted: boolean): void {
    setRemembers(wanted, this.#session);
  }

  /** A request with our token. It is not sent while we do not know who listens. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const token = this.#session?.token;
    if (token === undefined || phase.peek() !== 'live') throw new Error('not connected');
    return this.#authorized(path, init, token);
  }

  async #authorized(path: string, init: RequestInit, token: string): Promise<Response> {
    const headers = { ...init.headers, authorization: `Bearer ${token}` };
    const response = await fetch(path, { ...init, headers }).catch((error: unknown) => {
      if (!init.signal?.aborted) this.#lose();
      throw error;
    });
    if (response.status === 401) this.#signOut();
    return response;
  }

  #signOut(): void {
    this.#session = undefined;
    keep(undefined);
    phase.value = 'signed-out';
    this.#stream.abort();
  }

  #lose(): void {
    if (phase.peek() !== 'live') return;
    phase.value = 'lost';
    lostSince.value = new Date();
    this.#stream.abort();
  }

  async #follow(isProven: boolean): Promise<void> {
    let isTrusted = isProven;
    let pauseMs = FIRST_PAUSE_MS;
    while (this.#session) {
      try {
        if (!isTrusted) await this.#prove(this.#session);
        if (!this.#session) return;
        await this.#listen(this.#session, () => {
          pauseMs = FIRST_PAUSE_MS;
        });
      } catch {
        // Whatever it was: the daemon is not there, and we try again.
      }
      isTrusted = false;
      if (!this.#session) return;
      this.#lose();
      if (phase.peek() === 'starting') this.#loseAtStart();
      await this.#pause(pauseMs);
      if (!isSoonAfterLoss()) pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  #loseAtStart(): void {
    phase.value = 'lost';
    lostSince.value = new Date();
  }

  async #prove(session: Session): Promise<void> {
    const answer = await askForProof(session);
    if (answer === 'ours') return;
    if (answer === 'over') return this.#signOut();
    phase.value = 'impostor';
    lostSince.value ??= new Date();
    throw new Error('it could not prove that it is our daemon');
  }

  /** Until the stream ends. */
  async #listen({ token }: Session, onOpen: () => void): Promise<void> {
    this.#stream = new AbortController();
    const { signal } = this.#stream;
    const told = await this.#authorized('/v1/info', { signal }, token);
    if (!told.ok) throw new Error(`info: ${told.status}`);
    const home = (await told.json()) as HomeInfo;
    this.#lastSeq ??= home.lastSeq;
    this.#cursor ??= home.cursor;
    this.#isFleet = home.cursor !== undefined;
    let response: Response | undefined = await this.#openStream(token, signal);
    onOpen();
    info.value = home;
    lostSince.value = undefined;
    phase.value = 'live';
    for (const reader of this.#returns) reader();
    for (; response; response = this.#takeNext()) await this.#read(response);
  }

  async #read(response: Response): Promise<void> {
    try {
      for await (const message of readMessages(response, () => this.#stream.abort())) this.#take(message);
    } catch (error) {
      if (!this.#next) throw error;
    }
  }

  #takeNext(): Response | undefined {
    const next = this.#next;
    this.#next = undefined;
    return next;
  }

  /** The next stream is open before the last one ends, so that nothing is missed between them. */
  async #turn(): Promise<void> {
    if (!this.#session) return;
    const [last, next] = [this.#stream, new AbortController()];
    const response = await this.#openStream(this.#session.token, next.signal);
    if (this.#stream !== last || last.signal.aborted) return next.abort();
    this.#stream = next;
    this.#next = response;
    last.abort();
  }

  async #openStream(token: string, signal: AbortSignal): Promise<Response> {
    const from = `/v1/events?since=${this.#cursor ?? this.#lastSeq}`;
    const run = this.#watched;
    const path = run ? `${from}&run=${run.id}&after=${run.seq()}` : from;
    const response = await this.#authorized(path, { signal }, token);
    if (response.ok) return response;
    if (response.status === 410) {
      // The home was reset: everything is read anew, and the stream begins with what comes now.
      this.#cursor = undefined;
      this.#lastSeq = undefined;
    }
    if (!run || response.status !== 404) throw new Error(`events: ${response.status}`);
    // It is no longer kept, which is no reason to be without all the others.
    this.#watched = undefined;
    return this.#openStream(token, signal);
  }

  #take({ event, data, id }: StreamMessage): void {
    this.#cursor = id ?? this.#cursor;
    if (event === 'job') this.#takeEvent(JSON.parse(data) as AgentEvent);
    if (event === 'run') this.#takeRun(JSON.parse(data) as RunNews);
    if (event === 'gap') {
      const { from, to } = JSON.parse(data) as { from: number; to: number };
      skipped.value += to - from + 1;
      for (const reader of this.#returns) reader();
    }
    if (event === 'changed') {
      const change = JSON.parse(data) as Change;
      for (const reader of this.#changes) reader(change);
    }
  }

  #takeRun(news: RunNews): void {
    if (this.#watched?.id === news.run.runId) this.#watched.take(news);
  }

  /** Each `seq` once, whatever a stream that is taken up again repeats. */
  #takeEvent(event: AgentEvent): void {
    if (!this.#isFleet) {
      if (event.seq <= (this.#lastSeq ?? 0)) return;
      this.#lastSeq = event.seq;
    }
    for (const reader of this.#events) reader(event);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

export const connection = new Connection();
