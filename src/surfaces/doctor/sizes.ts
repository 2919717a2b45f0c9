import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesIn, JOB_FOLDERS } from '../../app/home-retention.ts';
import type { Home } from '../../base/home.ts';
import { type Check, check, ok } from './finding.ts';

const MIB = 1_048_576;
const DAY_MS = 24 * 3_600_000;

/** What bounds each part of a home, by the beginning of its name. */
const LIMITS: readonly (readonly [RegExp, string])[] = [
  [/^artifacts$/, 'removed 7 days after its job, above 1,024 MiB earlier'],
  [
    /^jobs$/,
    `removed ${JOB_FOLDERS.maxAgeMs / DAY_MS} days after its job, above ${JOB_FOLDERS.maxBytes / MIB} MiB earlier`,
  ],
  [/^index$/, 'at most twice the source of the largest worktree'],
  [/^daemon\.log/, 'at most 8 MiB, and as much of the one before'],
  [/^state\.json$/, 'the live jobs, 20 ended ones, and work that is not merged'],
  [/^repostate$/, 'one file per worktree'],
  [/\.bad-/, 'kept until you delete it'],
  [/^reef\.db/, 'no limit: events, answers and journals are kept'],
];

/** `--sizes`: what each part of the home takes, the largest first, and what keeps it from growing. */
export function sizeChecks({ dir }: Home): Check[] {
  const look = async () => {
    const names = await readdir(dir).catch(() => []);
    const parts = await Promise.all(names.map(async (name) => ({ name, bytes: await bytesIn(join(dir, name)) })));
    return parts
      .sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1))
      .map(({ name, bytes }) => {
        const limit = LIMITS.find(([pattern]) => pattern.test(name))?.[1] ?? 'of a fixed size';
        return ok(`${name} ${(bytes / MIB).toFixed(1)} MiB; ${limit}`, join(dir, name));
      });
  };
  return [check('size', look)];
}
