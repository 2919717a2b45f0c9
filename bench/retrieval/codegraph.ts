import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { estimateTokens } from '../../src/context/code-index/query/tokens.ts';
import { has } from '../context-index/peers.ts';
import type { Shown, Wanted } from './wanted.ts';

/** Whoever measures installs it; it is no part of Reef. */
const PROGRAM = 'codegraph';

export function hasCodeGraph(): boolean {
  return has(PROGRAM);
}

/** What CodeGraph explores, at the size it chooses: it takes no budget. Its index lies in the bench's own clone. */
export function askCodeGraph(checkout: string, question: string): Shown {
  call(checkout, existsSync(join(checkout, '.codegraph')) ? ['sync', '.'] : ['init', '.']);
  return shownIn(checkout, call(checkout, ['explore', question]));
}

function call(cwd: string, args: string[]): string {
  const env = { ...process.env, DO_NOT_TRACK: '1', CODEGRAPH_TELEMETRY: '0', NO_COLOR: '1' };
  return spawnSync(PROGRAM, args, { cwd, env, encoding: 'utf8', maxBuffer: 1 << 28 }).stdout;
}

/** It answers in text, so a body counts by its lines that stand there, and a name wherever it stands: to its favour. */
function shownIn(checkout: string, text: string): Shown {
  const shown = new Set(text.split('\n').map((line) => line.replace(/^\s*\d+[\s|:│]+/, '').trim()));
  const linesOf = ({ path, line, endLine }: Wanted) =>
    readFileSync(join(checkout, path), 'utf8')
      .split('\n')
      .slice(line - 1, endLine);
  return {
    hasFile: (path) => text.includes(path),
    names: ({ path, name }) => text.includes(path) && text.split(/[^\w$]+/).includes(name),
    body: (wanted) => linesOf(wanted).filter((line) => line.trim() === '' || shown.has(line.trim())).length,
    tokens: Math.round(estimateTokens(text)),
  };
}
