import { batch, computed, signal } from '@preact/signals';
import type { AgentEvent } from '../../../src/protocol/events.ts';
import type { InboxEntry } from '../../../src/protocol/job-operations.ts';

export interface AskedCard {
  key: string;
  entry: InboxEntry;
  /** `sent`: the agent has not confirmed it yet. `closed`: it is over, and says how. */
  state: 'open' | 'sending' | 'sent' | 'closed';
  /** What became of it. */
  outcome?: string;
  closedAt?: number;
}

/** Every question on the page, in the order it is shown. The inbox says what is open; the cards say what became of it. */
export const cards = signal<readonly AskedCard[]>([]);
export const openCards = computed(() => cards.value.filter(({ state }) => state === 'open'));
/** Somebody points at a card or writes in one: nothing moves under their hands. */
export const isHeld = signal(false);

const keyOf = ({ jobId, questionId }: Pick<InboxEntry, 'jobId' | 'questionId'>) => `${jobId} ${questionId}`;

/** How long a closed card still says what became of it. */
const RECEIPT_MS = 4_000;

/** What the event stream told of questions that are answered or withdrawn. */
const endings = new Map<string, string>();

export function takeInbox(entries: readonly InboxEntry[]): AskedCard[] {
  const open = new Map(entries.map((entry) => [keyOf(entry), entry]));
  const kept = cards.peek().map((card): AskedCard => {
    const entry = open.get(card.key);
    if (entry) return card.state === 'closed' ? card : { ...card, entry };
    return card.state === 'closed' || card.state === 'sent' ? card : ended(card);
  });
  const known = new Set(kept.map(({ key }) => key));
  const fresh = [...open]
    .filter(([key]) => !known.has(key))
    .map(([key, entry]): AskedCard => ({ key, entry, state: 'open' }));
  cards.value = isHeld.peek() ? [...kept, ...inOrder(fresh)] : inOrder([...kept, ...fresh]);
  return fresh;
}

const inOrder = (all: AskedCard[]) => all.toSorted((a, b) => Date.parse(a.entry.askedAt) - Date.parse(b.entry.askedAt));

function ended(card: AskedCard): AskedCard {
  const outcome = endings.get(card.key) ?? (card.state === 'sending' ? 'Answered' : 'No longer open');
  return { ...card, state: 'closed', outcome, closedAt: Date.now() };
}

export function change(key: string, to: Partial<AskedCard>): void {
  cards.value = cards
    .peek()
    .map((card) =>
      card.key === key ? { ...card, ...to, ...(to.state === 'closed' && { closedAt: Date.now() }) } : card,
    );
}

/** The event that ends a question also says who ended it. */
export function takeEnding(event: AgentEvent): void {
  const told = endingOf(event);
  if (!told) return;
  const key = keyOf({ jobId: event.agentId, questionId: told.questionId });
  endings.set(key, told.outcome);
  if (endings.size > 500) endings.delete(endings.keys().next().value ?? '');
  const card = cards.peek().find((each) => each.key === key);
  if (!card || card.state === 'closed') return;
  change(key, { state: 'closed', outcome: card.state === 'open' ? told.outcome : `${card.outcome ?? told.outcome}` });
}

function endingOf(event: AgentEvent): { questionId: string; outcome: string } | undefined {
  if (event.type === 'input_sent' && event.payload.questionId !== undefined) {
    const { questionId, by, decision, option, text } = event.payload;
    const said = decision?.replace('_', ' ') ?? option?.join(', ') ?? text ?? '';
    return { questionId, outcome: `Answered by ${who(by)}${said ? `: ${said}` : ''}` };
  }
  if (event.type !== 'progress') return undefined;
  const { payload } = event;
  if (payload.kind === 'withdrawn')
    return { questionId: payload.questionId, outcome: `Withdrawn by ${who(payload.by)}` };
  if (payload.kind === 'auto_answered') return { questionId: payload.questionId, outcome: answeredBy(payload.grant) };
  return undefined;
}

/** What Reef answers at once, and why. */
export function answeredBy(grant: string): string {
  if (grant === 'readonly') return 'Denied: this job only reads';
  return grant === 'question_too_large' ? 'Denied: too long to be looked at' : 'Allowed by what you allowed before';
}

/** The daemon serves one person: a uid is whoever looks at this, in another window or at a terminal. */
export function who(by: string): string {
  return by.startsWith('uid:') ? 'you, elsewhere' : by;
}

/** Closed cards go after a while, and never while somebody's hands are on the list. */
export function clearReceipts(at: number): void {
  const all = cards.peek();
  const mayMove = !isHeld.peek() || all.every(({ state }) => state === 'closed');
  if (!mayMove) return;
  const left = all.filter(({ closedAt }) => closedAt === undefined || at - closedAt < RECEIPT_MS);
  if (left.length < all.length)
    batch(() => {
      cards.value = left;
      if (left.length === 0) isHeld.value = false;
    });
}
