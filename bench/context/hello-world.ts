import { call, done, openScene, type SceneOptions } from '../../test/support/coder/scene.ts';

/**
 * The seed's failing scenario: a story of three small files and a model that does not notice that it is done and writes
 * `main.go` 41 times. Played by the native coder over real tools, once with snapshot, write guards and detectors off, once
 * with them on (S-24, S-66). `node bench/context/hello-world.ts` prints the figures.
 */
export interface Figures {
  /** Bytes that reached the disk, by file. */
  writes: Record<string, number>;
  turns: number;
  /** Tokens of the prompt of each turn. */
  context: { first: number; last: number; most: number; all: number };
  endedBy: string;
}

export type Habit = 'identical' | 'nearly identical';

const REWRITES = 41;
const BUILD = 'grep -q "func main" main.go && test -f go.mod';
const STORY = 'Write a hello world program in Go: go.mod, main.go and README.md. It must build.';

function program(attempt: number): string {
  const greetings = Array.from(
    { length: 24 },
    (_, n) => `\tfmt.Println("Hello, world! This is line ${n} of the greeting.")\n`,
  );
  return `package main\n\nimport "fmt"\n\nfunc main() {\n${greetings.join('')}\t// attempt ${attempt}\n}\n`;
}

function script(habit: Habit): unknown[] {
  const main = (n: number) => call('write_file', { path: 'main.go', content: program(habit === 'identical' ? 0 : n) });
  return [
    call('todo', { op: 'set', items: ['go.mod', 'main.go', 'README.md'] }),
    call('write_file', { path: 'go.mod', content: 'module example.invalid/hello\n\ngo 1.22\n' }),
    call('write_file', { path: 'README.md', content: '# Hello\n\nSays hello.\n' }),
    main(0),
    call('run_command', { command: BUILD }),
    ...['k1', 'k2', 'k3'].map((id) => call('todo', { op: 'complete', id })),
    ...Array.from({ length: REWRITES - 1 }, (_, n) => main(n + 1)),
    done('Hello world is written.'),
  ];
}

export async function playHelloWorld(habit: Habit, isOn: boolean): Promise<Figures> {
  const off: SceneOptions['parts'] = {
    guards: false,
    parameters: { mode: 'full', tailBudget: 10_000, keep: 2, fillTo: 0, window: 128_000 },
  };
  const scene = await openScene({
    files: {},
    task: STORY,
    script: script(habit),
    parts: { checks: { build: BUILD }, ...(!isOn && off) },
  });
  try {
    const end = await scene.work();
    const writes: Record<string, number> = {};
    for (const line of scene.results()) {
      const [, path] = /^write_file: .*"noop":false,"path":"([^"]+)"/.exec(line) ?? [];
      if (path !== undefined) writes[path] = (writes[path] ?? 0) + 1;
    }
    const sizes = scene.ledgers.map(({ estimated }) => estimated);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    const context = { first: sizes[0] ?? 0, last: sizes.at(-1) ?? 0, most: Math.max(...sizes), all };
    return { writes, turns: scene.prompts.length, context, endedBy: typeof end === 'string' ? end : end.endedBy };
  } finally {
    await scene.close();
  }
}

export function tableOf(rows: readonly { habit: Habit; isOn: boolean; figures: Figures }[]): string {
  const lines = rows.map(({ habit, isOn, figures: { writes, turns, context, endedBy } }) => {
    const files = Object.entries(writes).map(([path, count]) => `${path} ${count}`);
    const cells = [`${context.first} → ${context.last} (most ${context.most})`, `${context.all}`, `${turns}`, endedBy];
    return `| ${habit} | ${isOn ? 'on' : 'off'} | ${files.join(', ')} | ${cells.join(' | ')} |`;
  });
  return [
    '| rewrites | guards | writes | tokens per turn | tokens in all | turns | ended by |',
    '|---|---|---|---|--:|--:|---|',
    ...lines,
  ].join('\n');
}

export async function playAll(): Promise<{ habit: Habit; isOn: boolean; figures: Figures }[]> {
  const rows: { habit: Habit; isOn: boolean; figures: Figures }[] = [];
  for (const habit of ['identical', 'nearly identical'] as const) {
    for (const isOn of [false, true]) rows.push({ habit, isOn, figures: await playHelloWorld(habit, isOn) });
  }
  return rows;
}

if (import.meta.main) console.log(tableOf(await playAll()));
