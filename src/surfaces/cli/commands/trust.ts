import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { printable } from '../../../base/printable.ts';
import type { Cli, Command } from '../cli.ts';

/** Shows every item whole before it asks: what is trusted must have been seen (X-16). */
export const trust: Command<{ yes?: true }> = async (cli, _args, { yes }) => {
  const client = cli.client();
  const found = await client.call('trust', {});
  const open = found.items.filter(({ trusted }) => !trusted);
  if (!cli.json) for (const item of found.items) cli.out(shown(cli, item));
  if (open.length === 0) {
    cli.talk(found.items.length === 0 ? 'This repository asks nothing of Reef.' : 'All of it is trusted.');
    if (cli.json) cli.print(found, () => '');
    return 0;
  }
  const isMeant = yes === true || (cli.isInteractive && (await confirmed(cli, open.length)));
  const result = isMeant ? await client.call('trust', { hashes: open.map(({ hash }) => hash) }) : found;
  if (cli.json) cli.print(result, () => '');
  cli.talk(
    isMeant
      ? `Trusted: ${open.map(({ name }) => name).join(', ')}`
      : 'Nothing was trusted. `reef trust --yes` trusts what is shown.',
  );
  return isMeant ? 0 : 3;
};

function shown(
  { style }: Cli,
  { name, content, trusted }: { name: string; content: string; trusted: boolean },
): string {
  const state = style.paint(trusted ? 'green' : 'yellow', trusted ? 'trusted' : 'not trusted');
  const lines = printable(content)
    .trimEnd()
    .split('\n')
    .map((line) => `  │ ${line}`);
  return [`${style.paint('bold', name)}  ${state}`, ...lines].join('\n');
}

async function confirmed(cli: Cli, count: number): Promise<boolean> {
  const prompt = createInterface({ input: cli.host.stdin as Readable, output: cli.host.stderr as Writable });
  const answer = await prompt.question(`Trust ${count === 1 ? 'this item' : `these ${count} items`}? [y/N] `);
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}
