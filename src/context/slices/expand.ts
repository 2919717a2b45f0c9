import { whyUnsafe } from '../../base/safe-path.ts';
import type { Json } from '../../protocol/workflow.ts';
import { quotedIfNeeded } from './parse-slice.ts';
import { SLICE_KINDS, type Slice } from './slice.ts';

export interface SliceValues {
  task: string;
  /** Files, not patterns. */
  plan: readonly string[];
  changed: readonly string[];
  args: Readonly<Record<string, Json>>;
}

export interface Expanded {
  slice: Slice;
  heading: string;
  /** The argument of the question, or why there is nothing to ask. */
  about: { text: string } | { nothing: string } | { code: 'bad_arguments' | 'path_outside_worktree'; message: string };
  budget: number | undefined;
}

const MOST_FILES = 20;
/** The longest arguments. A question may be longer. */
const LONGEST_WORDS = { path: 4_096, name: 1_000, words: 1_000 } as const;
const LONGEST_QUESTION = 20_000;

/** One slice for each file or value of a placeholder, at most twenty. */
export function expand(slice: Slice, values: SliceValues): Expanded[] {
  const { argument, text: heading, budget } = slice;
  const one = (about: Expanded['about']): Expanded[] => [{ slice, heading, about, budget }];
  if ('text' in argument) return one(checked(slice, argument.text));
  if (argument.from === 'task') return one(checked(slice, values.task));
  const found = argument.from === 'args' ? textsIn(values.args[argument.name]) : values[argument.from];
  if (found === undefined) {
    const name = argument.from === 'args' ? argument.name : argument.from;
    return one({ code: 'bad_arguments', message: `The block has no argument ${name} that is a text.` });
  }
  if (found.length === 0) return one({ nothing: 'no files' });
  const shown = found.slice(0, MOST_FILES);
  const share = budget === undefined ? undefined : Math.floor(budget / shown.length);
  const each = shown.map((text) => {
    return { slice, heading: headingOf(slice, text), about: checked(slice, text), budget: share };
  });
  if (found.length === shown.length) return each;
  const rest = { nothing: `${found.length - shown.length} more files` };
  return [...each, { slice, heading, about: rest, budget: undefined }];
}

function headingOf({ kind, text }: Slice, value: string): string {
  const options = text.slice(text.indexOf('}') + 1);
  return `${kind}:${quotedIfNeeded(value)}${options}`;
}

/** A value from a run is checked like one from a manifest. */
function checked({ kind }: Slice, text: string): Expanded['about'] {
  const takes = SLICE_KINDS[kind].argument;
  const why = takes === 'path' ? whyUnsafe(text) : undefined;
  if (why !== undefined) return { code: 'path_outside_worktree', message: `The path ${JSON.stringify(text)} ${why}.` };
  if (text.trim() === '') return { code: 'bad_arguments', message: 'The argument is empty.' };
  return { text: text.slice(0, kind === 'explore' || kind === 'map' ? LONGEST_QUESTION : LONGEST_WORDS[takes]) };
}

function textsIn(value: Json | undefined): string[] | undefined {
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((item) => typeof item === 'string');
  return texts.length === value.length ? texts : undefined;
}
