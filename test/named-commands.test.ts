import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { parseSync } from '@swc/core';
import { CommanderError } from 'commander';
import { expect } from 'vitest';
import { createProgram, inFull } from '../src/programs/reef.ts';
import { isTest, ROOT, sourceFiles } from './support/source-files.ts';
import { verifies } from './support/verifies.ts';

/** Every command that a message, a help text or a page names is walked through the grammar that people type into. */

interface Named {
  where: string;
  /** As it is written, without `reef`. */
  line: string;
}

/** What follows "reef" in a sentence about something else. */
const PROSE = /^(protocol|scratch|and|is|from|only|agent|home)\b/;
/** Where a command ends inside a sentence. */
const END =
  /`|\n| {2}|; |: |\.\s|\.$|,|\(|\)|\u2026$| \u2013 | shows | lists | {1}continues | starts | makes | brings /;

function commandsIn(text: string, where: string): Named[] {
  return [...text.matchAll(/(?<![\w./@-]|complete -c |mcp add )reef (?=[a-z])/g)].flatMap(({ index }) => {
    const rest = text.slice(index + 'reef '.length);
    const line = (rest.split(END)[0] ?? '').trim();
    return PROSE.test(line) || line === '' ? [] : alternatives(line).map((each) => ({ where, line: each }));
  });
}

/** `worktree diff|accept ID` names two commands. */
function alternatives(line: string): string[] {
  const words = line.split(' ');
  const at = words.findIndex((word) => /^[a-z]+(\\?\|[a-z]+)+$/.test(word));
  if (at === -1) return [line];
  return (words[at] ?? '').split(/\\?\|/).map((word) => words.with(at, word).join(' '));
}

type Node = Record<string, unknown> & { type: string };

function* nodes(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value && typeof value.type === 'string') yield value as Node;
  for (const child of Object.values(value)) yield* nodes(child);
}

const VERBS = ['approve', 'resume', 'retry', 'skip', 'abort', 'hold'];

/** The text of a literal; what a template fills in stands as ID, a verb as each of the verbs. */
function texts(node: Node): string[] {
  if (node.type === 'StringLiteral') return [`${node.value}`];
  if (node.type !== 'TemplateLiteral') return [];
  const holes = (node.expressions ?? []) as Node[]; // swc keeps none for the type of a template
  return (node.quasis as { cooked?: string; raw: string }[]).reduce<string[]>(
    (before, { cooked, raw }, index) => {
      const hole = index === 0 ? undefined : holes[index - 1];
      const isVerb = hole?.type === 'Identifier' && hole.value === 'verb';
      const verbs = / run $/.test(before[0] ?? '') ? VERBS : ['get']; // of a run, or of anything else
      const fills = hole === undefined ? [''] : isVerb ? verbs : ['ID'];
      return before.flatMap((text) => fills.map((fill) => text + fill + (cooked ?? raw)));
    },
    [''],
  );
}

const inSource = (): Named[] =>
  sourceFiles('src')
    .filter((path) => !isTest(path))
    .flatMap((path) => {
      const code = readFileSync(join(ROOT, path), 'utf8');
      const literals = [...nodes(parseSync(code, { syntax: 'typescript', target: 'es2024' }))].flatMap(texts);
      return literals.flatMap((text) => commandsIn(text, path));
    });

/** Code of a page: what stands between backticks, and the lines of a fenced block that begin with the command. */
function inPages(): Named[] {
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)].flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const fenced = [...text.matchAll(/^(?:\$ )?(reef .*)$/gm)].map(([, line = '']) => line.replace(/ +#.*$/, ''));
    const inline = [...text.matchAll(/`(reef [^`\n]*)`/g)].map(([, line = '']) => line);
    return [...fenced, ...inline].flatMap((line) => commandsIn(line, page));
  });
}

/** Words as a shell would make them; the end of a pipe or a redirection is the shell's own. */
function wordsOf(line: string): string[] {
  const found = line.split(/ [|>&]+ | \d?>/)[0]?.matchAll(/"([^"]*)"|'([^']*)'|<[^>]*>|\[[^\]]*\]|\S+/g) ?? [];
  return [...found].map(([word, double, single]) => double ?? single ?? word).filter((word) => !/^\[/.test(word));
}

/** A sentence may name a command without its arguments; everything else has to be right. */
const MENTIONS = [
  'commander.missingArgument',
  'commander.optionMissingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.help',
];

async function faultOf({ line }: Named): Promise<string | undefined> {
  const argv = inFull(['node', 'reef', ...wordsOf(line)]);
  const sink = { write: () => true } as unknown as NodeJS.WritableStream;
  const host = { argv, env: {}, cwd: () => '/', stdin: new PassThrough(), stdout: sink, stderr: sink };
  const program = await createProgram(host, async () => {});
  try {
    await program.parseAsync(argv);
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return MENTIONS.includes(error.code) ? undefined : error.message;
  }
}

verifies('J-02').test(
  'every command that a message, a hint, a help text or a page names is one that Reef has',
  async () => {
    const all = [...inSource(), ...inPages()];
    expect(all.length).toBeGreaterThan(250);
    const wrong: string[] = [];
    for (const named of all) {
      const fault = await faultOf(named);
      if (fault !== undefined) wrong.push(`${named.where}: reef ${named.line}: ${fault}`);
    }
    expect([...new Set(wrong)]).toEqual([]);
  },
);
