import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { parseJson } from '../base/safe-json.ts';
import { type ContextNews, contextNewsSchema, type StateNews } from '../protocol/repostate.ts';
import { type Ledger, ledgerLine, type Reported, type ReportedCall } from '../repostate/prompt/ledger.ts';
import type { CoderUsage } from './coder-deps.ts';

/** The news of the context manager: a restart builds the same prompt from it, byte for byte. A crash tears at most one line. */
export class JobLog {
  readonly #file: string;
  readonly #ledgerFile: string;

  constructor(jobDir: string) {
    this.#file = `${jobDir}/context-log.jsonl`;
    this.#ledgerFile = `${jobDir}/context.jsonl`;
    mkdirSync(jobDir, { recursive: true, mode: 0o700 });
    for (const file of [this.#file, this.#ledgerFile]) endLine(file);
  }

  append(news: ContextNews | StateNews): void {
    appendFileSync(this.#file, `${JSON.stringify({ type: 'progress', payload: news })}\n`, { mode: 0o600 });
  }

  record(ledger: Ledger, reported: Reported): void {
    appendFileSync(this.#ledgerFile, ledgerLine(ledger, reported), { mode: 0o600 });
  }

  read(): { type: string; payload: unknown }[] {
    return linesOf(this.#file) as { type: string; payload: unknown }[];
  }

  /** The sum over all prompts. What the model wrote is part of the next prompt. */
  used(): CoderUsage {
    const calls = this.calls();
    const sum = (what: 'input' | 'cost') => calls.reduce((total, { reported }) => total + (reported[what] ?? 0), 0);
    return { tokens: sum('input'), usd: sum('cost') };
  }

  calls(): ReportedCall[] {
    return linesOf(this.#ledgerFile) as ReportedCall[];
  }

  /** The last turn whose exchange is in the log. */
  lastTurn(): number {
    const turns = this.read().flatMap(({ payload }) => {
      const news = contextNewsSchema.safeParse(payload);
      return news.success && news.data.kind === 'context.appended' ? [news.data.turn] : [];
    });
    return Math.max(0, ...turns);
  }
}

/** Ends a line that a crash tore, so that the next one stays whole. */
function endLine(file: string): void {
  const text = textOf(file);
  if (text !== '' && !text.endsWith('\n')) appendFileSync(file, '\n');
}

/** Without lines that a crash tore. */
function linesOf(file: string): unknown[] {
  return textOf(file)
    .split('\n')
    .flatMap((line) => {
      const parsed = line === '' ? undefined : parseJson(line);
      return parsed?.ok ? [parsed.value] : [];
    });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
