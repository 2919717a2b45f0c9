import { ReefError } from '../../protocol/errors.ts';

/** What `.file` and `-f` name: things to read, then the words after `--`. */
export interface FileLine {
  sources: Source[];
  text: string;
}

export type Source = { kind: 'path'; path: string } | { kind: 'command'; command: string } | { kind: 'last_reply' };

const LAST_REPLY = '%%';

/** `a "b c" \`git diff\` %% -- text`: quotes keep blanks, backticks are commands, `%%` is the last reply. */
export function parseFileLine(line: string): FileLine {
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
