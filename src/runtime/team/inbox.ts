import type { Inbox, InboxMessage } from '../state/scope.ts';

/** Messages from other agents, until the next step. */
export class TeamInbox implements Inbox {
  #messages: InboxMessage[] = [];

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  deliver(message: InboxMessage): void {
    this.#messages.push(message);
  }

  /** Ended tasks first; within a kind in the order they came. */
  drain(): InboxMessage[] {
    const { task_completed = [], text = [] } = Object.groupBy(this.#messages, ({ kind }) => kind);
    this.#messages = [];
    return [...task_completed, ...text];
  }
}

const TITLES: Record<InboxMessage['kind'], string> = {
  task_completed: 'A task ended',
  text: 'Message',
};

export function renderMessages(messages: readonly InboxMessage[]): string {
  return messages.map(({ kind, from, text }) => `[${TITLES[kind]}, from ${from}]\n${text}`).join('\n\n');
}
