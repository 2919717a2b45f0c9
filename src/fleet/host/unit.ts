import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import type { Environment } from '../../base/env.ts';
import { ReefError } from '../../protocol/errors.ts';

export const UNIT = 'reef-worker.service';
/** There when systemd runs this machine (`sd_booted(3)`). */
const BOOTED = '/run/systemd/system';

interface UnitSpec {
  /** A program by its full path, then its arguments. */
  command: readonly string[];
  /** Where agents and git are found. */
  path: string;
  /** Codes of a worker that ended for good. */
  finalCodes: readonly number[];
}

/**
 * The worker alone is ended and started again: its agents go on meanwhile, and its next life adopts them. One that was
 * drained, or that a person must mend, is left ended.
 */
export function unitText({ command, path, finalCodes }: UnitSpec): string {
  return [
    '# Written by `reef worker install`.',
    '[Unit]',
    'Description=Worker of a Reef fleet',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    `ExecStart=${command.map(quoted).join(' ')}`,
    `Environment=${quoted(`PATH=${path}`)}`,
    'Restart=always',
    'RestartSec=1',
    `RestartPreventExitStatus=${finalCodes.join(' ')}`,
    'KillMode=process',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n');
}

/** As systemd.service(5) reads words: what it would expand is doubled. */
function quoted(word: string): string {
  if (/[\p{Cc}]/u.test(word))
    throw new ReefError('bad_request', 'A unit cannot hold a line break or a control character');
  return `"${word.replace(/[\\"]/g, '\\$&').replace(/%/g, '%%').replace(/\$/g, '$$$$')}"`;
}

/** Puts it where systemd looks for units of this user; returns the file. */
export async function writeUnit(
  text: string,
  { configHome }: Pick<Environment, 'configHome'>,
  booted = BOOTED,
): Promise<string> {
  if (!existsSync(booted))
    throw new ReefError('systemd_missing', 'systemd does not run this machine, so that nothing would start the unit');
  const file = join(configHome, 'systemd/user', UNIT);
  await mkdir(dirname(file), { recursive: true });
  await writeAtomic(file, text);
  return file;
}
