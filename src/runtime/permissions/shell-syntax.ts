/** Programs that run a line from an argument or from their input. */
export const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash']);

/** For each wrapper, the options that take a value, and how many words come before the command. */
export const WRAPPERS: Readonly<Record<string, { valued: RegExp; words: number }>> = {
  sudo: { valued: /^-[ugpCDhRrTt]$/, words: 0 },
  doas: { valued: /^-[uC]$/, words: 0 },
  env: { valued: /^-[uC]$/, words: 0 },
  command: { valued: /^$/, words: 0 },
  builtin: { valued: /^$/, words: 0 },
  exec: { valued: /^-a$/, words: 0 },
  nohup: { valued: /^$/, words: 0 },
  setsid: { valued: /^$/, words: 0 },
  nice: { valued: /^-n$/, words: 0 },
  ionice: { valued: /^-[cnp]$/, words: 0 },
  timeout: { valued: /^-[ks]$/, words: 1 },
  stdbuf: { valued: /^-[ioe]$/, words: 0 },
  xargs: { valued: /^-[adEILnPs]$/, words: 0 },
  busybox: { valued: /^$/, words: 0 },
};

/** The command among the words of a wrapper. */
export function afterOptions<Word extends { text: string }>(
  words: readonly Word[],
  { valued, words: before }: { valued: RegExp; words: number },
): Word[] {
  let at = 0;
  for (; words[at]?.text.startsWith('-'); at++) if (valued.test(words[at]?.text ?? '')) at++;
  return words.slice(at + before);
}

/** They change what later words mean, or run an argument. */
const CHANGING = new Set('alias bind compgen complete enable fc hash let mapfile readarray shopt'.split(' '));
/** They take names of variables. */
const NAMING = new Set('declare export getopts local read readonly typeset unset wait'.split(' '));

/** Whether a builtin is given the name of a variable that may hold a subscript: the shell computes `a[$(rm x)]`, quoted or not. */
export function actsOnNames(name: string, rest: readonly { text: string }[]): boolean {
  if (CHANGING.has(name)) return true;
  if (name === 'printf' || name === 'test' || name === '[') return rest.some(({ text }) => text.startsWith('-v'));
  return NAMING.has(name) && rest.some(({ text }) => !/^[-+\w]*$/.test(text.split('=', 1)[0] ?? ''));
}

export const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1);

/** Counts parentheses outside quotes. A comment or `case` inside may mislead it; then the rest does not parse. */
export function closingParenthesis(line: string, start: number): number | undefined {
  let depth = 1;
  for (let at = start; at < line.length; at++) {
    const character = line[at];
    if (character === '\\') at++;
    else if (character === "'" || character === '"') {
      const end = endOfQuote(line, at);
      if (end === undefined) return undefined;
      at = end;
    } else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return at;
  }
  return undefined;
}

function endOfQuote(line: string, start: number): number | undefined {
  const quote = line[start];
  for (let at = start + 1; at < line.length; at++) {
    if (quote === '"' && line[at] === '\\') at++;
    else if (line[at] === quote) return at;
  }
  return undefined;
}
