import { fileURLToPath } from 'node:url';
import { ReefError } from '../../../protocol/errors.ts';
import { DEFAULT_LOADERS } from '../../config/app-config.ts';
import { extensionOf } from '../text/split.ts';
import { type LoaderPlace, roomFor, runBounded, runLoader } from './command-loader.ts';
import { docxToText } from './docx.ts';
import { htmlToText } from './html.ts';

export interface LoadSettings extends LoaderPlace {
  /** Extension or name → command. */
  loaders: Readonly<Record<string, string>>;
}

type OwnLoader = (content: Uint8Array, place: LoaderPlace) => string | Promise<string>;

const BUILT_IN: Readonly<Record<string, OwnLoader>> = Object.freeze({
  pdf: pdfToText,
  docx: docxToText,
  html: (content) => htmlToText(plainText(content)),
  htm: (content) => htmlToText(plainText(content)),
});

/** Names the loader of a file. The name is part of the file's hash. */
export function loaderFor(path: string, { loaders }: LoadSettings): string {
  const extension = extensionOf(path);
  return loaders[extension] ?? (extension in BUILT_IN ? `built-in ${extension}` : 'text');
}

/** A configured command comes first. If a default command is not installed, the built-in loader is used. */
export async function loadText(path: string, content: Uint8Array, settings: LoadSettings): Promise<string> {
  const extension = extensionOf(path);
  const command = settings.loaders[extension];
  const ours = BUILT_IN[extension];
  if (command === undefined) return ours ? ours(content, settings) : plainText(content);
  try {
    return await runLoader({ command, input: path, room: roomFor(content.length), isOffline: true }, settings);
  } catch (error) {
    const isMissing = error instanceof ReefError && error.code === 'spawn_failed';
    if (!isMissing) throw error;
    if (command === DEFAULT_LOADERS[extension] && ours) return ours(content, settings);
    throw new ReefError('loader_failed', `${path} needs \`${command}\`, which is not installed`, { cause: error });
  }
}

/** A NUL in the first bytes means that a file is binary. */
const HEAD = 8192;

export function plainText(content: Uint8Array): string {
  if (content.subarray(0, HEAD).includes(0))
    throw new ReefError('loader_failed', 'The file is binary, and no loader is configured for it');
  return new TextDecoder().decode(content);
}

const READER = fileURLToPath(new URL('pdf-reader.ts', import.meta.url));
/** The reader only reads: it cannot write, start programs or evaluate code. It has no network where the machine allows that. */
const CONFINED = [
  '--permission',
  '--allow-fs-read=*',
  '--disallow-code-generation-from-strings',
  '--max-old-space-size=512',
];

export async function pdfToText(content: Uint8Array, place: LoaderPlace): Promise<string> {
  const maxBytes = roomFor(content.length);
  const args = [...CONFINED, READER, String(maxBytes)];
  const program = { file: process.execPath, args, cwd: '/', input: content, isOffline: true, maxBytes };
  const { code, signal, stdout, stderr } = await runBounded(program, place);
  if (code !== 0) throw broken(code === 1 ? stderr.trim() : `the reader ended with ${signal ?? code}`);
  if (stdout.trim() === '') throw broken('it has no text; its pages may be images');
  return stdout;
}

function broken(why: string): ReefError {
  return new ReefError('loader_failed', `The PDF cannot be read: ${why}`);
}

/** A document that is not read yet. */
export interface SourceDocument {
  /** The path or URL of the document. */
  source: string;
  /** Names its loader. It is part of the hash, so that a changed loader loads again. */
  loadedBy: string;
  content(): Promise<Uint8Array>;
  text(): Promise<string>;
}
