import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { type Grant, GrantsFile, grantsPath } from '../../../runtime/grants-file.ts';
import type { Command } from '../cli.ts';
import { table } from '../render/columns.ts';
import { commandText } from '../render/question.ts';

const SHOWN = 10;

/** What was allowed for good, by the person and for every job; `--revoke` takes it back. */
export const grants: Command<{ revoke?: string }> = async (cli, _args, { revoke }) => {
  const file = new GrantsFile(grantsPath(cli.env));
  const found = file.list().filter(({ fingerprint }) => fingerprint.startsWith(revoke ?? ''));
  if (revoke !== undefined) {
    if (found.length === 0) throw new ReefError('grant_not_found', `no grant begins with ${revoke}`);
    await file.revoke(revoke);
  }
  if (!cli.json && found.length === 0) cli.talk('Nothing is allowed for good.');
  else cli.print({ grants: found, revoked: revoke !== undefined }, () => table(found.map(row), cli.style.width));
  return 0;
};

function row({ fingerprint, tool, input, cwd, at }: Grant) {
  const command = commandText((input as { command?: unknown } | null)?.command) ?? JSON.stringify(input ?? null);
  return [fingerprint.slice(0, SHOWN), at.slice(0, 10), tool, cwd, command].map((text) => ({ text: printable(text) }));
}
