import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import { checkOid, type Oid } from '../../git/ref-name.ts';

/** The newest commit two histories share; undefined if they share none. */
export async function mergeBase(
  git: Git,
  checkout: Checkout,
  [one, other]: readonly [Oid, Oid],
): Promise<Oid | undefined> {
  if (one === other) return one;
  const args = ['merge-base', '--end-of-options', checkOid(one), checkOid(other)];
  const { code, stdout } = await git.call(checkout, args, { okCodes: [0, 1] });
  return code === 0 ? checkOid(stdout.toString('latin1').trim()) : undefined;
}
