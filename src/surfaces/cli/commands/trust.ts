import { printable } from '../../../base/printable.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import type { TrustItem } from '../../../protocol/trust.ts';
import type { Cli, Command } from '../cli.ts';
import { askLine } from './ask-line.ts';

export const trust: Command<{ yes?: true }> = async (cli, _args, { yes = false }) => {
  const found = await cli.client().call('trust', {});
  if (!cli.json) for (const item of found.items) cli.out(shown(cli, item));
  const open = found.items.filter(({ trusted }) => !trusted);
  if (open.length === 0) {
    cli.talk(found.items.length === 0 ? 'This repository asks nothing of Reef.' : 'All of it is trusted.');
    if (cli.json) cli.print(found, () => '');
    return 0;
  }
  const result = (await trustShown(cli, open, yes)) ?? found;
  if (cli.json) cli.print(result, () => '');
  if (result === found) cli.talk('Nothing was trusted. `reef trust --yes` trusts what is shown.');
  return result === found ? 3 : 0;
};

/** For items that have been shown whole: what is trusted must have been seen (X-16). Undefined if it is not meant. */
export async function trustShown(
  cli: Cli,
  open: readonly TrustItem[],
  yes: boolean,
): Promise<OperationOutput<'trust'> | undefined> {
  const isMeant = yes || (cli.isInteractive && (await confirmed(cli, open.length)));
  if (!isMeant) return undefined;
  const result = await cli.client().call('trust', { hashes: open.map(({ hash }) => hash) });
  cli.talk(`Trusted: ${open.map(({ name }) => name).join(', ')}`);
  return result;
}

export function shown(
  { style }: Cli,
  { name, content, trusted }: Pick<TrustItem, 'name' | 'content' | 'trusted'>,
): string {
  const state = style.paint(trusted ? 'green' : 'yellow', trusted ? 'trusted' : 'not trusted');
  const lines = printable(content)
    .trimEnd()
    .split('\n')
    .map((line) => `  │ ${line}`);
  return [`${style.paint('bold', name)}  ${state}`, ...lines].join('\n');
}

async function confirmed(cli: Cli, count: number): Promise<boolean> {
  const answer = await askLine(cli, `Trust ${count === 1 ? 'this item' : `these ${count} items`}? [y/N] `);
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}
