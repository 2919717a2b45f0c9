import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { readEnvironment } from '../base/env.ts';
import { ReefError, toReefError } from '../protocol/errors.ts';
import { answer } from '../surfaces/completion/answer.ts';
import type { Asked, Said } from '../surfaces/http/door/asked.ts';

/**
 * `completion.ts RECORDS`: one question over HTTP, in a process of its own. It reads what is asked as a line of JSON, and writes
 * what happens as lines. The end of its input, or SIGTERM, cancels it.
 */
const [records = ''] = process.argv.slice(2);
const gone = new AbortController();
const leave = () => gone.abort(new ReefError('cancelled', 'The client went away'));
process.on('SIGTERM', leave);
process.stdout.on('error', leave);

/** Waits where the reader is slow, so that nothing piles up. */
async function say(said: Said): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(said)}\n`)) await once(process.stdout, 'drain', { signal: gone.signal });
}

const warn = (message: string) => void process.stderr.write(`${message}\n`);
await say(await lastWord()).catch(() => {});
process.exit(0);

async function lastWord(): Promise<Said> {
  const lines = createInterface({ input: process.stdin });
  const [line] = (await once(lines, 'line')) as [string];
  lines.once('close', leave);
  // The tag in the environment is there to find this process. It stands for the person, who showed a token.
  const env = { ...readEnvironment(), isInJob: false };
  const emitter = {
    emit: (event: Said) => (event.type === 'error' || event.type === 'finished' ? undefined : say(event)),
  };
  try {
    const place = { env, cwd: process.cwd(), records, emitter, warn, signal: gone.signal };
    return { type: 'result', value: await answer(JSON.parse(line) as Asked, place) };
  } catch (error) {
    return { type: 'failed', error: toReefError(error).toBody().error };
  }
}
