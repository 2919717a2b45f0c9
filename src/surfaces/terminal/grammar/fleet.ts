import type { Command } from 'commander';
import { definer, type Run } from './define.ts';

export function declare(program: Command, run: Run): void {
  const fleet = program.command('fleet').description('Many machines with one inbox: their database, people and hosts');
  const define = definer(run, () => import('../commands/fleet.ts'));
  const init = onDatabase(fleet.command('init'))
    .description('Prepare the database: roles, tables and the token of the first admin')
    .option('--admin <name>', 'name of the first admin (default: yours on this machine)')
    .option('--app-url-file <file>', 'give reef_app a password of its own and write its address for the workers here');
  define(init, 'init', 'reef fleet init --database-url-file admin.url --app-url-file app.url');
}

/** Every command that speaks to the database takes these. */
function onDatabase(command: Command): Command {
  return command
    .option('--database-url <address>', 'postgres://user@host/database, without a password; or set REEF_DATABASE_URL')
    .option('--database-url-file <file>', 'a file that only you can read, with the address in it');
}
