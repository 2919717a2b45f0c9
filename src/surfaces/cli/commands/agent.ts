import { stringify } from 'yaml';
import { printable } from '../../../base/printable.ts';
import { loadAgentSpec } from '../../../runtime/agent-spec/load.ts';
import { openPlace } from '../../repl/open.ts';
import { askNobody } from '../../repl/person.ts';
import { printList } from '../../repl/print-list.ts';
import type { Command } from '../cli.ts';

export const list: Command<object> = (cli) => printList(cli, 'agents');

export const show: Command<object> = async (cli, [name = '']) => {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  const spec = loadAgentSpec(name, { paths: app.paths, env: app.environment, warn: app.warn });
  cli.print(spec, () => printable(stringify(spec, { lineWidth: 0 })).trimEnd());
  return 0;
};
