import fc from 'fast-check';
import type { JobModel } from './job-model.ts';

/** What can happen to a job. Who drives the real one says how; the model says when, and what comes of it. */
export interface RealJob {
  start(): void;
  say(): void;
  work(): void;
  limit(): void;
  ask(request: string, count: number): void;
  withdraw(request: string): void;
  /** `taken`, or the code of the refusal. */
  answer(questionId: string, key: string): string;
  takeAnswers(request: string): void;
  message(key: string): string;
  takeMessage(key: string): void;
  endTurn(how: 'done' | 'failed' | 'interrupted'): void;
  endProcess(how: 'killed' | 'unknown' | number): void;
  resume(): void;
  /** Dies in the middle of a transaction, and is opened again. */
  kill(): void;
  seen(): unknown;
}

type Act = (model: JobModel, real: RealJob) => void;
type Can = (model: JobModel) => boolean;
type Command = fc.Command<JobModel, RealJob>;

const nth = <T>(of: readonly T[], n: number): T | undefined => of[n % Math.max(1, of.length)];
const sent = (model: JobModel) => [...model.messages].flatMap(([key, state]) => (state === 'sent' ? [key] : []));
/** Of these the agent gets the answers. */
export const answered = ({ requests }: JobModel) =>
  [...requests].flatMap(([id, states]) => (states.every((state) => state === 'answered') ? [id] : []));
const canTalk = (model: JobModel) => model.canTalk;

/** Makes actions; `did` counts what really happened, for where nothing may happen everything agrees with the model. */
export class JobActions {
  readonly did = new Map<string, number>();
  readonly #check: Act;

  constructor(check: Act) {
    this.#check = check;
  }

  /** What a long talk is made of comes more often than what ends it. */
  all(): fc.Arbitrary<Command>[] {
    return [...this.#life(), ...Array.from({ length: 4 }, () => this.#talk()).flat()];
  }

  #one(name: string, can: Can, act: Act): Command {
    return {
      check: (model) => can(model as JobModel),
      toString: () => name,
      run: (model, real) => {
        const what = name.replace(/ .*/, '');
        this.did.set(what, (this.did.get(what) ?? 0) + 1);
        act(model, real);
        this.#check(model, real);
      },
    };
  }

  #always(name: string, can: Can, act: Act): fc.Arbitrary<Command> {
    return fc.constant(this.#one(name, can, act));
  }

  #some(name: string, can: Can, act: (n: number) => Act): fc.Arbitrary<Command> {
    return fc.nat(9).map((n) => this.#one(`${name} ${n}`, can, act(n)));
  }

  #talk(): fc.Arbitrary<Command>[] {
    return [
      this.#some('ask', canTalk, (n) => (m, real) => {
        const [request, count] = [`r${m.requests.size}`, 1 + (n % 2)];
        m.ask(request, count);
        real.ask(request, count);
      }),
      this.#some(
        'answer',
        (m) => m.requests.size > 0,
        (n) => (m, real) => {
          const open = nth(m.ids('open'), n);
          const id = n === 9 ? 'none#0' : (open ?? nth(m.ids('answered', 'closed', 'withdrawn'), n) ?? '');
          const [expected, got] = [m.answer(id), real.answer(id, `a${m.tries++}`)];
          if (got !== expected) throw new Error(`answer to ${id}: ${got}, not ${expected}`);
        },
      ),
      this.#some(
        'takeAnswers',
        (m) => m.canTalk && answered(m).length > 0,
        (n) => (m, real) => {
          const request = nth(answered(m), n) ?? '';
          m.takeAnswers(request);
          real.takeAnswers(request);
        },
      ),
      this.#always(
        'message',
        (m) => m.isLive && m.ids('open').length === 0,
        (m, real) => {
          const key = `m${m.messages.size}`;
          m.messages.set(key, 'sent');
          // Twice with one key is once.
          for (const _ of [1, 2]) if (real.message(key) !== 'taken') throw new Error('a message was refused');
        },
      ),
      this.#some(
        'takeMessage',
        (m) => m.canTalk && sent(m).length > 0,
        (n) => (m, real) => {
          const key = nth(sent(m), n) ?? '';
          m.takeMessage(key);
          real.takeMessage(key);
        },
      ),
    ];
  }

  #life(): fc.Arbitrary<Command>[] {
    const canResume = (m: JobModel) => (m.isLive ? m.status === 'paused' && !m.hasProcess : m.status !== 'killed');
    return [
      this.#always(
        'start',
        (m) => m.status === 'queued',
        (m, real) => {
          m.start();
          real.start();
        },
      ),
      this.#always('say', canTalk, (m, real) => {
        m.texts += 1;
        real.say();
      }),
      this.#always('work', canTalk, (m, real) => {
        m.work();
        real.work();
      }),
      this.#always('limit', canTalk, (m, real) => {
        m.reachLimit();
        real.limit();
      }),
      this.#some(
        'withdraw',
        (m) => m.canTalk && m.requests.size > 0,
        (n) => (m, real) => {
          const request = nth([...m.requests.keys()], n) ?? '';
          m.withdraw(request);
          real.withdraw(request);
        },
      ),
      this.#some('turn', canTalk, (n) => (m, real) => {
        const how = nth(['done', 'failed', 'interrupted'] as const, n) ?? 'done';
        m.endTurn(how);
        real.endTurn(how);
      }),
      this.#some(
        'exit',
        (m) => m.hasProcess,
        (n) => (m, real) => {
          const how = nth(['killed', 'unknown', 0, 7] as const, n) ?? 0;
          m.endProcess(how);
          real.endProcess(how);
        },
      ),
      this.#always('resume', canResume, (m, real) => {
        m.resume();
        real.resume();
      }),
      this.#always(
        'kill',
        () => true,
        (_, real) => real.kill(),
      ),
    ];
  }
}
