import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Ignores empty and relative entries, which mean the current folder: a repository must not choose the program. */
export function findOnPath(program: string, path: string): string | undefined {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  const candidates = isAbsolute(program) ? [program] : folders.map((folder) => join(folder, program));
  return candidates.find(isProgram);
}

/** A short command, and how it ended. */
export interface RunSpec {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** Of each stream; what goes beyond is read and dropped. */
  maxBytes?: number;
  input?: string | Uint8Array | undefined;
}

export interface RunResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: Buffer;
  stderr: Buffer;
  timedOut: boolean;
  truncated: boolean;
}
