import type { OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import type { Cli } from '../cli.ts';
import type { Style } from '../render/style.ts';
import { type LoggedEvent, renderEvent } from '../render/timeline.ts';
import type { Actor } from './cast.ts';

export interface Role extends Actor {
  id: string;
}

const NAME_WIDTH = 8;
/** Bookkeeping that would only lengthen the story. */
const UNSHOWN = new Set(['queued', 'turn', 'usage', 'session', 'tool_result']);

/** Shows what all jobs do as one timeline, each line with the name of who did it. */
export class Stage {
  readonly #cli: Cli;
  readonly #style: Style;
  readonly #cursors = new Map<string, string>();
  readonly events: LoggedEvent[] = [];

  constructor(cli: Cli) {
    this.#cli = cli;
    const start = Date.now();
    const clock = (time: Date) => `${((time.getTime() - start) / 1000).toFixed(1).padStart(6)}s`;
    this.#style = { ...cli.style, clock };
  }

  /** Prints what is new. Cursors are ours, so a new daemon is asked exactly where the old one stopped. */
  async follow(client: Client, roles: Role[]): Promise<void> {
    const pages = await Promise.all(roles.map((role) => this.#page(client, role)));
    const fresh = pages.flatMap(({ role, events }) => events.map((event) => ({ role, event })));
    for (const { role, event } of fresh.sort((a, b) => a.event.seq - b.event.seq)) {
      this.events.push(event);
      if (!UNSHOWN.has(String(event.payload.kind)))
        this.#print(role, renderEvent(named(event, role), undefined, this.#style));
    }
  }

  /** A line of the demo itself. */
  tell(text: string): void {
    const { paint } = this.#style;
    this.#cli.out(`\n${paint('bold', `── ${text}`)}\n`);
  }

  #print(role: Role, text: string): void {
    const lane = `${this.#style.paint(role.colour, role.name.padEnd(NAME_WIDTH))} │ `;
    this.#cli.out(
      text
        .split('\n')
        .map((line) => lane + line)
        .join('\n'),
    );
  }

  async #page(client: Client, role: Role): Promise<{ role: Role; events: OperationOutput<'output'>['events'] }> {
    const page = await client.call('output', { id: role.id, since: this.#cursors.get(role.id) ?? '0', limit: 1000 });
    this.#cursors.set(role.id, page.nextCursor);
    return { role, events: page.events };
  }
}

/** The path of a script says nothing to the audience. */
function named(event: LoggedEvent, role: Role): LoggedEvent {
  return event.type === 'started' ? { ...event, payload: { ...event.payload, agent: role.name } } : event;
}
