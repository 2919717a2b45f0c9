import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

export interface LogFile {
  write(line: string): void;
  close(): void;
}

const DEFAULT_SIZE = 8 * 1024 * 1024;

/** A log of at most `maxBytes`, and the one before it (`*.1`). Synchronous, for the last words before a crash; never throws. */
export function openLogFile(path: string, maxBytes = DEFAULT_SIZE): LogFile {
  let fd = openSync(path, 'a', 0o600);
  let size = fstatSync(fd).size;
  let lost = 0;

  const rotate = () => {
    if (existsSync(path)) renameSync(path, `${path}.1`);
    const next = openSync(path, 'a', 0o600);
    closeSync(fd);
    fd = next;
    size = 0;
  };
  const append = (text: string) => {
    const bytes = Buffer.from(text);
    if (size > 0 && size + bytes.length > maxBytes) rotate();
    writeSync(fd, bytes);
    size += bytes.length;
  };

  return {
    write(line) {
      try {
        append(
          lost === 0 ? line : `${JSON.stringify({ level: 'warn', message: 'log lines lost', count: lost })}\n${line}`,
        );
        lost = 0;
      } catch {
        lost++;
      }
    },
    close: () => closeSync(fd),
  };
}
