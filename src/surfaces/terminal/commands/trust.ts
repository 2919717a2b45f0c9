import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import type { TrustItem } from '../../../protocol/trust.ts';
import { type Grant, GrantsFile, grantsPath } from '../../../runtime/config/grants-file.ts';
import { table } from '../../render/columns.ts';
import { commandText } from '../../render/question.ts';
import type { Cli, Command } from '../cli.ts';
import { agrees } from '../prompt/line-person.ts';

export const trust: Command<{ yes?: true }> = async (cli, _args, { yes = false }) => {
  const found = await cli.client().call('trust', {});
  if (!cli.json) for (const item of found.items) cli.out(shown(cli, item));
  const open = found.items.filter(isOpen);
  if (open.length === 0) {
    cli.talk(found.items.length === 0 ? 'There is nothing to trust in this repository.' : 'You trust all of it.');
    if (cli.json) cli.print(found, () => '');
    return 0;
  }
  const result = (await trustShown(cli, open, yes)) ?? found;
  if (cli.json) cli.print(result, () => '');
  if (result === found) cli.talk('Nothing was trusted. To trust what is shown: reef trust --yes');
  return result === found ? 3 : 0;
};

/** Whether a person can still agree to it. What cannot be shown whole has no hash. */
export function isOpen({ trusted, hash }: Pick<TrustItem, 'trusted' | 'hash'>): boolean {
  return !trusted && hash !== '';
}

/** Trusts items that have been shown in full. Undefined if the person does not confirm. */
export async function trustShown(
  cli: Cli,
  open: readonly TrustItem[],
  yes: boolean,
): Promise<OperationOutput<'trust'> | undefined> {
  const what = open.length === 1 ? 'this item' : `these ${open.length} items`;
  const isMeant = yes || (cli.isInteractive && (await agrees(cli, `Trust ${what}?`)));
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

const SHOWN = 10;

/** Lists what the person has allowed for all jobs; `--revoke` takes it back. */
export const grants: Command<{ revoke?: string }> = async (cli, _args, { revoke }) => {
  const file = new GrantsFile(grantsPath(cli.env));
  const found = file.list().filter(({ fingerprint }) => fingerprint.startsWith(revoke ?? ''));
  if (revoke !== undefined) {
    if (found.length === 0)
      throw new ReefError('grant_not_found', `No grant has a fingerprint that begins with ${revoke}`);
    await file.revoke(revoke);
  }
  if (!cli.json && found.length === 0) cli.talk('No grants: nothing is always allowed.');
  else cli.print({ grants: found, revoked: revoke !== undefined }, () => table(found.map(row), cli.style.width));
  return 0;
};

function row({ fingerprint, covers, tool, input, cwd, at }: Grant) {
  const isWide = covers !== undefined && !/^(this|exactly) /.test(covers);
  const request = commandText((input as { command?: unknown } | null)?.command) ?? JSON.stringify(input ?? null);
  return [fingerprint.slice(0, SHOWN), at.slice(0, 10), tool, cwd, isWide ? covers : request].map((text) => ({
    text: printable(text),
  }));
}
