import { identifiersIn } from '../../../src/repostate/snapshot/names.ts';
import type { Trajectory, Turn } from '../trajectory.ts';
import { makeFunction, type Project } from './project.ts';
import type { Random } from './random.ts';
import { prose } from './words.ts';

type Call = Turn['calls'][number];

/** Plays an agent that searches, reads, edits and tests a project, and writes down what a recorder would have. */
export class Agent {
  readonly random: Random;
  readonly project: Project;
  readonly turns: Turn[] = [];
  /** Names by the turn they were last seen in, newest last. */
  readonly #seen: string[][] = [];
  readonly #used: string[] = [];
  #scripts = 0;

  constructor(random: Random, project: Project) {
    this.random = random;
    this.project = project;
  }

  step(): void {
    const { random } = this;
    const begun = this.turns.length;
    const roll = random.next();
    if (begun < 2) this.say(this.list());
    else if (roll < 0.26) this.say(this.search());
    else if (roll < 0.52) this.say(this.read());
    else if (roll < 0.66) this.say(this.edit());
    else if (roll < 0.76) this.say(this.script());
    else if (roll < 0.97) this.say(this.test());
    else this.say(this.diff());
  }

  say(call: Omit<Call, 'id'>, thought?: string): void {
    const recent = this.#seen.at(-1) ?? [];
    const words = thought ?? prose(this.random, this.random.skewed(115, 0.85), recent);
    const id = `c${this.turns.length}`;
    this.turns.push({ assistant: words, calls: [{ id, ...call }] });
    const named = [...identifiersIn(Object.values(call.args).join('\n'))];
    this.#used.push(...named);
    this.#seen.push([...new Set([...named, ...identifiersIn(call.result)])].slice(0, 400));
  }

  /** A name for the next call: mostly of what was just seen, sometimes of long ago, as in recorded runs. */
  name(): string {
    const roll = this.random.next();
    const back = roll < 0.5 ? 1 : roll < 0.78 ? this.random.between(1, 4) : this.random.skewed(9, 0.9);
    const from = this.#seen.at(-Math.min(back, this.#seen.length)) ?? [];
    if (this.random.isLucky(0.3) && this.#used.length > 0) return this.random.pick(this.#used.slice(-60));
    return from.length > 0 ? this.random.pick(from) : this.random.pick(this.project.functions).name;
  }

  path(): string {
    const known = [...this.project.files.keys()];
    return this.random.isLucky(0.6) ? (this.#lastPath ?? this.random.pick(known)) : this.random.pick(known);
  }

  #lastPath: string | undefined;

  list(): Omit<Call, 'id'> {
    const result = `${[...this.project.files.keys()].sort().join('\n')}\n`;
    return {
      tool: 'run_command',
      args: { command: "find . -name '*.ts' -not -path './node_modules/*' | sort" },
      exit: 0,
      result,
    };
  }

  search(): Omit<Call, 'id'> {
    const wanted = this.name();
    const hits: string[] = [];
    for (const [path, content] of this.project.files) {
      for (const [index, line] of content.split('\n').entries())
        if (line.includes(wanted)) hits.push(`${path}:${index + 1}:${line}`);
    }
    this.#lastPath = hits.length > 0 ? this.random.pick(hits).split(':')[0] : this.#lastPath;
    const result = hits.slice(0, 60).join('\n');
    return {
      tool: 'run_command',
      args: { command: `grep -rn "${wanted}" src test` },
      exit: hits.length > 0 ? 0 : 1,
      result,
    };
  }

  read(): Omit<Call, 'id'> {
    const path = this.path();
    this.#lastPath = path;
    const lines = (this.project.files.get(path) ?? '').split('\n');
    const length = Math.min(lines.length, this.random.skewed(24, 0.7));
    const from = this.random.between(1, Math.max(1, lines.length - length));
    const result = lines.slice(from - 1, from - 1 + length).join('\n');
    if (this.random.isLucky(0.5)) return { tool: 'read_file', args: { path, from, to: from + length - 1 }, result };
    return {
      tool: 'run_command',
      args: { command: `sed -n '${from},${from + length - 1}p' ${path}` },
      exit: 0,
      result,
    };
  }

  edit(): Omit<Call, 'id'> {
    const path = [...this.project.files.keys()].includes(this.#lastPath ?? '')
      ? (this.#lastPath as string)
      : this.path();
    const content = this.project.files.get(path) ?? '';
    const lines = content.split('\n').filter((line) => line.startsWith('  ') && content.split(line).length === 2);
    const old = lines.length > 0 ? this.random.pick(lines) : '';
    if (old === '') return this.search();
    const changed = `${old.replace(/\d+/, () => `${this.random.between(2, 99)}`)}\n  void ${this.name()};`;
    const after = content.replace(old, () => changed);
    this.project.files.set(path, after);
    return { tool: 'edit_file', args: { path, old, new: changed }, result: `edited ${path}`, files: { [path]: after } };
  }

  script(content?: string, path?: string): Omit<Call, 'id'> {
    const file = path ?? `scripts/check-${++this.#scripts}.ts`;
    const names = Array.from({ length: this.random.between(1, 4) }, () => this.name());
    const text =
      content ??
      `import { ${names.join(', ')} } from '../src/index.ts';\n\n${makeFunction(this.random, this.project, names[0] ?? 'check').join('\n')}\n\nconsole.log(${names.join(', ')});\n`;
    this.project.files.set(file, text);
    return {
      tool: 'write_file',
      args: { path: file, content: text },
      result: `wrote ${file}`,
      files: { [file]: text },
    };
  }

  test(): Omit<Call, 'id'> {
    const path = this.path();
    const isRed = this.random.isLucky(0.45);
    const lines: string[] = ['TAP version 13'];
    for (let n = this.random.skewed(7, 0.9); n > 0 && lines.length < 160; n--) {
      const { name, path: where } = this.random.pick(this.project.functions);
      lines.push(
        `ok ${n} - ${name}`,
        `  ---`,
        `  duration_ms: ${this.random.between(1, 90)}.${this.random.between(10, 99)}`,
        `  location: ${where}:${n}`,
        '  ...',
      );
    }
    if (isRed)
      lines.push(
        `not ok - ${this.name()}`,
        `  AssertionError: expected ${this.random.between(1, 99)}, got ${this.random.between(1, 99)}`,
        `    at ${path}:${this.random.between(3, 80)}:7`,
      );
    lines.push(`# tests ${lines.length}`, `# fail ${Number(isRed)}`);
    const command = this.random.isLucky(0.5)
      ? `node --test ${path}`
      : `node --test --test-name-pattern="${this.name()}" test`;
    return { tool: 'run_command', args: { command }, exit: Number(isRed), result: lines.join('\n') };
  }

  diff(): Omit<Call, 'id'> {
    const edited = this.turns
      .flatMap(({ calls }) => calls)
      .filter(({ tool }) => tool === 'edit_file')
      .slice(-6);
    const result = edited
      .map(({ args }) => `--- a/${args.path}\n+++ b/${args.path}\n-${args.old}\n+${args.new}`)
      .join('\n');
    return { tool: 'run_command', args: { command: 'git diff' }, exit: 0, result };
  }

  finish(
    id: string,
    { system, task, repo }: { system: string; task: string; repo: Record<string, string> },
  ): Trajectory {
    return { format: 'reef-trajectory/1', id, system, task, repo, turns: this.turns };
  }
}
