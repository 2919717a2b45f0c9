import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { createLogger, type Level, type Logger } from '../../base/log.ts';
import { type LogFile, openLogFile } from '../../base/log-file.ts';
import { createRedactor } from '../../base/redact.ts';

const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'] satisfies Level[];

export interface RuntimeLog extends Logger {
  /** From now on nothing that is written holds this value. */
  hide(secret: string): void;
}

/** `reef.log`, opened by its first line. A folder that cannot be written to is no reason not to answer. */
export function openRuntimeLog(path: string, options: { clock: Clock; level: string | undefined }): RuntimeLog {
  const secrets: string[] = [];
  let redact = createRedactor(secrets);
  let file: LogFile | undefined;
  const write = (line: string) => {
    try {
      if (!file) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      file ??= openLogFile(path);
      file.write(line);
    } catch {
      // Nobody could be told but the log.
    }
  };
  const level = LEVELS.includes(options.level ?? '') ? (options.level as Level) : 'info';
  const logger = createLogger({ write, clock: options.clock, redact: (text) => redact(text), level });
  return {
    ...logger,
    hide(secret) {
      secrets.push(secret);
      redact = createRedactor(secrets);
    },
  };
}
