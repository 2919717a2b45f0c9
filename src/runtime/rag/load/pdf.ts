import { fileURLToPath } from 'node:url';
import { ReefError } from '../../../protocol/errors.ts';
import { type LoaderPlace, runBounded } from './command-loader.ts';
import { roomFor } from './limits.ts';

const READER = fileURLToPath(new URL('pdf-reader.ts', import.meta.url));
/** It reads its own code and writes, starts and evaluates nothing; the network is taken from it where that can be done. */
const CONFINED = [
  '--permission',
  '--allow-fs-read=*',
  '--disallow-code-generation-from-strings',
  '--max-old-space-size=512',
];

/** The text of a PDF, page by page. */
export async function pdfToText(content: Uint8Array, place: LoaderPlace): Promise<string> {
  const maxBytes = roomFor(content.length);
  const args = [...CONFINED, READER, String(maxBytes)];
  const program = { file: process.execPath, args, cwd: '/', input: content, isOffline: true, maxBytes };
  const { code, signal, stdout, stderr } = await runBounded(program, place);
  if (code !== 0) throw broken(code === 1 ? stderr.trim() : `the reader ended with ${signal ?? code}`);
  if (stdout.trim() === '') throw broken('it holds no text; its pages may be pictures');
  return stdout;
}

function broken(why: string): ReefError {
  return new ReefError('loader_failed', `The PDF cannot be read: ${why}`);
}
