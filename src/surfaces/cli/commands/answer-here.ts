import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import type { InboxEntry } from '../../../protocol/job-operations.ts';
import type { OperationInput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import type { Cli } from '../cli.ts';
import { renderQuestion } from '../render/question.ts';

type Answer = Omit<OperationInput<'send'>, 'id' | 'questionId' | 'fingerprint' | 'key'>;

/** Asks the person at this terminal. False: they leave it open. A permission is given by `y` and by nothing else. */
export async function answerHere(cli: Cli, client: Client, asked: InboxEntry): Promise<boolean> {
  if (asked.secret) return false; // it would be seen as it is typed
  cli.out(`\n${renderQuestion(asked, cli.style, [])}`);
  for (;;) {
    const line = await ask(cli, promptFor(asked));
    if (line === undefined || line === '') return false;
    const answer = answerOf(asked, line);
    if (answer === undefined) continue;
    const { jobId, questionId, fingerprint } = asked;
    await client.call('send', { id: jobId, questionId, fingerprint, ...answer });
    return true;
  }
}

function promptFor({ kind, options, choices }: InboxEntry): string {
  if (kind === 'permission') return 'Allow it? y allows it once, n denies it, Enter leaves it open: ';
  return (choices ?? options ?? []).length > 0
    ? 'Your choice, by number; Enter leaves it open: '
    : 'Your answer; Enter leaves it open: ';
}

/** Undefined: that is no answer to this question. */
function answerOf({ kind, options, choices, freeText, multi }: InboxEntry, line: string): Answer | undefined {
  if (kind === 'permission') {
    if (/^y(es)?$/i.test(line)) return { decision: 'allow_once' };
    return /^no?$/i.test(line) ? { decision: 'deny' } : undefined;
  }
  const count = (choices ?? options ?? []).length;
  if (count === 0) return { text: line };
  const numbers = line.split(/[ ,]+/);
  const areNumbers = numbers.every((each) => /^\d+$/.test(each) && Number(each) >= 1 && Number(each) <= count);
  if (areNumbers && (multi || numbers.length === 1)) return { option: numbers };
  return freeText ? { text: line } : undefined;
}

/** Undefined: there is nobody any more. */
async function ask({ host }: Cli, prompt: string): Promise<string | undefined> {
  const lines = createInterface({ input: host.stdin as Readable, output: host.stderr as Writable });
  const closed = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
  try {
    return (await Promise.race([lines.question(prompt), closed]))?.trim();
  } finally {
    lines.close();
  }
}
