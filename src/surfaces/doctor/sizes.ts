import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesIn, LINES_KEPT_DAYS } from '../../app/home-retention.ts';
import type { Home } from '../../base/home.ts';
import { type Check, check, ok } from './finding.ts';

const MIB = 1_048_576;

interface Keep {
  days: number;
  mib: number;
}

/** What bounds each part of a home, by the beginning of its name. */
const limits = ({ days, mib }: Keep): readonly (readonly [RegExp, string])[] => [
  [/^artifacts$/, 'removed 7 days after its job, above 1,024 MiB earlier'],
  [/^jobs$/, `removed ${days} days after its task, above ${amount(mib)} MiB of all earlier`],
  [/^index$/, 'at most twice the source of the largest worktree'],
  [/^daemon\.log/, 'at most 8 MiB, and as much of the one before'],
  [/^state\.json$/, 'the live jobs, 20 ended ones, and work that is not merged'],
  [/^repostate$/, `one file per worktree, removed after ${LINES_KEPT_DAYS} days`],
  [/^git$/, 'copies into which agents commit, gone with their worktrees'],
  [/\.bad-/, 'kept until you delete it'],
  [
    /^reef\.db/,
    `events, answers and journals go ${days} days after their task, above ${amount(mib)} MiB of all earlier; what was used and who called, after ${LINES_KEPT_DAYS}`,
  ],
];

/** `--sizes`: what each part of the home takes, the largest first, and what keeps it from growing. */
export function sizeChecks({ dir }: Home, keep: () => Keep): Check[] {
  const look = async () => {
    const bounds = limits(keep());
    const names = await readdir(dir).catch(() => []);
    const parts = await Promise.all(names.map(async (name) => ({ name, bytes: await bytesIn(join(dir, name)) })));
    return parts
      .sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1))
      .map(({ name, bytes }) => {
        const limit = bounds.find(([pattern]) => pattern.test(name))?.[1] ?? 'of a fixed size';
        return ok(`${name} ${(bytes / MIB).toFixed(1)} MiB; ${limit}`, join(dir, name));
      });
  };
  return [check('size', look)];
}

function amount(mib: number): string {
  return mib.toLocaleString('en');
}
