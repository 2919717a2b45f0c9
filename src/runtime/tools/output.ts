import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import { capText } from '../../base/cap.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';

/** The most bytes of one result that a model is shown. */
const MAX_OUTPUT = 64 * 1024;

/** A tool that ran and failed. The model reads what it wrote. */
export class ToolFailure extends Error {
  readonly stdout: string;
  readonly stderr: string;

  constructor(message: string, written: { stdout: string; stderr: string }) {
    super(message);
    this.name = 'ToolFailure';
    this.stdout = written.stdout;
    this.stderr = written.stderr;
  }
}

export interface ToolOutput {
  text: string;
  isError: boolean;
}

export function toOutput(value: unknown): ToolOutput {
  if (value === null || value === undefined || value === '') return { text: 'DONE', isError: false };
  return { text: typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value)), isError: false };
}

export function failureOutput(error: unknown): ToolOutput {
  const code = error instanceof ReefError ? { code: error.code } : {};
  const written = error instanceof ToolFailure ? error : { stdout: '', stderr: '' };
  const stdout = written.stdout === '' ? {} : { stdout: written.stdout };
  const text = JSON.stringify({
    tool_call_error: toReefError(error).message,
    ...code,
    ...stdout,
    stderr: written.stderr,
  });
  return { text, isError: true };
}

export interface OutputCap {
  /** Cuts a text that is too long for a prompt. The whole goes to a file, which the cut names. */
  cap(output: ToolOutput, name: string): Promise<ToolOutput>;
}

export function createOutputCap(dir: string, newId: () => string): OutputCap {
  return {
    async cap(output, name) {
      if (Buffer.byteLength(output.text) <= MAX_OUTPUT) return output;
      const path = join(dir, `${name.replace(/[^A-Za-z0-9_-]/g, '_')}-${newId()}.txt`);
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await writeAtomic(path, output.text);
      return { ...output, text: capText(output.text, MAX_OUTPUT, path) };
    },
  };
}
