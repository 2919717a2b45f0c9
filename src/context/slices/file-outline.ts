import { toReefError } from '../../protocol/errors.ts';
import { type CodeContextParts, openAsk } from './code-context.ts';
import { fitLevels } from './fit-levels.ts';
import { outlineLevels } from './levels.ts';
import { headingOf } from './render-slices.ts';

export interface OutlinedFile {
  worktreePath: string;
  path: string;
  content: string;
}

/** Of one file among many in a prompt. */
const MOST_TOKENS = 600;
const WAIT_MS = 5_000;
const FIRST_LINES = 20;
const LINE_CHARACTERS = 120;

/** What stands in a prompt for a file there is no room for: its outline, else its first lines, and which of the two it is. */
export function createFileOutline(parts: CodeContextParts) {
  return async ({ worktreePath, path, content }: OutlinedFile): Promise<string> => {
    try {
      const outline = await openAsk(parts, worktreePath, WAIT_MS).outline(path);
      const { levels, basis } = outlineLevels(outline);
      if (levels[0]?.lines.length === 0) return firstLines(content, 'it defines nothing');
      const heading = (shrunkTo: Parameters<typeof headingOf>[2]) => headingOf(`outline:${path}`, basis, shrunkTo);
      const text = fitLevels({ heading, levels, room: MOST_TOKENS, count: parts.count });
      return text ?? firstLines(content, 'it is too long');
    } catch (error) {
      return firstLines(content, toReefError(error).code);
    }
  };
}

function firstLines(content: string, why: string): string {
  const lines = content.split('\n', FIRST_LINES).map((line) => line.slice(0, LINE_CHARACTERS));
  return [`(no outline: ${why}; its first lines)`, ...lines].join('\n');
}
