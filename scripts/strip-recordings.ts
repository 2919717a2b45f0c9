import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Recordings keep how an agent program speaks, not what its makers wrote: their instructions and descriptions, and code
 * that a stack trace quotes, become as many characters that say so. Run it after recording: `node scripts/strip-recordings.ts`.
 */

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['test/fixtures/agents', 'test/fixtures/runtime/recorded'];

const LONGEST = 320;
/** Of fields that hold prose of the makers and nothing else. */
const LONGEST_PROSE = 100;
const PROSE = /^(?:description|migrationMarkdown|\w*instructions|systemPrompt)$/i;
/** Changes that the scripted model made. */
const OURS = 'diff';

const LEFT_OUT = '[text of the agent program, ';
const STRING = /"((?:[^"\\]|\\.)*)"(\s*:)?/g;

export function recordings(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
}

/** The same recording without such text; the same text when it has none. */
export function withoutProse(file: string, text: string): string {
  if (/\.jsonl?$/.test(file)) return inJson(text);
  return text
    .split('\n')
    .map((line) => inValue('', line))
    .join('\n');
}

/** String by string, so that all else keeps its bytes. */
function inJson(text: string): string {
  let key = '';
  return text.replace(STRING, (token: string, _inner: string, colon: string | undefined) => {
    const value: string = JSON.parse(colon === undefined ? token : token.slice(0, -colon.length));
    if (colon !== undefined) {
      key = value;
      return token;
    }
    const kept = inValue(key, value);
    return kept === value ? token : JSON.stringify(kept);
  });
}

function inValue(key: string, value: string): string {
  if (isJson(value)) return inJson(value);
  const isShort = value.length <= (PROSE.test(key) ? LONGEST_PROSE : LONGEST);
  if (isShort || key === OURS || value.startsWith(LEFT_OUT)) return value;
  return `${LEFT_OUT}${value.length.toLocaleString('en')} characters, left out]`.padEnd(value.length, '.');
}

function isJson(text: string): boolean {
  if (!/^[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  for (const file of recordings()) {
    const text = readFileSync(file, 'utf8');
    const kept = withoutProse(file, text);
    if (kept !== text) writeFileSync(file, kept);
  }
}
