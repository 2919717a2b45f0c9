import { setTimeout as sleep } from 'node:timers/promises';
import { routes } from '../../protocol/daemon.ts';
import type { Target } from './rules.ts';

/** A connection waits this long for a person, also while no daemon runs. */
const PATIENCE_MS = 5 * 60_000;
const ONE_CALL_MS = 20_000;
const RETRY_MS = 500;

interface Answer {
  answer: 'open' | 'allow' | 'allow_once' | 'deny' | 'over';
  questionId?: string;
}

export type Verdict = 'allow' | 'deny' | 'silence';

/** Asks a person about hosts through the socket of the job. Connections to one host share a question. */
export class HostQuestions {
  readonly #socket: string;
  readonly #asked = new Map<string, Promise<Verdict>>();

  constructor(socket: string) {
    this.#socket = socket;
  }

  /** What is allowed for the whole job, or for good, is not asked again. */
  may({ host, port }: Target): Promise<Verdict> {
    const key = `${host}:${port}`;
    const asked = this.#asked.get(key) ?? this.#ask({ host, port }, () => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }

  async #ask(target: Target, forget: () => void): Promise<Verdict> {
    const deadline = performance.now() + PATIENCE_MS;
    let questionId: string | undefined;
    while (performance.now() < deadline) {
      const got = await this.#call({ ...target, ...(questionId !== undefined && { questionId }), waitMs: ONE_CALL_MS });
      if (got === undefined)
        await sleep(RETRY_MS); // the daemon was killed, and the next one asks on
      else if (got.answer === 'open') questionId = got.questionId;
      else {
        if (got.answer !== 'allow') forget();
        return got.answer === 'allow' || got.answer === 'allow_once' ? 'allow' : 'deny';
      }
    }
    forget();
    return 'silence';
  }

  /** Undefined when nobody answers. */
  async #call(body: object): Promise<Answer | undefined> {
    const { request } = await import('node:http');
    const json = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) };
    const path = routes.operation('ask_host');
    return new Promise((resolve) => {
      const asking = request({ socketPath: this.#socket, method: 'POST', path, headers, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('error', () => resolve(undefined));
        response.on('end', () => resolve(response.statusCode === 200 ? JSON.parse(text) : undefined));
      });
      asking.on('error', () => resolve(undefined));
      asking.end(json);
    });
  }
}
