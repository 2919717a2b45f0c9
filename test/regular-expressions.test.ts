import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { parseSync } from '@swc/core';
import { describe, expect, test } from 'vitest';
import { isTest, ROOT, sourceFiles } from './support/source-files.ts';
import { verifies } from './support/verifies.ts';

/**
 * Every regular expression of the product meets texts that make backtracking ones slow: what it asks for itself, many times over, with an end that
 * does not fit. Steps back are counted by V8 and not timed: of a text twice as long a linear expression takes twice as many, others four times.
 */

const LENGTH = 2_000;
/** A quadratic search takes 1,000 of them for each character. */
const MOST_STEPS = 40 * LENGTH;
/** In no expression and in no text but at its end. */
const END = '\u0002';
const NEVER = '\u0003\u0003';

setFlagsFromString('--allow-natives-syntax');
/** Finds nothing when it had to step back more often than that. */
const withLimit: (pattern: string, flags: string, steps: number) => RegExp = runInThisContext(
  '(pattern, flags, steps) => %NewRegExpWithBacktrackLimit(pattern, flags, steps)',
);

interface Found {
  pattern: string;
  flags: string;
}

function expressionsOf(path: string): Found[] {
  const found: Found[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, pattern, flags } = node as { type?: unknown } & Partial<Found>;
    if (type === 'RegExpLiteral' && typeof pattern === 'string') found.push({ pattern, flags: flags ?? '' });
    for (const child of Object.values(node)) visit(child);
  };
  const code = readFileSync(join(ROOT, path), 'utf8');
  visit(parseSync(code, { syntax: 'typescript', target: 'es2024', tsx: path.endsWith('x') }));
  return found;
}

const TOKENS =
  /(?<open>\((?:\?(?:[:=!]|<[=!]|<\w+>))?)|(?<close>\))|(?<other>\||\^|\$|\\[bB])|(?<atom>\[(?:\\.|[^\]\\])*\]|\\(?:u\{\w+\}|u\w{4}|x\w\w|[pP]\{[^}]+\}|k<\w+>|.)|.)/gsu;
const MANY = /(?:[*+]|\{\d+(?:,\d*)?\})\??/y;

/** V8 repeats a single character without counting. With a way out that is never taken it counts. */
function counted(pattern: string): string {
  const opened: number[] = [];
  let out = '';
  const tokens = new RegExp(TOKENS);
  for (let token = tokens.exec(pattern); token !== null; token = tokens.exec(pattern)) {
    const { open, close, atom } = token.groups ?? {};
    if (open !== undefined) opened.push(out.length);
    const from = close === undefined ? out.length : (opened.pop() ?? 0);
    out += token[0];
    if (atom === undefined && close === undefined) continue;
    MANY.lastIndex = tokens.lastIndex;
    const [many] = MANY.exec(pattern) ?? [];
    if (many === undefined) continue;
    out = `${out.slice(0, from)}(?:${out.slice(from)}|${NEVER})${many}`;
    tokens.lastIndex += many.length;
  }
  return out;
}

const CLASSES: Readonly<Record<string, string>> = {
  s: ' \n\t',
  d: '0',
  w: 'a_',
  S: 'a"',
  D: 'a',
  W: ' -',
  b: '',
  B: '',
};

function escapedBy(letter: string): string {
  return CLASSES[letter] ?? (/[nrtfv]/.test(letter) ? '\n' : letter);
}

/** Characters that the expression speaks of, and the literal text at its beginning. */
function alphabetOf(pattern: string): { characters: string[]; start: string } {
  const plain = pattern.replace(/\\u\{?[0-9a-fA-F]{1,6}\}?|\\x[0-9a-fA-F]{2}|\\[pP]\{[^}]{1,60}\}|\(\?<?[=!:]?/g, '');
  const characters = new Set(['a', ' ', '\n', '0']);
  for (let at = 0; at < plain.length; at++) {
    const character = plain[at] ?? '';
    if (character === '\\') {
      at += 1;
      for (const each of escapedBy(plain[at] ?? '')) characters.add(each);
    } else if (!'()|?*+{}[]^$.'.includes(character)) characters.add(character);
  }
  const [start = ''] = /^\^?((?:\\[^a-zA-Z0-9]|[^\\()|?*+{}[\]^$.])*)/.exec(plain)?.slice(1) ?? [];
  return { characters: [...characters].slice(0, 16), start: start.replaceAll('\\', '') };
}

function* textsFor(pattern: string): Generator<string> {
  const { characters, start } = alphabetOf(pattern);
  const pairs = characters.slice(0, 8).flatMap((a) => characters.slice(0, 8).map((b) => a + b));
  const words = [...characters, start, ...characters.map((each) => start + each), ...pairs];
  for (const word of new Set(words.filter((each) => each !== ''))) {
    const many = word.repeat(Math.ceil(LENGTH / word.length));
    for (const text of start === '' ? [many] : [start + many, many]) yield* [`${text}\u0001`, `${text}\n\u0001`];
  }
}

/** The beginning of a text for which it takes too many steps; undefined where there is none. */
function slowFor({ pattern, flags }: Found): string | undefined {
  // It finds the end of every text at least, unless it gives up before. A sticky one begins nowhere else.
  const toEnd = flags.includes('y') ? `[^]*?${END}` : END;
  const expression = withLimit(`(?:${counted(pattern)})|${toEnd}`, flags.replace('g', ''), MOST_STEPS);
  for (const text of textsFor(pattern)) {
    expression.lastIndex = 0;
    if (!expression.test(text + END)) return text.slice(0, 20);
  }
  return undefined;
}

describe('the search for slow expressions', () => {
  const known: [pattern: RegExp, isSlow: boolean][] = [
    [/\s+$/, true],
    [/^\s*module/m, true],
    [/(a+)+$/, true],
    [/<.*>/s, true],
    [/"[^"]*"[^,]*,/, true],
    [/\d+\.\d+/, true],
    [/^(?:a|b)*(?:a|c)*$/, true],
    [/^\s*(\w+)\s*=\s*$/, false],
    [/^[ \t]*module/m, false],
    [/(?<![\w$])[\w$]+\(/, false],
    [/\s+x/y, false],
    [/[a-z]+/, false],
  ];
  for (const [expression, isSlow] of known) {
    test(`${expression} is ${isSlow ? '' : 'not '}one`, () => {
      const { source: pattern, flags } = expression;
      expect(slowFor({ pattern, flags }) !== undefined).toBe(isSlow);
    });
  }
});

verifies('Q-65').test('no regular expression of the product is slow on a text made for it', () => {
  const screens = readdirSync(join(ROOT, 'web'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.tsx'),
  );
  const web = [...sourceFiles('web'), ...screens.map((path) => join('web', path))];
  const paths = [...sourceFiles('src'), ...web].filter((path) => !isTest(path));
  const all = paths.flatMap((path) => expressionsOf(path).map((found) => ({ path, ...found })));
  const slow = all.flatMap((found) => {
    const text = slowFor(found);
    return text === undefined ? [] : [`${found.path}: /${found.pattern}/${found.flags} on ${JSON.stringify(text)}`];
  });
  expect(slow).toEqual([]);
  expect(all.length).toBeGreaterThan(500);
});
