import type { PlainGit } from '../../test/support/repository.ts';

/** A fix in the history of a repository: what it says, and the lines it changed in the tree before it. */
export interface Fix {
  commit: string;
  parent: string;
  subject: string;
  changed: { path: string; lines: [from: number, to: number][] }[];
}

const IS_FIX = /\b(fix(e[sd])?|bug|crash|regression|wrong|incorrect(ly)?|leak|race|missing)\b/i;
const LOOKED_AT = 6_000;
const MOST_FILES = 4;
const LEAST_WORDS = 4;

/** The newest fixes first. */
export function* fixesOf(git: PlainGit, isCode: (path: string) => boolean): Generator<Fix> {
  const log = git('log', '--no-merges', `-n${LOOKED_AT}`, '--format=%H%x09%P%x09%s');
  for (const line of log.split('\n')) {
    const [commit = '', parents = '', said = ''] = line.split('\t');
    const subject = titleOf(said);
    if (!IS_FIX.test(said) || /^(revert|merge)|typo|docs?[:(]|changelog|\blint\b/i.test(said)) continue;
    if (parents === '' || parents.includes(' ') || subject.split(' ').length < LEAST_WORDS) continue;
    const changed = changesOf(
      git('diff', '-U0', '--no-renames', '--no-color', '--no-ext-diff', parents, commit),
    ).filter(({ path }) => isCode(path));
    if (changed.length > 0 && changed.length <= MOST_FILES) yield { commit, parent: parents, subject, changed };
  }
}

/** Without numbers of issues and what marks the kind of a change. */
function titleOf(subject: string): string {
  const plain = subject
    .replace(/\(?(?:GH-?|gh-?|#)\d+\)?:?/g, ' ')
    .replace(/^\[[^\]]*\]/, ' ')
    .replace(/^(\w+)(\([^)]*\))?!?:/, (_, kind: string, where = '') =>
      /^(fix|bug|chore|feat|refactor|perf)$/i.test(kind) ? where : `${kind}${where}`,
    );
  return plain
    .replace(/^\s*(Fixed|Refs|Fixes|Close[sd]?)\s*(,\s*Refs\s*)?--/i, ' ')
    .replace(/--/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The lines that a diff without context takes from the old files. Where it only adds, the lines around the place. */
function changesOf(diff: string): Fix['changed'] {
  const changed: Fix['changed'] = [];
  let isOld = false;
  for (const line of diff.split('\n')) {
    const [, path] = /^--- a\/(.*)$/.exec(line) ?? [];
    if (line.startsWith('--- ')) isOld = path !== undefined;
    if (path !== undefined) changed.push({ path, lines: [] });
    const [, from = '', count = '1'] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (from === '' || !isOld) continue;
    const [begin, lines] = [Number(from), Number(count)];
    changed.at(-1)?.lines.push(lines === 0 ? [begin, begin + 1] : [begin, begin + lines - 1]);
  }
  return changed.filter(({ lines }) => lines.length > 0);
}
