export interface Todo {
  id: number;
  task: string;
  done: boolean;
}

/** An agent's list of things to do. The continuation prompt shows it. */
export class AgentTodos {
  #goal = '';
  #todos: Todo[] = [];

  get todos(): readonly Todo[] {
    return this.#todos;
  }

  get hasOpen(): boolean {
    return this.#todos.some((todo) => !todo.done);
  }

  init(goal: string): void {
    this.#goal = goal;
    this.#todos = [];
  }

  add(task: string): number {
    const id = (this.#todos.at(-1)?.id ?? 0) + 1;
    this.#todos.push({ id, task, done: false });
    return id;
  }

  /** False if there is no such todo. */
  done(id: number): boolean {
    const todo = this.#todos.find((each) => each.id === id);
    if (todo) todo.done = true;
    return todo !== undefined;
  }

  clear(): void {
    this.init('');
  }

  render(): string {
    const done = this.#todos.filter((todo) => todo.done).length;
    const lines = this.#todos.map((todo) => `${todo.done ? '✓' : '○'} ${todo.id}. ${todo.task}`);
    return [`Goal: ${this.#goal}`, `Progress: ${done}/${this.#todos.length} completed`, ...lines].join('\n');
  }
}
