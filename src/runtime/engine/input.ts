import { opendir, stat } from 'node:fs/promises';
import { extname, join, relative, resolve } from 'node:path';
import { pathFilter } from '../../base/glob.ts';
import { readUpTo } from '../../base/read-up-to.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { FilePart, UserMessage } from '../models/message.ts';
import type { RunCommand } from '../tools/command.ts';

export type Source = { kind: 'path'; path: string } | { kind: 'command'; command: string } | { kind: 'last_reply' };

const LAST_REPLY = '%%';

/** Parses `a "b c" \`git diff\` %% -- text`: quotes keep blanks, backticks are commands, `%%` is the last reply. */
export function parseFileLine(line: string): { sources: Source[]; text: string } {
  const sources: Source[] = [];
  let rest = line.trimStart();
  while (rest !== '') {
    if (rest === '--' || /^--\s/.test(rest)) return { sources, text: rest.slice(2).trim() };
    const { source, length } = nextSource(rest);
    sources.push(source);
    rest = rest.slice(length).trimStart();
  }
  return { sources, text: '' };
}

export function toSource(word: string): Source {
  if (word === LAST_REPLY) return { kind: 'last_reply' };
  const [, command] = /^`([^`]+)`$/.exec(word) ?? [];
  return command === undefined ? { kind: 'path', path: word } : { kind: 'command', command };
}

function nextSource(rest: string): { source: Source; length: number } {
  const quote = rest[0] ?? '';
  if (quote !== '"' && quote !== "'" && quote !== '`') {
    const [word = ''] = /^(?:\\.|\S)+/.exec(rest) ?? [];
    return { source: toSource(word.replace(/\\(.)/g, '$1')), length: word.length };
  }
  const end = rest.indexOf(quote, 1);
  if (end === -1) throw new ReefError('bad_request', `A ${quote} is not closed: ${rest.slice(0, 80)}`);
  const inside = rest.slice(1, end);
  const source: Source = quote === '`' ? { kind: 'command', command: inside } : { kind: 'path', path: inside };
  return { source, length: end + 1 };
}

export interface InputDeps {
  cwd: string;
  home: string;
  shell: string;
  run: RunCommand;
  lastReply?: string | undefined;
  /** Loads addresses, `loader:path`, and files that need a loader. */
  load: (source: string, signal: AbortSignal) => Promise<readonly { source: string; text: string }[]>;
  /** Names of loaders, and file extensions that have one. */
  loaders: readonly string[];
  signal: AbortSignal;
}

const IMAGES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};
const MOST_FILES = 500;
const MAX_TEXT = 8 * 1024 * 1024;
const MAX_IMAGE = 16 * 1024 * 1024;
const SKIPPED = new Set(['node_modules', '.git', '.reef']);

type Piece = { source: string; text: string } | FilePart;

/** Builds a question from its words, then each text under its name, then the images. */
export async function createInput(text: string, sources: readonly Source[], deps: InputDeps): Promise<UserMessage> {
  const pieces: Piece[] = [];
  for (const source of sources) pieces.push(...(await read(source, deps)));
  const texts = pieces.flatMap((piece) => ('source' in piece ? [section(piece)] : []));
  const files = pieces.flatMap((piece) => ('source' in piece ? [] : [piece]));
  const size = texts.reduce((sum, each) => sum + each.length, 0);
  if (size > MAX_TEXT)
    throw new ReefError('bad_request', `The files have ${size} characters; at most ${MAX_TEXT} are sent`);
  const whole = [text, ...texts].filter((each) => each !== '').join('\n\n');
  return { role: 'user', content: [{ type: 'text', text: whole }, ...files] };
}

const section = ({ source, text }: { source: string; text: string }) =>
  source === '' ? text : `============ PATH: ${source} ============\n${text}`;

async function read(source: Source, deps: InputDeps): Promise<Piece[]> {
  switch (source.kind) {
    case 'last_reply':
      if (deps.lastReply === undefined)
        throw new ReefError('bad_request', 'There is no reply yet: %% stands for the last one');
      return [{ source: '', text: deps.lastReply }];
    case 'command':
      return [await outputOf(source.command, deps)];
    case 'path':
      return readPath(source.path, deps);
  }
}

async function outputOf(command: string, { run, shell, cwd, signal }: InputDeps): Promise<Piece> {
  const { code, stdout, stderr } = await run({ file: shell, args: ['-c', command], cwd, signal });
  if (code !== 0) throw new ReefError('bad_request', `\`${command}\` failed: ${stderr.trim() || `exit code ${code}`}`);
  return { source: `\`${command}\``, text: stdout };
}

async function readPath(path: string, deps: InputDeps): Promise<Piece[]> {
  const { cwd, home, loaders, load, signal } = deps;
  const [, loader] = /^([A-Za-z][\w-]*):/.exec(path) ?? [];
  if (/^https?:\/\//.test(path) || (loader !== undefined && loaders.includes(loader)))
    return [...(await load(path, signal))];
  const full = resolve(cwd, path.replace(/^~(?=\/|$)/, home));
  const found = await stat(full).catch(() => undefined);
  if (found?.isDirectory()) return readAll(full, () => true, deps);
  if (found) return readFileAt(full, deps);
  const wild = path.search(/[*?{]/);
  if (wild < 0) throw new ReefError('bad_request', `${path} does not exist`);
  const below = path.lastIndexOf('/', wild) + 1;
  return readAll(resolve(cwd, path.slice(0, below)), pathFilter(path.slice(below)), deps);
}

async function readAll(folder: string, isWanted: (path: string) => boolean, deps: InputDeps): Promise<Piece[]> {
  const files = await filesBelow(folder, deps.signal);
  const wanted = files.filter((file) => isWanted(relative(folder, file)));
  if (wanted.length === 0) throw new ReefError('bad_request', `${folder} has no file to read`);
  if (wanted.length > MOST_FILES) {
    throw new ReefError('bad_request', `${folder} has ${wanted.length} files; at most ${MOST_FILES} are sent`);
  }
  const pieces: Piece[] = [];
  for (const file of wanted) pieces.push(...(await readFileAt(file, deps, 'skip')));
  return pieces;
}

async function filesBelow(folder: string, signal: AbortSignal): Promise<string[]> {
  const files: string[] = [];
  for await (const entry of await opendir(folder)) {
    signal.throwIfAborted();
    const path = join(folder, entry.name);
    if (entry.isFile()) files.push(path);
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) files.push(...(await filesBelow(path, signal)));
  }
  return files.sort();
}

/** Binary files of a folder are skipped. A file that was named must be readable. */
async function readFileAt(path: string, deps: InputDeps, binary: 'refuse' | 'skip' = 'refuse'): Promise<Piece[]> {
  const ending = extname(path).toLowerCase();
  const shown = relative(deps.cwd, path).startsWith('..') ? path : relative(deps.cwd, path);
  const mediaType = IMAGES[ending];
  if (mediaType === undefined && deps.loaders.includes(ending.slice(1)))
    return [...(await deps.load(path, deps.signal))];
  const most = mediaType === undefined ? MAX_TEXT : MAX_IMAGE;
  const { bytes, isWhole } = await readUpTo(path, most);
  const isBinary = mediaType === undefined && bytes.subarray(0, 8_192).includes(0);
  if (isBinary && binary === 'skip') return [];
  if (!isWhole) throw new ReefError('bad_request', `${shown} is larger than ${most} bytes, the most that is sent`);
  if (mediaType !== undefined) return [{ type: 'file', mediaType, data: bytes.toString('base64'), name: shown }];
  if (!isBinary) return [{ source: shown, text: bytes.toString('utf8') }];
  throw new ReefError('bad_request', `${shown} is not text, and no loader is configured for ${ending || 'it'}`);
}
