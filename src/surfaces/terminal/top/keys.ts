import { StringDecoder } from 'node:string_decoder';

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal sends for keys begins with an escape
const KEY = /\u001b\[[0-9;]*[A-Za-z~]|\u001bO[A-Z]|[\s\S]/gu;

const NAMES: Readonly<Record<string, string>> = {
  '\u001b[A': 'up',
  '\u001bOA': 'up',
  '\u001b[B': 'down',
  '\u001bOB': 'down',
  '\u001b[5~': 'page up',
  '\u001b[6~': 'page down',
  '\u001b[H': 'home',
  '\u001b[F': 'end',
  '\u001b': 'escape',
  '\r': 'enter',
  '\n': 'enter',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'interrupt',
  '\u0015': 'clear',
};

/** Names the keys in what a terminal sends: a character stands for itself. */
export class Keys {
  readonly #decoder = new StringDecoder('utf8');

  read(bytes: Buffer): string[] {
    const keys = this.#decoder.write(bytes).match(KEY) ?? [];
    return keys.map((key) => NAMES[key] ?? key).filter((key) => !key.startsWith('\u001b'));
  }
}
