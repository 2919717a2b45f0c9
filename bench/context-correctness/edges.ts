import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { CodeToolName, CodeToolResult, RelatedSymbol } from '../../src/protocol/code.ts';

/**
 * Which definition uses which, against labels by hand. The small corpora of test/fixtures are labelled wholly; of real repositories,
 * each at one commit, a sample of the answers was read and judged.
 */
const CORPORA = new URL('../../test/fixtures/context/edges/', import.meta.url);
const LABELS = new URL('labels/', import.meta.url);

/** `user -> used`, by the ids of the answers. */
type EdgeText = string;

export interface EdgeCorpus {
  name: string;
  files: Record<string, string>;
  edges: ReadonlySet<EdgeText>;
}

/** One text holds all files of a corpus, so that no tool of ours takes them for code of ours. */
export function edgeCorpora(): EdgeCorpus[] {
  const names = readdirSync(CORPORA).filter((name) => name.endsWith('.txt'));
  return names.map((name) => {
    const parts = readFileSync(new URL(name, CORPORA), 'utf8').split(/^=== (.+)\n/m);
    const files: Record<string, string> = {};
    for (let at = 1; at < parts.length; at += 2) files[parts[at] as string] = parts[at + 1] ?? '';
    const edges = readFileSync(new URL(name.replace('.txt', '.edges'), CORPORA), 'utf8');
    return { name: basename(name, '.txt'), files, edges: new Set(edges.trim().split('\n')) };
  });
}

export interface Labels {
  repository: string;
  commit: string;
  judged: { isRight: boolean; edge: EdgeText }[];
}

export function labelsAt(commit: string): Labels | undefined {
  const all = readdirSync(LABELS).map((name) => readLabels(readFileSync(new URL(name, LABELS), 'utf8')));
  return all.find((labels) => labels.commit === commit);
}

function readLabels(text: string): Labels {
  const [head = '', ...lines] = text.trim().split('\n');
  const [repository = '', commit = ''] = head.split(' ');
  const judged = lines.map((line) => ({
    isRight: line.startsWith('right '),
    edge: line.slice(line.indexOf(' ') + 1),
  }));
  return { repository, commit, judged };
}

export interface Asking {
  call(name: CodeToolName, args: Record<string, unknown>): Promise<object>;
}

/** Every use of every definition, as a server tells it. */
export async function allEdges(server: Asking, paths: readonly string[]): Promise<Set<EdgeText>> {
  const edges = new Set<EdgeText>();
  for (const file_path of paths) {
    const outline = await server.call('get_file_outline', { file_path, require: 'complete' });
    const { symbols } = outline as CodeToolResult<'get_file_outline'>;
    for (const { name, line } of symbols)
      for (const edge of await usersOf(server, { name, file_path, line })) edges.add(edge);
  }
  return edges;
}

async function usersOf(server: Asking, about: { name: string; file_path: string; line: number | null }) {
  const answer = await server.call('get_callers', { ...about, limit: 2_000, require: 'complete' });
  return (answer as CodeToolResult<'get_callers'>).related.map(toEdge);
}

function toEdge({ id, of }: RelatedSymbol): EdgeText {
  return `${id} -> ${of}`;
}

export interface EdgeCheck {
  name: string;
  given: number;
  wrong: EdgeText[];
  missed: EdgeText[];
  precision: number;
  recall: number;
}

export function checkWhole({ name, edges }: EdgeCorpus, found: ReadonlySet<EdgeText>): EdgeCheck {
  const wrong = [...found].filter((edge) => !edges.has(edge));
  const missed = [...edges].filter((edge) => !found.has(edge));
  const precision = 1 - wrong.length / Math.max(1, found.size);
  return { name, given: found.size, wrong, missed, precision, recall: 1 - missed.length / edges.size };
}

/** Of the edges that were judged, those that are given now. */
export async function checkSample({ repository, commit, judged }: Labels, server: Asking): Promise<EdgeCheck> {
  const right = judged.filter(({ isRight }) => isRight);
  const found = new Set<EdgeText>();
  for (const used of new Set(judged.map(({ edge }) => edge.split(' -> ')[1] as string))) {
    const [, file_path = '', name = '', line = '1'] = /^(.*)#(?:.*\.)?([^.]+):(\d+)$/.exec(used) ?? [];
    for (const edge of await usersOf(server, { name, file_path, line: Number(line) })) found.add(edge);
  }
  const given = judged.filter(({ edge }) => found.has(edge));
  const wrong = given.filter(({ isRight }) => !isRight).map(({ edge }) => edge);
  const missed = right.filter(({ edge }) => !found.has(edge)).map(({ edge }) => edge);
  const precision = 1 - wrong.length / Math.max(1, given.length);
  const name = `${repository} at ${commit.slice(0, 8)}`;
  return { name, given: given.length, wrong, missed, precision, recall: 1 - missed.length / Math.max(1, right.length) };
}

/** True: no set gives more than one wrong edge in ten. */
export function printEdges(checks: readonly EdgeCheck[], show: number): boolean {
  console.log('\nEdges: who uses what       given  wrong  precision  missed  recall');
  for (const { name, given, wrong, missed, precision, recall } of checks) {
    const figures = [given, wrong.length, precision.toFixed(3), missed.length, recall.toFixed(3)];
    console.log(
      `  ${name.padEnd(24)} ${figures.map((each, at) => String(each).padStart([5, 6, 10, 7, 7][at] ?? 0)).join(' ')}`,
    );
    for (const edge of wrong.slice(0, show)) console.log(`      wrong: ${edge}`);
    for (const edge of missed.slice(0, show)) console.log(`      missed: ${edge}`);
  }
  return checks.every(({ precision }) => precision >= 0.9);
}

export function pathsOf({ files }: EdgeCorpus): string[] {
  return Object.keys(files).filter((path) => /\.(ts|js|py|go)$/.test(path));
}
