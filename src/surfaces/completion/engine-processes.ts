import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { lazily } from '../../base/lazily.ts';
import { launchBound } from '../../process/bound.ts';
import { type Capabilities, probeCapabilities } from '../../process/capabilities.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Asked, Said } from '../http/door/asked.ts';

const PROGRAM = fileURLToPath(new URL('../../programs/completion.ts', import.meta.url));
const MOST = 8;
/** From the cancellation to SIGKILL: what was said until then is kept. */
const GRACE_MS = 1_500;
const MOST_ERRORS = 4_000;

interface Deps {
  cwd: string;
  env: Readonly<NodeJS.ProcessEnv>;
  /** The folder for the records of sessions. */
  records: string;
}

/** Runs the engine beside the daemon: neither a heavy index nor a tool that hangs is felt by the jobs, and a client that leaves ends it for sure. */
export class EngineProcesses {
  readonly #deps: Deps;
  readonly #capabilities = lazily(async (): Promise<Capabilities> => {
    // Locks of sessions name processes by number, so all of them have to see the same numbers.
    return { ...(await probeCapabilities()), namespaces: 'none' };
  });
  #running = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Ends when the process has said its last word, or when `signal` is aborted and it is gone. */
  async *ask(asked: Asked, signal: AbortSignal): AsyncGenerator<Said> {
    if (this.#running >= MOST) throw new ReefError('daemon_busy', `${MOST} questions are being answered at once`);
    this.#running += 1;
    try {
      yield* this.#answer(asked, signal);
    } finally {
      this.#running -= 1;
    }
  }

  async *#answer(asked: Asked, signal: AbortSignal): AsyncGenerator<Said> {
    const { cwd, records } = this.#deps;
    const env = Object.fromEntries(Object.entries(this.#deps.env).map(([key, value]) => [key, value ?? '']));
    const spec = { file: process.execPath, args: [PROGRAM, records], cwd, env, tag: `engine-${randomUUID()}` };
    const capabilities = await this.#capabilities.get();
    signal.throwIfAborted();
    const child = await launchBound(spec, capabilities);
    const close = () => child.close({ graceMs: GRACE_MS });
    const onAbort = () => void close();
    signal.addEventListener('abort', onAbort, { once: true });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-MOST_ERRORS);
    });
    try {
      child.stdin.write(`${JSON.stringify(asked)}\n`);
      let isOver = false;
      for await (const line of createInterface({ input: child.stdout })) {
        const said = JSON.parse(line) as Said;
        isOver = said.type === 'result' || said.type === 'failed';
        yield said;
      }
      signal.throwIfAborted();
      if (!isOver) throw new ReefError('internal', `The engine ended without an answer: ${errors}`);
    } finally {
      signal.removeEventListener('abort', onAbort);
      await close();
    }
  }
}
