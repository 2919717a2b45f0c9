import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One look at a daemon and its home. */
export interface Sample {
  /** Since the load began. */
  minute: number;
  pid: number;
  /** Of this daemon. */
  ageMinutes: number;
  rssMb: number;
  descriptors: number;
}

export function look(pid: number, minute: number, ageMinutes: number): Sample | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const rssMb = Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]) / 1024;
    const descriptors = readdirSync(`/proc/${pid}/fd`).length;
    return { minute, pid, ageMinutes, rssMb, descriptors };
  } catch {
    return undefined; // it was killed a moment ago
  }
}

/** All files below a folder in which others work: what goes meanwhile is not there. */
export function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    });
  } catch {
    return [];
  }
}

export function bytesBelow(folder: string): number {
  const size = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return filesBelow(folder).reduce((sum, path) => sum + size(path), 0);
}

/** The least of each minute: what is really held, without what a collection would have freed. */
export function leastOfMinutes(
  samples: readonly Sample[],
  value: (sample: Sample) => number,
): [x: number, y: number][] {
  const least = new Map<number, number>();
  for (const sample of samples) {
    const minute = Math.floor(sample.minute);
    least.set(minute, Math.min(least.get(minute) ?? Number.POSITIVE_INFINITY, value(sample)));
  }
  return [...least];
}

/** Of the line that fits best; 0 of fewer than two points. */
export function slope(points: readonly [x: number, y: number][]): number {
  const mean = (of: readonly number[]) => of.reduce((sum, each) => sum + each, 0) / of.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return spread > 0 ? points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread : 0;
}
