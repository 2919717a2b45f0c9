import { lstat, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isId } from '../../base/ids.ts';
import { KeyedSerial } from '../../base/serial.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Checkout } from '../checkout.ts';
import { setRef } from '../refs.ts';
import { findCommit, isAncestor, operationUnderWay, readRef } from '../repository.ts';
import { type Bringing, bringObjects, refused } from './bring.ts';
import { bringIndex, carryIn, indexOf } from './carry.ts';
import { dropPlace, makePlace, mountsOf, refreshPacked } from './lend.ts';
import { type Place, placeIn, readSettled, type Settled, writeSettled } from './place.ts';
import { commitOf, ownBranch, readInside, readOutside, type Side } from './sides.ts';

/** Where a test may end the process: between two effects. */
export type ImportPoint = `import.${'brought' | 'moved' | 'indexed'}`;

interface Options extends Bringing {
  /** A real path that no sandbox shows; a folder for each worktree lies here. */
  folder: string;
  at?: ((point: ImportPoint) => Promise<void> | void) | undefined;
}

/** The two sides of one worktree, as they were read. */
interface Sides {
  place: Place;
  known: Settled;
  inside: Side;
  outside: Side;
}

/**
 * What agents in sandboxes write of git. An agent commits into a copy of its own; `settle` brings that over, checked, and shows the
 * agent where the repository has gone on to. Nothing outside a sandbox reads the copy with git.
 */
export class PrivateGits {
  readonly #options: Options;
  readonly #locks = new KeyedSerial();

  constructor(options: Options) {
    this.#options = options;
  }

  /** What a sandbox shows in the place of the repository's own. A copy that is there is gone on with, also in the middle of a rebase. */
  async lend(checkout: Checkout) {
    const id = basename(checkout.toplevel);
    const place = this.#placeOf(id);
    return this.#locks.run(id, async () => {
      let known = await readSettled(place);
      if (known) await this.#settle(checkout, place, known).catch(unlessUnderWay);
      const head = (await readOutside(this.#options.git, checkout, null)).head;
      const branch = ownBranch(head, id);
      if (known && known.branch === null && branch !== null) {
        await dropPlace(place, checkout.commonDir, null);
        known = undefined;
      }
      if (!known) {
        await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
        const outside = await readOutside(this.#options.git, checkout, branch);
        await makePlace(place, checkout, { branch, outside });
      }
      const lent = known ? known.branch : branch;
      await refreshPacked(place, checkout, lent);
      return mountsOf(place, checkout, lent);
    });
  }

  /**
   * Brings over what an agent committed and staged, and shows it what others did. Refuses while an operation such as a rebase is
   * under way in the copy, and where both sides have commits of their own; the agent's are on a ref then.
   */
  async settle(checkout: Checkout): Promise<void> {
    const id = basename(checkout.toplevel);
    const place = this.#placeOf(id);
    if (!isId(id) || !(await isThere(place.state))) return;
    await this.#locks.run(id, async () => {
      const known = await readSettled(place);
      if (known) await this.#settle(checkout, place, known);
    });
  }

  /** For a worktree whose folder is gone: keeps what the agent committed. `main` is any other checkout of the repository. */
  async rescue(main: Checkout, id: string): Promise<void> {
    const place = this.#placeOf(id);
    await this.#locks.run(id, async () => {
      const known = await readSettled(place);
      if (!known) return;
      const inside = await readInside(place, known.branch);
      if (hasMoved(inside, known.inside)) await this.#save(main, id, { place, known, inside });
      await dropPlace(place, main.commonDir, known.branch);
    });
  }

  /** On the branch where nobody else has moved it, else on a ref of its own. */
  async #save(main: Checkout, id: string, { place, known, inside }: Omit<Sides, 'outside'>): Promise<void> {
    const { git } = this.#options;
    const { branch } = known;
    const at = branch === null ? null : ((await readRef(git, main, branch)) ?? null);
    const commit = await commitOf(git, main, { side: inside, place, branch });
    await bringObjects(this.#options, main, {
      place,
      wants: commitsOf(inside, commit),
      haves: at === null ? [] : [at],
    });
    const isOnBranch = inside.tip === commit && (at === known.outside.tip || at === commit);
    if (branch !== null && isOnBranch) await this.#move(main, { ref: branch, to: commit, from: at });
    else await this.#keepApart(main, id, commit);
  }

  /** For a worktree that is gone, and was settled before. */
  async drop({ commonDir }: Pick<Checkout, 'commonDir'>, id: string): Promise<void> {
    const place = this.#placeOf(id);
    if (!(await isThere(place.state))) return;
    await this.#locks.run(id, async () => {
      const known = await readSettled(place);
      await dropPlace(place, commonDir, known?.branch ?? null);
    });
  }

  #placeOf(id: string): Place {
    return placeIn(join(this.#options.folder, id));
  }

  async #settle(checkout: Checkout, place: Place, known: Settled): Promise<void> {
    if (await operationUnderWay(checkout)) return; // a person's: every capture refuses it
    const operation = await operationUnderWay(place);
    if (operation) {
      const message = `The agent in ${checkout.toplevel} has a ${operation} under way: let it finish or abort it (\`reef send\`), or drop its commits that are not in the repository: rm -r ${place.folder}`;
      throw new ReefError('repo_busy', message, { details: { operation } });
    }
    const inside = await readInside(place, known.branch);
    const outside = await readOutside(this.#options.git, checkout, known.branch);
    const sides = { place, known, inside, outside };
    switch (await this.#way(checkout, sides)) {
      case 'out':
        return this.#takeOut(checkout, sides);
      case 'in':
        return this.#takeIn(checkout, sides);
      case 'apart':
        return this.#refuse(checkout, sides);
      case 'none':
        return;
    }
  }

  /** The agent's index goes before that of the worktree, where a look of git may have changed no more than times. */
  async #way(checkout: Checkout, sides: Sides): Promise<'out' | 'in' | 'apart' | 'none'> {
    const { known, inside, outside } = sides;
    if (inside.tip === outside.tip && inside.head === outside.head) return indexWay(sides);
    const [hasInside, hasOutside] = [hasMoved(inside, known.inside), hasMoved(outside, known.outside)];
    if (!hasInside && !hasOutside) return indexWay(sides);
    if (!hasOutside) return 'out';
    if (!hasInside) return 'in';
    return this.#compare(checkout, sides);
  }

  /** Both have moved: one may hold all that the other has. */
  async #compare(checkout: Checkout, { place, known, inside, outside }: Sides): Promise<'out' | 'in' | 'apart'> {
    const { git } = this.#options;
    const { branch } = known;
    const theirs = await commitOf(git, checkout, { side: outside, place, branch });
    const own = await commitOf(git, checkout, { side: inside, place, branch });
    const [ofInside, ofOutside] = [commitsOf(inside, own), commitsOf(outside, theirs)];
    await bringObjects(this.#options, checkout, { place, wants: ofInside, haves: ofOutside });
    const holds = async (of: string, commits: readonly string[]) => {
      for (const commit of commits) if (!(await isAncestor(git, checkout, { of, commit }))) return false;
      return true;
    };
    if (await holds(theirs, ofInside)) return 'in';
    return (await holds(own, ofOutside)) ? 'out' : 'apart';
  }

  async #takeOut(checkout: Checkout, { place, known, inside, outside }: Sides): Promise<void> {
    const { git, at = () => {} } = this.#options;
    const { branch } = known;
    const commit = await commitOf(git, checkout, { side: inside, place, branch });
    const from = await commitOf(git, checkout, { side: outside, place, branch });
    const { bytes, blobs } = indexOf(inside, outside);
    const commits = commitsOf(inside, commit);
    const isNew = commits.some((oid) => oid !== from && oid !== outside.tip);
    if (isNew || blobs.length > 0) {
      const [wants, haves] = [[...commits, ...blobs], commitsOf(outside, from)];
      await bringObjects(this.#options, checkout, { place, wants, haves });
    }
    for (const oid of commits)
      if ((await findCommit(git, checkout, oid)) !== oid) throw refused(checkout, place, `${oid} is no commit`);
    await at('import.brought');
    if (branch !== null && inside.tip !== null && inside.tip !== outside.tip)
      await this.#move(checkout, { ref: branch, to: inside.tip, from: outside.tip });
    await at('import.moved');
    if (inside.head !== known.inside.head || outside.head !== known.outside.head)
      await this.#moveHead(checkout, { branch, head: inside.head, commit });
    await bringIndex(git, checkout, { bytes, mtimeMs: inside.index?.mtimeMs ?? 0, commit });
    await at('import.indexed');
    await this.#remember(place, { branch, inside, outside: await readOutside(git, checkout, branch) });
    await this.#forgetApart(checkout);
  }

  /** On the branch where the agent is on it; anywhere else only on its commit, so that no other branch is moved with it. */
  async #moveHead(
    checkout: Checkout,
    { branch, head, commit }: { branch: string | null; head: string; commit: string },
  ): Promise<void> {
    const { git } = this.#options;
    const isOn = branch !== null && head === `ref: ${branch}`;
    const args = isOn ? ['symbolic-ref', 'HEAD', branch] : ['update-ref', '--no-deref', 'HEAD', commit];
    await git.call(checkout, args);
  }

  async #takeIn(checkout: Checkout, { place, known, outside }: Sides): Promise<void> {
    const { branch } = known;
    await carryIn(place, { branch, outside, isIndexOnly: !hasMoved(outside, known.outside) });
    await this.#remember(place, { branch, inside: await readInside(place, branch), outside });
    await this.#forgetApart(checkout);
  }

  async #refuse(checkout: Checkout, { place, known, inside }: Sides): Promise<never> {
    const { git } = this.#options;
    const { toplevel } = checkout;
    const commit = await commitOf(git, checkout, { side: inside, place, branch: known.branch });
    const ref = await this.#keepApart(checkout, basename(toplevel), commit);
    const message = `The agent in ${toplevel} and somebody outside its sandbox both made commits. The agent's are on ${ref}: \`git -C ${toplevel} merge ${ref}\` brings them in, and with \`-s ours\` leaves them out.`;
    throw new ReefError('history_refused', message, { details: { toplevel, ref, commit } });
  }

  async #keepApart(checkout: Checkout, id: string, commit: string): Promise<string> {
    const ref = apartRef(id);
    const from = (await readRef(this.#options.git, checkout, ref)) ?? null;
    await this.#move(checkout, { ref, to: commit, from });
    return ref;
  }

  /** What was apart is in both now. */
  async #forgetApart(checkout: Checkout): Promise<void> {
    const ref = apartRef(basename(checkout.toplevel));
    if (!(await isThere(join(checkout.commonDir, ref)))) return;
    const from = (await readRef(this.#options.git, checkout, ref)) ?? null;
    if (from !== null) await setRef(this.#options.git, checkout, { ref, to: null, from });
  }

  async #move(checkout: Checkout, change: { ref: string; to: string; from: string | null }): Promise<void> {
    if (change.to === change.from || (await setRef(this.#options.git, checkout, change))) return;
    throw new ReefError('git_locked', `${change.ref} was moved by somebody else.`);
  }

  #remember(place: Place, { branch, inside, outside }: { branch: string | null; inside: Side; outside: Side }) {
    const of = ({ tip, head, index }: Side) => ({ tip, head, index: index?.stamp ?? '' });
    return writeSettled(place, { branch, inside: of(inside), outside: of(outside) });
  }
}

function apartRef(id: string): string {
  return `refs/reef/apart/${id}`;
}

/** Its branch, and where its HEAD is. */
function commitsOf({ tip }: Side, head: string): string[] {
  return [...new Set([tip, head])].filter((oid) => oid !== null);
}

function hasMoved({ tip, head }: Side, known: Settled['inside']): boolean {
  return tip !== known.tip || head !== known.head;
}

function indexWay({ known, inside, outside }: Sides): 'out' | 'in' | 'none' {
  const isOther = (side: Side, was: Settled['inside']) => (side.index?.stamp ?? '') !== was.index;
  if (isOther(inside, known.inside) || hasMoved(inside, known.inside)) return 'out';
  return isOther(outside, known.outside) ? 'in' : 'none';
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function unlessUnderWay(error: unknown): void {
  if (!(error instanceof ReefError && error.code === 'repo_busy')) throw error;
}
