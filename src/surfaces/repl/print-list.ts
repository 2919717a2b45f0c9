import { printable } from '../../base/printable.ts';
import type { Cli } from '../cli/cli.ts';
import { type Listed, listOf } from './lists.ts';
import { openPlace } from './open.ts';
import { askNobody } from './person.ts';

export async function printList(cli: Cli, what: Listed): Promise<number> {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  const names = await listOf(app, what);
  if (names.length > 0 || cli.json) cli.print({ [what]: names }, () => names.map(printable).join('\n'));
  else cli.talk(`There are no ${what} yet.`);
  return 0;
}
