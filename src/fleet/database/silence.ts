import type { Client } from 'pg';

/** Longer than the server lets a statement take, so that it decides first. */
const LIMIT_MS = 35_000;

type Callback = (...said: unknown[]) => void;
type Ask = (...args: unknown[]) => PromiseLike<unknown> | undefined;

/**
 * Ends connections whose server does not answer. A link that swallows bytes reports nothing, and whoever waits behind it would
 * wait for as long as the kernel sends again.
 */
export class Silence {
  readonly limitMs: number;
  readonly #open = new Set<Client>();

  constructor(limitMs = LIMIT_MS) {
    this.limitMs = limitMs;
  }

  /** Clients of `pg` that give up when this time is over. */
  watched(Plain: typeof Client): typeof Client {
    const { limitMs } = this;
    const open = this.#open;
    class Watched extends Plain {
      constructor(...[config]: ConstructorParameters<typeof Client>) {
        super(config);
        open.add(this);
        connectionOf(this).on('error', asReset);
        this.once('end', () => open.delete(this));
      }
    }
    const plain = Plain.prototype.query as Ask;
    const query = function (this: Client, ...args: unknown[]) {
      const timer = setTimeout(() => cut(this, limitMs), limitMs);
      const isOver = () => clearTimeout(timer);
      const callback = args.at(-1);
      if (typeof callback === 'function') args[args.length - 1] = before(isOver, callback as Callback);
      const result = plain.apply(this, args);
      result?.then(isOver, isOver);
      return result;
    };
    Object.assign(Watched.prototype, { query });
    return Watched;
  }

  /** One of them found the link dead: the others are not waited for. */
  cutAll(): void {
    for (const client of this.#open) cut(client, this.limitMs);
  }
}

const before =
  (first: () => void, then: Callback): Callback =>
  (...said) => {
    first();
    then(...said);
  };

interface Wire {
  stream: { destroy(error: Error): void };
  on(event: 'error', hear: (error: NodeJS.ErrnoException) => void): void;
}

const connectionOf = (client: Client) => (client as unknown as { connection: Wire }).connection;

/** DBOS repeats what a reset connection lost, and takes the same in the middle of a write for a mistake of the program. */
function asReset(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') error.code = 'ECONNRESET';
}

/** Its queries fail at once, as if the server had gone. */
function cut(client: Client, limitMs: number): void {
  const { stream } = connectionOf(client);
  const message = `the server did not answer for ${limitMs} ms`;
  stream.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
}
