import { isOver } from '../../../protocol/is-over.ts';
import type { Client } from '../../client/client.ts';
import { fold } from '../../render/fold.ts';
import { runOutcome } from '../../render/run.ts';
import { RunLog } from '../../render/run-log.ts';
import type { Style } from '../../render/style.ts';
import { type LoggedEvent, renderEvent } from '../../render/timeline.ts';
import { worktreeDiff } from '../../render/worktree.ts';
import { questionLines } from './screen.ts';

/** What fills the screen, asked for again while it is open; undefined when nothing more will come. */
export interface Source {
  title: string;
  /** Opens at its end and stays there while more comes. */
  isTail: boolean;
  read(): Promise<readonly string[] | undefined>;
}

const MOST_LINES = 5_000;

const HELP = `reef top shows what all your agents do, in every repository whose daemon runs.

  j k ↑ ↓        move            PgUp PgDn g G   far
  Enter          open: a timeline, a run, or a whole question
  q Esc          back; in the list q leaves, and the agents go on

On a question
  y  allow it, once              s  allow it for the rest of the job
  n  deny it                     t  answer in words, or type why not
  1 … 9          choose an option, or what a halted run does next
  A question that does not fit is opened first: only what was seen can be allowed.

On a task
  d  what it changed             a  merge it; gates that are missing run first
  t  talk to its agent           x  end it

A bell rings when somebody begins to ask.`;

export const helpPage = (): Source => once('help', async () => HELP.split('\n'));

export function questionPage(client: Client, question: Parameters<typeof questionLines>[0], style: Style): Source {
  return once('question', async () => {
    if (!question.cut?.isKept) return questionLines(question, style.width, style);
    const { questions } = await client.call('inbox', { whole: question.fingerprint });
    return questions.flatMap((whole) => questionLines(whole, style.width, style));
  });
}

export function diffPage(client: Client, id: string, style: Style): Source {
  return once('difference', async () => folded(worktreeDiff(await client.call('diff', { id }), style), style));
}

export function jobPage(client: Client, id: string, style: Style): Source {
  const lines: string[] = [];
  let since: string | undefined;
  let previous: LoggedEvent | undefined;
  let hasEnded = false;
  return {
    title: `job ${id}`,
    isTail: true,
    async read() {
      while (!hasEnded) {
        const page = await client.call('output', { id, since, limit: 1_000 });
        since = page.nextCursor;
        for (const event of page.events) {
          lines.push(...folded(renderEvent(event, previous, style), style));
          previous = event;
        }
        lines.splice(0, lines.length - MOST_LINES);
        if (!page.truncated && !isOver(page.status)) return lines;
        hasEnded = !page.truncated;
      }
      return lines;
    },
  };
}

export function runPage(client: Client, id: string, style: Style): Source {
  const log = new RunLog({ style, read: (job, since) => client.call('output', { id: job, since }) });
  const lines: string[] = [];
  return {
    title: `run ${id}`,
    isTail: true,
    async read() {
      const result = await client.call('run_status', { id });
      for await (const line of log.news(result)) lines.push(...folded(line, style));
      lines.splice(0, lines.length - MOST_LINES);
      const [run] = result.runs;
      const now = { ...style, now: new Date() };
      return run ? [...lines, '', ...folded(runOutcome(run, result.view, now), style)] : lines;
    },
  };
}

function once(title: string, read: () => Promise<string[]>): Source {
  let lines: Promise<string[]> | undefined;
  return {
    title,
    isTail: false,
    read: () => {
      lines ??= read();
      return lines;
    },
  };
}

function folded(text: string, { width }: Style): string[] {
  return text.split('\n').flatMap((line) => fold(line, width));
}
