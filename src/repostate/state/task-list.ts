import { ReefError } from '../../protocol/errors.ts';
import type { Task } from '../../protocol/repostate.ts';

const MOST = 10;
const LONGEST = 120;

/** One list per job: few and short, because every prompt repeats it. */
export class TaskList {
  #items: Task[] = [];
  #next = 1;

  list(): readonly Task[] {
    return this.#items;
  }

  set(descriptions: readonly string[]): void {
    checkCount(descriptions.length);
    const lines = descriptions.map(checked);
    // After a restart an agent may set the same plan again. It keeps the ids that the agent knows.
    if (lines.length > 0 && lines.join('\n') === this.#items.map(({ description }) => description).join('\n')) return;
    this.#items = lines.map((description, index) => ({
      id: `k${this.#next++}`,
      description,
      priority: index + 1,
      status: 'pending',
    }));
  }

  add(description: string): void {
    checkCount(this.#items.filter(({ status }) => status !== 'completed').length + 1);
    const line = checked(description);
    const priority = Math.max(0, ...this.#items.map((item) => item.priority)) + 1;
    this.#items.push({ id: `k${this.#next++}`, description: line, priority, status: 'pending' });
  }

  start(id: string): void {
    const item = this.#find(id);
    const other = this.#items.find(({ status }) => status === 'in_progress');
    if (other && other !== item) throw invalid(`${other.id} is in progress: complete or drop it first`);
    item.status = 'in_progress';
  }

  complete(id: string): void {
    this.#find(id).status = 'completed';
  }

  drop(id: string, reason: string): void {
    const item = this.#find(id);
    if (reason.trim() === '') throw invalid('dropping an item needs a reason');
    this.#items = this.#items.filter((other) => other !== item);
  }

  load(items: readonly Task[]): void {
    this.#items = items.map((item) => ({ ...item }));
    this.#next = Math.max(0, ...items.map(({ id }) => Number(/^k(\d+)$/.exec(id)?.[1] ?? 0))) + 1;
  }

  #find(id: string): Task {
    const item = this.#items.find((other) => other.id === id);
    if (!item) throw invalid(`there is no item ${id}`);
    return item;
  }
}

export function checked(text: string): string {
  const line = text.trim();
  if (line === '') throw invalid('the text is empty');
  if (line.length > LONGEST || /[\r\n]/.test(line)) {
    throw new ReefError('todo_too_long', `An item is one line of at most ${LONGEST} characters.`, {
      details: { length: line.length, limit: LONGEST },
    });
  }
  return line;
}

function checkCount(count: number): void {
  if (count <= MOST) return;
  throw new ReefError('todo_too_long', `A list has at most ${MOST} open items.`, { details: { count, limit: MOST } });
}

function invalid(why: string): ReefError {
  return new ReefError('todo_invalid', `Not possible: ${why}.`);
}
