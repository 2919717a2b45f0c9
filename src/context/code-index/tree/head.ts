import { join } from 'node:path';
import type { Checkout } from '../../../git/checkout.ts';
import type { Git } from '../../../git/git-command.ts';
import { findCommit } from '../../../git/repository.ts';
import { stampText, textIn } from './read-file.ts';

/** Reads the commit of HEAD, empty before the first one. Asks git only after one of the files that decide it has changed. */
export function headReader(git: Git, checkout: Checkout): () => Promise<string> {
  let known: { stamp: string; commit: string } | undefined;
  return async () => {
    const stamp = stampOfHead(checkout);
    if (known?.stamp === stamp) return known.commit;
    const commit = (await findCommit(git, checkout, 'HEAD')) ?? '';
    known = { stamp, commit };
    return commit;
  };
}

function stampOfHead({ gitDir, commonDir }: Checkout): string {
  const head = textIn(join(gitDir, 'HEAD'));
  const [, ref] = /^ref: (.+)$/m.exec(head) ?? [];
  const shared = ['packed-refs', 'reftable/tables.list', ...(ref === undefined ? [] : [ref])];
  const files = [join(gitDir, 'logs/HEAD'), ...shared.map((file) => join(commonDir, file))];
  return JSON.stringify([head, ...files.map(stampText)]);
}
