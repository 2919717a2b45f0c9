import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import { readRequestAt } from '../../base/line-reader.ts';
import type { SandboxSpec } from '../../process/sandbox.ts';
import type { Job } from '../../protocol/jobs.ts';
import type { Adapter, Json } from '../adapter.ts';
import type { JobTransaction } from '../job-transaction.ts';
import type { Outbound, OutboxDoc } from '../outbox.ts';
import { acknowledgeAnswer } from '../questions.ts';

/** Where hooks of an agent write what happens in its terminal, and where they find what was decided elsewhere. */
function places(launchDir: string): { told: string; said: string } {
  return { told: join(launchDir, 'out'), said: join(launchDir, 'said') };
}

interface Talk {
  env: Record<string, string>;
  binds: NonNullable<SandboxSpec['binds']>;
}

/** Makes both places of a terminal, and names them for the agent and its sandbox. */
export function openTalk(launchDir: string, { mode }: Pick<Job, 'mode'>): Talk {
  if (mode !== 'headful') return { env: {}, binds: [] };
  const { told, said } = places(launchDir);
  mkdirSync(said, { recursive: true, mode: 0o700 });
  closeSync(openSync(told, 'a', 0o600));
  const binds = [
    { from: told, to: told },
    { from: said, to: said, isReadOnly: true },
  ];
  return { env: { REEF_TOLD: told, REEF_SAID: said }, binds };
}

const lineSchema = z.strictObject({ to: z.string().regex(/^[\w-]{1,64}$/), say: z.unknown() });

export interface TalkDeps {
  adapter: Pick<Adapter, 'encode'>;
  jobDir: string;
  launchDir: string;
  commit: <T>(change: (tx: JobTransaction) => T) => T;
}

type Told = Extract<OutboxDoc, { kind: 'answer' | 'line' }>;

/** Writes the file that a hook waits for. Doing it again after a kill writes the same. */
export async function sayToHook(deps: TalkDeps, row: Outbound, doc: Told): Promise<void> {
  const lines = doc.kind === 'line' ? [doc.line] : await answerLines(deps, row, doc);
  if (lines === undefined) return;
  const { said } = places(deps.launchDir);
  for (const line of lines) {
    const { to, say } = lineSchema.parse(JSON.parse(line));
    await writeAtomic(join(said, to), say === null ? '' : JSON.stringify(say));
  }
  deps.commit((tx) => {
    if (doc.kind === 'answer') acknowledgeAnswer(tx, doc.requestId);
    else tx.storage.store.outbox.move(row.key, 'delivered');
  });
}

/** Undefined: the agent cannot be told that, and whoever sent it is. */
async function answerLines(
  { adapter, jobDir, commit }: TalkDeps,
  row: Outbound,
  { requestId, answers, launch, line }: Extract<Told, { kind: 'answer' }>,
): Promise<string[] | undefined> {
  const requestLine = await readRequestAt(join(jobDir, String(launch), 'out'), line);
  return commit((tx) => {
    const encoded = adapter.encode(tx.runtime.adapter as Json, { kind: 'answer', requestId, requestLine, answers });
    if ('lines' in encoded) {
      tx.runtime.adapter = encoded.state;
      return encoded.lines;
    }
    const refused = 'refuse' in encoded && { refused: { code: encoded.refuse, message: encoded.message } };
    if (refused) tx.storage.store.outbox.move(row.key, 'failed', { ...row.doc, ...refused });
    return undefined;
  });
}
