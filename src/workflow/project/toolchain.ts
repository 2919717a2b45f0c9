import type { Gate } from '../../protocol/workflow.ts';
import type { ReadProjectFile } from '../manifest/manifest-file.ts';

/** One folder of a checkout, as a search for its tools sees it. */
export interface ProjectFolder {
  names: ReadonlySet<string>;
  read: ReadProjectFile;
}

export interface Suggestion {
  command: string[];
  /** What in the project says so, for a person who has to agree. */
  because: string;
  /** Its program comes with the set-up and need not be on PATH. */
  isInstalled?: true;
}

/** What one kind of project offers; `undefined` from a search means that the folder is none of that kind. */
export interface Toolchain {
  name: string;
  gates: Partial<Record<Gate, Suggestion>>;
  /** What makes a fresh worktree ready to be built. */
  setup?: Suggestion;
  /** What its tools leave in a worktree: it belongs into `.gitignore`, or it becomes part of the work. */
  leaves: readonly string[];
}

export type FindToolchain = (folder: ProjectFolder) => Promise<Toolchain | undefined>;

export function suggest(because: string, ...command: string[]): Suggestion {
  return { command, because };
}

/** The first of these files that is there. */
export function firstOf(names: ReadonlySet<string>, ...wanted: readonly string[]): string | undefined {
  return wanted.find((name) => names.has(name));
}
