import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';

/** One JSON text a line, for a line of a chat may have several; newest first. A file that cannot be read is no history. */
export function readHistory(file: string): string[] {
  try {
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    return lines.flatMap((line) => {
      const text: unknown = JSON.parse(line);
      return typeof text === 'string' ? [text] : [];
    });
  } catch {
    return [];
  }
}

export async function writeHistory(file: string, lines: readonly string[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeAtomic(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}
