/** A page's `console` blocks: what is typed, and what is said to it. `…` on a line of its own stands for any lines. */
export interface Typed {
  line: string;
  says: string[];
}

/** The lines of the shell blocks of a page that call reef, without their comments. */
export function commandsOf(page: string): string[] {
  return [...page.matchAll(/```sh\n([\s\S]*?)```/g)]
    .flatMap(([, block = '']) => block.split('\n'))
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line.startsWith('reef '));
}

/** What stands after the name of the program. */
export function argumentsOf(line: string): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', '')).slice(1);
}

export function transcriptOf(page: string): Typed[] {
  const typed: Typed[] = [];
  for (const [, block = ''] of page.matchAll(/```console\n([\s\S]*?)```/g)) {
    for (const line of block.trimEnd().split('\n')) {
      if (line.startsWith('$ ')) typed.push({ line: line.slice(2), says: [] });
      else typed.at(-1)?.says.push(line);
    }
  }
  return typed;
}

/** A command of a page with the question it answers, which has another name every time, as `said` names it. */
export function withQuestion(line: string, said: string): string {
  const [asked] = /--question [0-9a-f]{10}\b/.exec(said) ?? [];
  const [id] = /\b01[0-9A-HJKMNP-TV-Z]{24}\b/.exec(said) ?? [];
  if (asked === undefined || id === undefined || !line.includes(' --question ')) return line;
  return line.replace(/--question \S+/, asked).replace(/\b01[0-9A-HJKMNP-TV-Z]{24}\b/, id);
}

/** What a page shows in the block after the one with this command. */
export function shownAfter(page: string, marker: string): string[] {
  const [, block = ''] = /```\n\n```\n([\s\S]*?)```/.exec(page.slice(page.indexOf(marker))) ?? [];
  return block.trimEnd().split('\n');
}

/** What differs from run to run, as a name. */
const VARYING: [RegExp, string][] = [
  [/\b01[0-9A-HJKMNP-TV-Z]{24}\b/g, 'ID'],
  [/ \(set-up \d+\.\d s\)/g, ''], // where it took a second
  [/\s*\b(?:\d+(?:\.\d+)?\s?(?:ms|s)|\d+m\d+s)\b/g, ' TIME'],
  [/(--question) [0-9a-f]{10}\b/g, '$1 NAME'],
  [/(merged as) [0-9a-f]{12}/g, '$1 COMMIT'],
  [/kill -9 \d+/g, 'kill -9 PID'],
  [/^\d+ (events from)/g, 'N $1'],
  [/\/[^\s'"`]*\/(?:repo|shop)(?=\s)/g, 'FOLDER'],
  [/\b2\.\d+\.\d+\b/g, 'VERSION'],
];

const named = (line: string) => VARYING.reduce((text, [what, name]) => text.replaceAll(what, name), line).trimEnd();

/** The first line of the page that was not said where the page says it; undefined: all of them were. */
export function firstLie(says: readonly string[], said: string): string | undefined {
  const lines = said.split('\n').map(named);
  let at = 0;
  let mayPassOver = false;
  for (const line of says) {
    if (line === '…') {
      mayPassOver = true;
      continue;
    }
    const wanted = named(line);
    const found = mayPassOver ? lines.indexOf(wanted, at) : lines[at] === wanted ? at : -1;
    if (found === -1) return line;
    at = found + 1;
    mayPassOver = false;
  }
  const rest = lines.slice(at).filter((line) => line !== '');
  return mayPassOver || rest.length === 0 ? undefined : `(nothing more), but it says: ${rest[0]}`;
}

/** The project the pages speak of: one test of it fails. */
export const SHOP = {
  'package.json':
    '{ "name": "shop", "type": "module", "scripts": { "lint": "node --check tax.mjs", "test": "node --test" } }\n',
  'tax.mjs': 'export function tax(lines, rate) {\n  return lines.reduce((sum, cents) => sum + cents * rate, 0);\n}\n',
  'tax.test.mjs': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tax } from './tax.mjs';

test('every line is rounded to whole cents', () => assert.equal(tax([105, 215], 0.1), 33));
`,
};
