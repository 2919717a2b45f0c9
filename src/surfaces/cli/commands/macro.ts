import { printable } from '../../../base/printable.ts';
import { loadMacro, usageOf } from '../../../runtime/macros/macro.ts';
import { openPlace } from '../../repl/open.ts';
import { askNobody } from '../../repl/person.ts';
import { printList } from '../../repl/print-list.ts';
import type { Command } from '../cli.ts';

export const list: Command<object> = (cli) => printList(cli, 'macros');

export const show: Command<object> = async (cli, [name = '']) => {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  const macro = loadMacro(app.paths, name);
  cli.print(macro, () => printable([usageOf(macro), ...macro.steps.map((step) => `  ${step}`)].join('\n')));
  return 0;
};
