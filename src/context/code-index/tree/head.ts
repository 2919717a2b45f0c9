import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkout } from '../../../git/checkout.ts';
import type { Git } from '../../../git/git-command.ts';
import { findCommit } from '../../../git/repository.ts';
import { textIn } from './read-file.ts';

/** Finds the commit of HEAD. It asks git only after one of the files that decide it has changed. */
export class HeadReader {
  readonly #git: Git;
  readonly #checkout: Checkout;
  #known: { stamp: string; commit: string } | undefined;

  constructor(git: Git, checkout: Checkout) {
    this.#git = git;
    this.#checkout = checkout;
  }

  /** Empty before the first commit. */
  async read(): Promise<string> {
    const stamp = this.#stamp();
    if (this.#known?.stamp === stamp) return this.#known.commit;
    const commit = (await findCommit(this.#git, this.#checkout, 'HEAD')) ?? '';
    this.#known = { stamp, commit };
    return commit;
  }

  #stamp(): string {
    const { gitDir, commonDir } = this.#checkout;
    const head = textIn(join(gitDir, 'HEAD'));
    const [, ref] = /^ref: (.+)$/m.exec(head) ?? [];
    const deciders = [
      join(gitDir, 'logs/HEAD'),
      join(commonDir, 'packed-refs'),
      join(commonDir, 'reftable/tables.list'),
    ];
    const files = ref === undefined ? deciders : [...deciders, join(commonDir, ref)];
    return JSON.stringify([head, ...files.map(timesOf)]);
  }
}

function timesOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.ctimeMs}`;
}
