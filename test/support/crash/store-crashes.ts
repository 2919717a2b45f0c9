import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { unsynced, writeImage } from './disk-image.ts';
import { contentsOf, LINES, openHome, prepareHome, readOn, type Told, type Twin } from './store-writer.ts';
import { type Change, type SystemCall, stableName, systemCalls, traced } from './system-calls.ts';

/** Kills and power cuts of the store's writer, and the one question that is asked after each: is what is there a truth it told? */

const WRITER = join(import.meta.dirname, 'store-writer.ts');

export interface Recorded {
  calls: SystemCall[];
  changes: Change[];
  told: Told[];
  /** Where it was recorded, and what lay there before. */
  dir: string;
  before: string;
}

/** An undisturbed run, below a folder of the test's. */
export function record(root: string, twin: Twin = 'none'): Recorded {
  const [dir, before] = [join(root, twin.replaceAll(' ', '-')), join(root, 'before')];
  prepareHome(before);
  cpSync(before, dir, { recursive: true });
  const { trace, signal } = traced([WRITER, dir, twin], dir);
  if (signal !== null) throw new Error(`the writer was ended by ${signal}`);
  const calls = systemCalls(trace, dir);
  const changes = calls.flatMap(({ change }) => (change ? [change] : []));
  return { calls, changes, told: tellings(changes, changes.length), dir, before };
}

function tellings(changes: readonly Change[], count: number): Told[] {
  return changes.slice(0, count).flatMap((change) => (change.does === 'say' ? [JSON.parse(change.text) as Told] : []));
}

/** Why what is left in this folder is no truth; undefined when all is well. `said` is how often the writer had spoken. */
async function badness(
  dir: string,
  { told }: Recorded,
  { said, kept }: { said: number; kept: number },
): Promise<string | undefined> {
  const home = await openHome(dir).catch((error: Error) => error);
  if (home instanceof Error) return `it does not open: ${home.message}`;
  try {
    const complaint = home.complaints.find((each) => /damaged|cannot be read/.test(each));
    if (complaint !== undefined) return complaint;
    const contents = contentsOf(home);
    const possible = told.slice(Math.max(0, kept - 1), said + 1).map((each) => each.contents);
    if (!possible.includes(contents)) return `it holds ${contents}, which is none of ${possible.join(' | ')}`;
    const lines = await readOn(home, dir);
    const isWhole = lines.length === 0 || lines.join() === Array.from({ length: LINES }, (_, n) => n).join();
    return isWhole ? undefined : `read on, it has the lines ${lines}`;
  } finally {
    home.store.close();
  }
}

/** As a kill leaves it after the first `count` changes: all of them are there. */
export async function afterKill(recorded: Recorded, count: number, into: string): Promise<string | undefined> {
  const said = tellings(recorded.changes, count).length;
  return inImage(recorded, { count, into }, { said, kept: said });
}

/** As a power cut leaves it: of what was not synced, some is gone. */
export async function afterPowerCut(
  recorded: Recorded,
  { count, isLost, into }: { count: number; isLost(n: number): boolean; into: string },
): Promise<{ lost: number; bad: string | undefined }> {
  const before = tellings(recorded.changes, count);
  const lost = new Set(unsynced(recorded.changes, count).filter(isLost));
  const kept = before.findLastIndex(({ isDurable }) => isDurable) + 1;
  return { lost: lost.size, bad: await inImage(recorded, { count, lost, into }, { said: before.length, kept }) };
}

async function inImage(
  recorded: Recorded,
  image: { count: number; lost?: ReadonlySet<number>; into: string },
  limits: { said: number; kept: number },
): Promise<string | undefined> {
  mkdirSync(image.into, { recursive: true });
  cpSync(recorded.before, image.into, { recursive: true });
  writeImage(recorded.changes, image);
  const bad = await badness(image.into, recorded, limits);
  rmSync(image.into, { recursive: true });
  return bad;
}

/** Calls by which a kill can be aimed: the first, in any thread, that is the nth of its name in its own. */
export function killPoints({ calls }: Recorded): SystemCall[] {
  const first = new Map<string, SystemCall>();
  for (const call of calls) {
    const key = `${call.name} ${call.nth}`;
    if (!first.has(key)) first.set(key, call);
  }
  const isAimable = ({ change }: SystemCall) =>
    change !== undefined && change.does !== 'create' && change.does !== 'say';
  return [...first.values()].filter(isAimable);
}

export interface Killed {
  /** The process died, and at the call that was meant. */
  fired: boolean;
  bad: string | undefined;
}

/** The real writer, killed by the kernel as it enters that call. `count` is how strace is told which one. */
export async function killAt(
  recorded: Recorded,
  point: SystemCall,
  { dir, count }: { dir: string; count: number },
): Promise<Killed> {
  cpSync(recorded.before, dir, { recursive: true });
  const inject = ['-e', `trace=${point.name},writev`, '-e', `inject=${point.name}:signal=KILL:when=${count}`];
  const { trace, signal } = traced([WRITER, dir, 'none'], dir, inject);
  const said = systemCalls(trace, dir).filter(({ change }) => change?.does === 'say').length;
  const fired = signal === 'SIGKILL' && isMeant(trace, recorded, { point, said });
  const bad = await badness(dir, recorded, { said, kept: said });
  rmSync(dir, { recursive: true });
  return { fired, bad };
}

/** The last call of the dead names the same file, and came after as many words. */
function isMeant(
  trace: string,
  { calls, dir }: Recorded,
  { point, said }: { point: SystemCall; said: number },
): boolean {
  const before = calls.slice(0, calls.indexOf(point)).filter(({ change }) => change?.does === 'say').length;
  const deadly = trace
    .split('\n')
    .filter((line) => / = \?$| <unfinished \.\.\.>$/.test(line))
    .map(decoded);
  const path = point.change && 'path' in point.change ? point.change.path : dir;
  // The folder itself has another name this time.
  const name = path === dir ? '' : stableName(path);
  return said === before && deadly.some((line) => line.includes(`${point.name}(`) && line.includes(name));
}

const decoded = (line: string) =>
  line.replace(/(?:\\x[0-9a-f]{2})+/g, (hex) => Buffer.from(hex.replaceAll('\\x', ''), 'hex').toString('latin1'));
