import { ReefError } from '../../../protocol/errors.ts';
import { extensionOf } from '../text/separators.ts';
import { type LoaderPlace, runLoader } from './command-loader.ts';
import { docxToText } from './docx.ts';
import { htmlToText } from './html.ts';
import { roomFor } from './limits.ts';
import { pdfToText } from './pdf.ts';

/** What `setupDocumentLoaders` fills in where nothing is configured. */
export const DEFAULT_LOADERS: Readonly<Record<string, string>> = Object.freeze({
  pdf: 'pdftotext $1 -',
  docx: 'pandoc --to plain $1',
});

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

/** What turns a file of this name into text; part of its hash. */
export function loaderFor(path: string, { loaders }: LoadSettings): string {
  const extension = extensionOf(path);
  return loaders[extension] ?? (extension in BUILT_IN ? `built-in ${extension}` : 'text');
}

/** A configured command wins; a default one that is not installed gives way to ours, where we have one. */
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

/** A file with a NUL in its head is no text. */
const HEAD = 8192;

export function plainText(content: Uint8Array): string {
  if (content.subarray(0, HEAD).includes(0))
    throw new ReefError('loader_failed', 'It is binary, and no loader is configured for it');
  return new TextDecoder().decode(content);
}
