import type { Gate } from '../../protocol/workflow.ts';
import type { ReadProjectFile } from '../manifest/manifest-file.ts';

/** A folder of a checkout. */
export interface ProjectFolder {
  names: ReadonlySet<string>;
  read: ReadProjectFile;
}

export interface Suggestion {
  command: string[];
  /** What in the project suggests it, for the person who decides. */
  because: string;
}

/** What one kind of project offers. A finder returns undefined for another kind. */
export interface Toolchain {
  name: string;
  gates: Partial<Record<Gate, Suggestion>>;
  /** Further commands for the same gates. */
  spare?: (readonly [Gate, Suggestion])[];
  /** Makes a fresh worktree ready to build. */
  setup?: Suggestion;
  /** What its tools leave in a worktree. It belongs into `.gitignore`, or it becomes part of the work. */
  leaves: readonly string[];
  /** What was found and not taken, and why, in sentences. */
  notes?: string[];
  /** It runs commands for any language. */
  isRunner?: true;
  /** Its files look like those of tools beside a project in another language. */
  isAside?: boolean;
}

export type FindToolchain = (folder: ProjectFolder) => Promise<Toolchain | undefined>;

export function suggest(because: string, ...command: string[]): Suggestion {
  return { command, because };
}

export function firstOf(names: ReadonlySet<string>, ...wanted: readonly string[]): string | undefined {
  return wanted.find((name) => names.has(name));
}
