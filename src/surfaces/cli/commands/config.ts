import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { printable } from '../../../base/printable.ts';
import { importFolder } from '../../../runtime/config/import-folder.ts';
import { createPaths } from '../../../runtime/paths.ts';
import { openPlace } from '../../repl/open.ts';
import { askNobody } from '../../repl/person.ts';
import type { Command } from '../cli.ts';

/** What could not be used is listed; secrets are to be entered again. */
export const configImport: Command<{ from: string }> = async (cli, _args, { from }) => {
  const paths = createPaths(cli.env.all, cli.env.home);
  const report = await importFolder(resolve(cli.cwd, from), paths);
  cli.print(report, () =>
    printable(
      [
        `Copied ${report.copied.length} files to ${paths.configDir()}`,
        ...report.notUsed.map(({ path, why }) => `not used: ${path}: ${why}`),
        ...report.secrets.map((name) => `enter again: reef vault add ${name}`),
      ].join('\n'),
    ),
  );
  return 0;
};

export const configShow: Command<object> = async (cli) => {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  cli.print(app.config, () => printable(stringify(app.config, { lineWidth: 0 })).trimEnd());
  return 0;
};
