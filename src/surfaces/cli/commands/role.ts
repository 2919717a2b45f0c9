import { printable } from '../../../base/printable.ts';
import { exportRole } from '../../../runtime/roles/role.ts';
import { loadRole } from '../../../runtime/roles/role-folder.ts';
import { openPlace } from '../../repl/open.ts';
import { askNobody } from '../../repl/person.ts';
import { printList } from '../../repl/print-list.ts';
import type { Command } from '../cli.ts';

export const list: Command<object> = (cli) => printList(cli, 'roles');

export const show: Command<object> = async (cli, [name = '']) => {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  const role = loadRole(app.paths, name, app.warn);
  cli.print(role, () => printable(exportRole(role)).trimEnd());
  return 0;
};
