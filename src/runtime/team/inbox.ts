import type { Inbox, InboxMessage } from '../state/scope.ts';

const ORDER: Record<InboxMessage['kind'], number> = { shutdown: 0, task_completed: 1, text: 2 };

/** What others wrote to an agent, until its next step. */
export class TeamInbox implements Inbox {
  #messages: InboxMessage[] = [];

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  deliver(message: InboxMessage): void {
    this.#messages.push(message);
  }

  /** Within a kind, as they came. */
  drain(): InboxMessage[] {
    const taken = this.#messages.toSorted((a, b) => ORDER[a.kind] - ORDER[b.kind]);
    this.#messages = [];
    return taken;
  }
}

const TITLES: Record<InboxMessage['kind'], string> = {
  shutdown: 'You are asked to stop',
  task_completed: 'A task ended',
  text: 'Message',
};

export function renderMessages(messages: readonly InboxMessage[]): string {
  return messages.map(({ kind, from, text }) => `[${TITLES[kind]}, from ${from}]\n${text}`).join('\n\n');
}
