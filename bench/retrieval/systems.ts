import type { CodeIndex } from '../../src/context/code-index/code-index.ts';
import { explore } from '../../src/context/code-index/explore/explore.ts';
import { WEIGHTS, type Weights } from '../../src/context/code-index/explore/weights.ts';
import type { RepoGraph } from '../../src/context/code-index/query/repo-graph.ts';
import { type Shown, shownBy } from './wanted.ts';

/** Every part of the ranking at no weight, one after the other. */
const OFF: Record<string, Partial<Weights>> = {
  name: { name: 0 },
  'class name': { container: 0 },
  path: { path: 0 },
  'file score': { file: 0 },
  'exact names': { exact: 0 },
  'call edges': { calls: 0 },
  'share of the question': { coverage: 0 },
  length: { b: 0 },
  'tests and docs demoted': { tests: 1 },
  'functions before types and values': { types: 1, values: 1 },
  'signatures after bodies': { bodies: 1 },
};

export function variants(isAblating: boolean): Map<string, Weights> {
  const made = new Map([['reef', WEIGHTS]]);
  if (!isAblating) return made;
  for (const [part, off] of Object.entries(OFF)) made.set(`without ${part}`, { ...WEIGHTS, ...off });
  return made;
}

export async function askReef(
  tools: { index: CodeIndex; graph: RepoGraph },
  { question, budget, weights }: { question: string; budget: number; weights: Weights },
): Promise<Shown> {
  const answer = await explore(tools, { question, budget_tokens: budget }, { weights });
  const named: { path: string; line: number }[] = [];
  let path = '';
  for (const line of answer.map.split('\n')) {
    const [, at] = /^ {2}(\d+) /.exec(line) ?? [];
    if (at === undefined) path = line;
    else named.push({ path, line: Number(at) });
  }
  const pieces = answer.slices.map((slice) => ({ path: slice.file_path, from: slice.start_line, to: slice.end_line }));
  return shownBy(pieces, named, answer.tokens);
}
