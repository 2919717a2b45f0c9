import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../../process/run.ts';
import { ReefError } from '../../../protocol/errors.ts';

const TIMEOUT_MS = 120_000;
const STDERR_SHOWN = 500;

export interface LoaderPlace {
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** Runs a configured loader: `$1` is the input, `$2`, if there is one, the file it writes; no shell (R-46). */
export async function runLoader(command: string, input: string, place: LoaderPlace): Promise<string> {
  const output = join(tmpdir(), `reef-loader-${randomUUID()}`);
  const [file, ...args] = wordsOfCommand(command).map((word) => word.replaceAll('$1', input).replaceAll('$2', output));
  if (file === undefined) throw new ReefError('loader_failed', 'The loader is an empty command');
  try {
    const ended = await run({ file, args, ...place, timeoutMs: TIMEOUT_MS });
    if (ended.timedOut) throw new ReefError('loader_failed', `${file} took longer than ${TIMEOUT_MS / 1000} s`);
    if (ended.code !== 0) {
      const said = ended.stderr.toString().trim().slice(0, STDERR_SHOWN);
      throw new ReefError('loader_failed', `${file} ended with ${ended.signal ?? ended.code}${said && `: ${said}`}`);
    }
    return command.includes('$2') ? await readFile(output, 'utf8') : ended.stdout.toString();
  } finally {
    await rm(output, { force: true });
  }
}

/** Words as a shell would see them, quotes included, but nothing is expanded. */
export function wordsOfCommand(command: string): string[] {
  const words = command.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g);
  return [...words].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
}
