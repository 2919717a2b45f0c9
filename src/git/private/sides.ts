import { join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import type { Git } from '../git-command.ts';
import type { Oid } from '../ref-name.ts';
import { readRef } from '../repository.ts';
import { refused } from './bring.ts';
import { type Place, type PlainFile, readPlain } from './place.ts';

/** Where one side stands: the agent's copy, or the repository. */
export interface Side {
  tip: Oid | null;
  /** What its HEAD holds: `ref: …` or a commit. */
  head: string;
  index: PlainFile | undefined;
}

const REF_BYTES = 4 * 1024;
const PACKED_BYTES = 16 * 1024 * 1024;
/** Some 300,000 files. Of a larger one git makes a new one. */
const INDEX_BYTES = 32 * 1024 * 1024;
const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const OWN = /^ref: (refs\/heads\/reef\/[a-z0-9-]+-([a-z0-9]{8})\/tip)$/;

/** Of HEAD, and only a branch with the name that Reef gave it. */
export function ownBranch(head: string, worktreeId: string): string | null {
  const [, branch, id] = OWN.exec(head) ?? [];
  return branch !== undefined && id === worktreeId.slice(-8).toLowerCase() ? branch : null;
}

/** The index last: a commit writes it first, and a later one only shows work as staged until the next look. */
export async function readInside(place: Place, branch: string | null): Promise<Side> {
  const head = await lineOf(join(place.gitDir, 'HEAD'));
  const tip = (await lineOf(join(place.branch, 'tip'))) ?? (branch === null ? undefined : await packed(place, branch));
  return {
    head: head ?? '',
    tip: branch !== null && tip !== undefined && OID.test(tip) ? tip : null,
    index: await readPlain(join(place.gitDir, 'index'), INDEX_BYTES),
  };
}

/** What the agent's git has packed, as its upkeep does. */
export async function packed({ packedRefs }: Place, ref: string): Promise<string | undefined> {
  const text = (await readPlain(packedRefs, PACKED_BYTES))?.bytes.toString('latin1') ?? '';
  const end = text.indexOf(` ${ref}\n`);
  return end === -1 ? undefined : text.slice(text.lastIndexOf('\n', end) + 1, end);
}

export async function readOutside(git: Git, checkout: Checkout, branch: string | null): Promise<Side> {
  return {
    head: (await lineOf(join(checkout.gitDir, 'HEAD'))) ?? '',
    tip: branch === null ? null : await tipOf(git, checkout, branch),
    index: await readPlain(join(checkout.gitDir, 'index'), INDEX_BYTES),
  };
}

/** Git is asked only where it has packed the branch. */
async function tipOf(git: Git, checkout: Checkout, branch: string): Promise<Oid | null> {
  const loose = await lineOf(join(checkout.commonDir, branch));
  return loose !== undefined && OID.test(loose) ? loose : ((await readRef(git, checkout, branch)) ?? null);
}

async function lineOf(path: string): Promise<string | undefined> {
  return (await readPlain(path, REF_BYTES))?.bytes.toString('latin1').trimEnd();
}

/** The commit that HEAD of a side stands on. A branch of the repository's is looked up there: no agent moves it. */
export async function commitOf(
  git: Git,
  checkout: Checkout,
  { side, place, branch }: { side: Pick<Side, 'head' | 'tip'>; place: Place; branch: string | null },
): Promise<Oid> {
  const { head, tip } = side;
  if (OID.test(head)) return head;
  if (branch !== null && head === `ref: ${branch}` && tip !== null) return tip;
  const name = head.startsWith('ref: refs/heads/') ? head.slice('ref: '.length) : undefined;
  const folder = branch?.slice(0, -'tip'.length);
  const beside = name !== undefined && folder !== undefined && name.startsWith(folder) ? name.slice(folder.length) : '';
  const own = /^[A-Za-z0-9_-]+$/.test(beside) ? await lineOf(join(place.branch, beside)) : undefined;
  if (own !== undefined && OID.test(own)) return own;
  const there = name === undefined ? undefined : await readRef(git, checkout, name).catch(() => undefined);
  if (there !== undefined) return there;
  throw refused(checkout, place, `its HEAD names no commit: ${JSON.stringify(head.slice(0, 200))}`);
}
