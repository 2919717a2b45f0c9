import type { Checkout } from './checkout.ts';
import type { Git, Signature } from './git-command.ts';
import { checkOid, type Oid } from './ref-name.ts';

interface NewCommit {
  tree: Oid;
  parents: readonly Oid[];
  message: string;
  signature?: Signature;
}

/** Makes a commit that no ref names yet. Equal content, signature and time give the same commit. */
export async function commitTree(git: Git, checkout: Checkout, wanted: NewCommit): Promise<Oid> {
  const { tree, parents, message, signature } = wanted;
  const args = ['commit-tree', '--no-gpg-sign', ...parents.flatMap((parent) => ['-p', checkOid(parent)])];
  const { stdout } = await git.call(checkout, [...args, '-F', '-', checkOid(tree)], { input: message, signature });
  return checkOid(stdout.toString('latin1').trim());
}
