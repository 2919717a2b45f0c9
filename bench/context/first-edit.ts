import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { codeTools } from '../../src/protocol/code.ts';
import type { CodeQuery } from '../../src/protocol/code-operations.ts';
import { type ChatRequest, type ModelClient, noUsage } from '../../src/runtime/models/client.ts';
import { textOf } from '../../src/runtime/models/message.ts';
import { codeAnswer } from '../../src/surfaces/render/code.ts';
import { createStyle } from '../../src/surfaces/render/style.ts';
import { openScene, say } from '../../test/support/coder/scene.ts';
import { ServerClient } from '../../test/support/context/server-client.ts';
import { plainGit } from '../../test/support/repository.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';

/**
 * How many calls a coder needs until its first right edit, with and without the code that the first prompt shows. The model is
 * a script that reacts: it knows the right place when it sees it and not before, so it reads what was shown, then searches and
 * reads hit after hit. `node bench/context/first-edit.ts` prints the figures, for this repository.
 */
interface EditTask {
  /** As a person writes it. */
  task: string;
  path: string;
  /** A line that stands in no other file; the right edit changes it. */
  line: string;
  /** By what the place is known when it is seen; the line itself where absent. */
  sign?: string;
}

interface FirstEdit {
  /** Of the model, the edit included; undefined when it did not find the place. */
  calls: number | undefined;
  /** Tokens of code in the first prompt. */
  shown: number;
}

const GIVES_UP_AFTER = 16;
const STYLE = createStyle({ colour: false, width: 200, now: new Date() });

/** A slow machine is no part of what is counted. */
const PATIENT: Clock = { ...systemClock, sleep: () => new Promise(() => {}) };

type Call = [name: string, args: Record<string, unknown>];

/** What the model calls next, from what its prompt shows. */
function nextCall({ task, path, line, sign = line }: EditTask, prompt: string, made: readonly Call[]): Call {
  const hasRead = (file: string) => made.some(([name, args]) => name === 'read_file' && args.path === file);
  if (hasRead(path)) return ['edit_file', { path, old: line, new: `${line} // changed` }];
  if (prompt.includes(sign) && prompt.includes(path)) return ['read_file', { path }];
  if (!made.some(([name]) => name === 'code_search')) return ['code_search', { query: task, limit: 10 }];
  const found = [...prompt.matchAll(/^([\w./-]+\.\w+)(?::\d+)? {2}/gm)].flatMap(([, file = '']) => file);
  const next = found.find((file) => !hasRead(file));
  return next === undefined ? ['done', { summary: 'The place was not found.' }] : ['read_file', { path: next }];
}

/** One job of the native coder over a real index, up to its first right edit. `firstLook`: tokens of code, 0 for none. */
async function playFirstEdit(
  files: Record<string, string>,
  wanted: EditTask,
  { firstLook, store }: { firstLook: number; store: string },
): Promise<FirstEdit> {
  const made: Call[] = [];
  let searched = '';
  const around = (client: ModelClient): ModelClient => ({
    ...client,
    async chat({ messages }: ChatRequest) {
      const shown = messages.filter(({ role }) => role === 'user').map(textOf);
      const isOver = made.at(-1)?.[0] === 'edit_file' || made.length >= GIVES_UP_AFTER;
      const next: Call = isOver
        ? ['done', { summary: 'Over.' }]
        : nextCall(wanted, [...shown.slice(1), searched].join('\n'), made);
      made.push(next);
      const [name, args] = next;
      const content = [{ type: 'tool_call' as const, id: `c${made.length}`, name, arguments: args }];
      return { content, usage: noUsage, cost: 0, finish: 'tool_calls' };
    },
  });
  let server: ServerClient | undefined;
  const scene = await openScene({
    files,
    clock: PATIENT,
    task: wanted.task,
    script: [say('It is never asked.')],
    around,
    parts: {
      firstLook,
      async askCode(tool, args) {
        const name = tool as CodeQuery;
        const answer = await server?.call(name, codeTools[name].input.parse(args) as never);
        const text = codeAnswer(name, answer as never, STYLE);
        if (name === 'code_search') searched = text;
        return text;
      },
    },
  });
  try {
    server = new ServerClient({ worktree: scene.checkout, store });
    await server.call('index_code', { path: scene.checkout, wait: 'complete' });
    await scene.work();
    const isEdited = scene.file(wanted.path).includes(`${wanted.line} // changed`);
    const at = made.findIndex(([name]) => name === 'edit_file');
    const shown = scene.ledgers[0]?.segments.find(({ kind }) => kind === 'code')?.tokens ?? 0;
    return { calls: isEdited ? at + 1 : undefined, shown };
  } finally {
    await server?.close();
    await scene.close();
  }
}

interface Played {
  task: EditTask;
  without: FirstEdit;
  with: FirstEdit;
}

/** Prints a line of a table for each task, as it is played. */
export async function playTasks(files: Record<string, string>, tasks: readonly EditTask[]): Promise<Played[]> {
  using folder = disposableFolder();
  const store = join(folder.path, 'code.db');
  const rows: Played[] = [];
  console.log('| task | calls without | calls with | tokens shown |\n|---|--:|--:|--:|');
  for (const task of tasks) {
    const without = await playFirstEdit(files, task, { firstLook: 0, store });
    const row = { task, without, with: await playFirstEdit(files, task, { firstLook: 2_000, store }) };
    rows.push(row);
    console.log(`| ${task.task} | ${callsOf(without)} | ${callsOf(row.with)} | ${row.with.shown} |`);
  }
  return rows;
}

function callsOf({ calls }: FirstEdit): string {
  return calls === undefined ? `not in ${GIVES_UP_AFTER}` : String(calls);
}

/** Of this repository. The lines are looked for first: a task whose line has gone is left out, and named. */
const OWN_TASKS: readonly EditTask[] = [
  {
    task: 'The coder waits too long before it tries an unreachable provider again',
    path: 'src/coder/coder.ts',
    line: 'const LONGEST_PAUSE_MS = 60_000;',
    sign: 'LONGEST_PAUSE_MS',
  },
  {
    task: 'A gap of the event loop while the machine slept counts as awake time',
    path: 'src/base/clock.ts',
    line: 'const GAP_MS = 5_000;',
    sign: 'GAP_MS',
  },
  {
    task: 'The server gives up too early when its memory stays above the ceiling',
    path: 'src/context/server/ceiling.ts',
    line: 'const PATIENCE_MS = 3_000;',
    sign: 'PATIENCE_MS',
  },
  {
    task: 'A file outline that replaces a long file in a prompt shows too few of its first lines',
    path: 'src/context/slices/code-context.ts',
    line: 'const FIRST_LINES = 20;',
    sign: 'FIRST_LINES',
  },
  {
    task: 'A reminder that did not change comes again after too few turns',
    path: 'src/repostate/prompt/context-manager.ts',
    line: 'const REMINDER_TURNS = 8;',
    sign: 'REMINDER_TURNS',
  },
  {
    task: 'A radar question about related files names only a thousand of them',
    path: 'src/app/code-context.ts',
    line: 'const MOST_FILES = 1_000;',
    sign: 'MOST_FILES',
  },
  {
    task: 'Slices of a block wait too long for complete answers of the analysis server',
    path: 'src/context/slices/slice-ask.ts',
    line: 'const COMPLETE_MS = 10_000;',
    sign: 'COMPLETE_MS',
  },
  {
    task: 'list_files of the coder leaves out entries of a large folder',
    path: 'src/coder/tools/files.ts',
    line: 'const MOST_ENTRIES = 500;',
    sign: 'MOST_ENTRIES',
  },
];

/** The tasks are of these; more would only take longer. */
const FOLDERS = ['app', 'base', 'coder', 'context', 'repostate'].map((name) => `src/${name}`);

async function main(): Promise<void> {
  const root = join(import.meta.dirname, '../..');
  const listed = plainGit(root)('ls-files', ...FOLDERS).split('\n');
  const paths = listed.filter((path) => /(?<!\.test)\.ts$/.test(path) && existsSync(join(root, path)));
  const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  const tasks = OWN_TASKS.filter(({ path, line }) => files[path]?.includes(line));
  for (const { task } of OWN_TASKS.filter((each) => !tasks.includes(each))) console.log(`left out: ${task}`);
  console.log(`${paths.length} files\n`);
  await playTasks(files, tasks);
}

if (import.meta.main) await main();
