import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { adopt, identify, identityOf, type ProcessIdentity, signal } from './identity.ts';
import { argumentsOf, processRows, tagOf } from './process-table.ts';

export interface Tagged {
  tag: string;
  identity: ProcessIdentity;
}

export interface Swept {
  reaped: ProcessIdentity[];
  left: ProcessIdentity[];
}

const onLinux = process.platform === 'linux';
const ROUNDS = 100;
const ROUND_MS = 20;

/** Every living process with a tag, of any home: sweep only tags of your own records. */
export async function tagged(): Promise<Tagged[]> {
  const found: Tagged[] = [];
  for (const row of processRows()) {
    if (!row.isAlive || row.pid === process.pid) continue;
    const tag = await tagOf(row.pid);
    if (tag) found.push({ tag, identity: identityOf(row) });
  }
  return found;
}

/** Kills everything that carries `tag`, in rounds, because the dying may have forked. */
export async function sweep(tag: string): Promise<Swept> {
  const reaped = new Map<string, ProcessIdentity>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const carriers = await identitiesOf(tag);
    if (carriers.length === 0) break;
    for (const each of carriers) {
      if (signal(each, 'SIGKILL')) reaped.set(`${each.pid} ${each.startTime}`, each);
    }
    await sleep(ROUND_MS);
  }
  return { reaped: [...reaped.values()], left: await identitiesOf(tag) };
}

/** The tag of what must not outlive this process: it says whose it is. */
export function ownedTag(tag: string): string {
  try {
    const owner = identify(process.pid);
    return owner ? [tag, owner.pid, encodeURIComponent(owner.startTime), owner.bootId, namespace()].join('@') : tag;
  } catch {
    return tag; // no descriptor is left to read it: the start itself says so
  }
}

/**
 * Kills what outlived its owner after all. A sandbox that is just starting asks for the signal of its parent's death; if that
 * was killed a moment before, it never comes. Returns how many there were.
 */
export async function sweepOrphans(): Promise<number> {
  const tags = new Set((await tagged()).map(({ tag }) => tag));
  const here = namespace();
  let count = 0;
  for (const tag of tags) {
    const [, pid, startTime, bootId, its] = tag.split('@');
    // In another namespace its number would be somebody else's here.
    if (pid === undefined || startTime === undefined || bootId === undefined || its !== here) continue;
    const owner = { pid: Number(pid), startTime: decodeURIComponent(startTime), bootId };
    if (adopt(owner) !== 'alive') count += (await sweep(tag)).reaped.length;
  }
  return count;
}

/** In which numbers of processes are meant. */
function namespace(): string {
  return onLinux ? readlinkSync('/proc/self/ns/pid') : 'pid';
}

/** What is alive of a job, to be shown: a program's name, for its arguments may be private. */
export async function carriersOf(tag: string): Promise<{ pid: number; program: string }[]> {
  return (await identitiesOf(tag)).map(({ pid }) => ({ pid, program: basename(argumentsOf(pid)[0] ?? '') }));
}

async function identitiesOf(tag: string): Promise<ProcessIdentity[]> {
  return (await tagged()).filter((each) => each.tag === tag).map((each) => each.identity);
}
