import { type Command, InvalidArgumentError, Option } from 'commander';
import { collect, definer, type Run, wholeNumber } from './define.ts';

export function declare(program: Command, run: Run): void {
  const fleet = program.command('fleet').description('Many machines with one inbox: their database, people and hosts');
  const define = definer(run, () => import('../commands/fleet.ts'));
  const init = onDatabase(fleet.command('init'))
    .description('Prepare the database: roles, tables and the token of the first admin')
    .option('--admin <name>', 'name of the first admin (default: yours on this machine)')
    .option('--app-url-file <file>', 'give reef_app a password of its own and write its address for the workers here');
  define(init, 'init', 'reef fleet init --database-url-file admin.url --app-url-file app.url');
  const hosts = onDatabase(fleet.command('hosts')).description('List the hosts: what they do and may do');
  define(hosts, 'hosts');
  const runs = onDatabase(fleet.command('runs')).description('List the runs of all repositories and where they are');
  define(runs, 'runs');
  const start = onDatabase(fleet.command('run').argument('<repository>', 'as `reef fleet repo list` names it'))
    .argument('<task>', 'what should be done, in words')
    .description('Queue a run; the next host with a free slot and the right labels takes it')
    .option('--workflow <name>', 'as for `reef run`')
    .option('--agent <agent>', 'as for `reef run`')
    .option('--need <label>', 'a label the host must have; again for more', collect)
    .addOption(
      new Option('--priority <priority>', 'who goes first').choices(['high', 'normal', 'low']).default('normal'),
    );
  define(start, 'startFleetRun', 'reef fleet run shop "make the tests pass"');
  const events = onDatabase(fleet.command('events'))
    .description('Print what happened on all hosts, in one order')
    .option('--since <cursor>', 'a cursor that was printed before')
    .option('--follow', 'go on with what happens from now on');
  define(events, 'events', 'reef fleet events --follow');
  const retention = onDatabase(fleet.command('retention'))
    .description('Remove old events and records; once a day, as whoever prepared the database')
    .option('--event-days <number>', 'keep events for so many days (default: 30)', wholeNumber)
    .option('--record-months <number>', 'keep runs, usage and audit for so many months (default: 13)', wholeNumber);
  define(retention, 'retention', 'reef fleet retention --database-url-file admin.url');
  const budget = onDatabase(fleet.command('budget').argument('<repository-or-person>', 'whose budget it is'))
    .description('Set what may be used in a calendar month; without a limit there is none')
    .option('--tokens <number>', 'tokens', wholeNumber)
    .option('--usd <number>', 'dollars', dollars);
  define(budget, 'budget', 'reef fleet budget shop --usd 200');
  const trust = onDatabase(fleet.command('trust').argument('<repository>', 'as `reef fleet repo list` names it'))
    .description('Trust what the repository of this folder wants run, on every host')
    .option('--yes', 'do not ask');
  definer(run, () => import('../commands/fleet-trust.ts'))(trust, 'fleetTrust', 'reef fleet trust shop');
  declareInbox(fleet, run);
  declarePeople(fleet, run);
  declareWorker(program, fleet, run);
}

function declareWorker(program: Command, fleet: Command, run: Run): void {
  const define = definer(run, () => import('../commands/worker.ts'));
  // Options after `install` are its own.
  const worker = workerOptions(onDatabase(program.enablePositionalOptions().command('worker'))).description(
    'Work for a fleet: claim its runs on this machine until told to stop',
  );
  define(worker, 'worker', 'reef worker --database-url-file app.url');
  const install = workerOptions(onDatabase(worker.command('install')))
    .description('Write a unit of systemd that starts this worker, also after a logout and a restart of the machine')
    .option('--print', 'show the unit and write nothing');
  define(install, 'installWorker', 'reef worker install --database-url-file app.url --slots 8');
  const drain = onDatabase(fleet.command('drain').argument('<host>', 'as `reef fleet hosts` names it')).description(
    'Let a host take no more runs; its worker ends when it has none',
  );
  define(drain, 'drain', 'reef fleet drain build-2');
}

function workerOptions(command: Command): Command {
  return command
    .option('--host <id>', 'what the fleet calls this machine (default: its name)')
    .option('--slots <n>', 'how many runs at once (default 4)', wholeNumber)
    .option('--label <label>', 'what runs may need, such as os=linux; may be repeated', collect)
    .option('--hub <address>', 'where `reef serve --database-url` is: runs may move there from a host that is lost')
    .option('--repo-cache <folder>', 'where repositories and their homes lie');
}

function declareInbox(fleet: Command, run: Run): void {
  const define = definer(run, () => import('../commands/fleet-inbox.ts'));
  const inbox = onDatabase(fleet.command('inbox')).description('List the open questions of all hosts');
  define(inbox, 'inbox');
  const answer = onDatabase(fleet.command('answer').argument('<question>', 'as `reef fleet inbox` names it'))
    .argument('[text]', 'a message')
    .description('Answer a question, wherever it was asked; the first answer counts')
    .option('--option <label>', 'one of the options; again for more', collect)
    .option('--allow', 'allow what is asked for, once')
    .option('--deny', 'do not allow it');
  define(answer, 'answer', 'reef fleet answer shop/01J9/q1 --option yes');
}

function declarePeople(fleet: Command, run: Run): void {
  const define = definer(run, () => import('../commands/fleet-people.ts'));
  const person = fleet.command('person').description('The people of the fleet and what they may');
  const add = onDatabase(person.command('add').argument('<name>'))
    .description('Add a person; `reef fleet token add` lets them in')
    .addOption(
      new Option('--role <role>', 'viewer, operator or admin')
        .choices(['viewer', 'operator', 'admin'])
        .default('operator'),
    )
    .option('--merge', 'an operator who may accept work')
    .option('--repo <name>', 'only this repository; again for more', collect);
  define(add, 'addPersonCommand', 'reef fleet person add ada --role operator --merge');
  define(onDatabase(person.command('list')).description('List them'), 'people');
  const revoke = onDatabase(person.command('revoke').argument('<name>')).description('Let them in no more, at once');
  define(revoke, 'revokePersonCommand', 'reef fleet person revoke ada');
  const token = fleet.command('token').description('What lets a person in: one for each device');
  const addToken = onDatabase(token.command('add').argument('<person>'))
    .description('Print a token, once')
    .requiredOption('--device <name>', 'what it is for')
    .option('--days <number>', 'good for so many days (default and most: 90)', wholeNumber);
  define(addToken, 'addTokenCommand', 'reef fleet token add ada --device laptop');
  define(onDatabase(token.command('list')).description('List them, without what they are'), 'tokens');
  const revokeToken = onDatabase(token.command('revoke').argument('<person>'))
    .description('End them within a second, what they let in included')
    .option('--device <name>', 'only that of this device');
  define(revokeToken, 'revokeTokenCommand', 'reef fleet token revoke ada --device laptop');
  const repo = fleet.command('repo').description('The repositories of the fleet');
  const addRepo = onDatabase(repo.command('add').argument('<name>'))
    .argument('<source>', 'an address that git of this machine reaches, or a bundle file')
    .description('Clone a repository into the hub, on the machine that serves it')
    .option('--cap <number>', 'most runs at once (default: 8)', wholeNumber)
    .option('--weight <number>', 'its share of the hosts (default: 1)', wholeNumber)
    .option('--hub <folder>', 'where the repositories of the hub lie');
  define(addRepo, 'addRepository', 'reef fleet repo add shop ssh://git@forge.example/team/shop.git');
  define(onDatabase(repo.command('list')).description('List them'), 'repositories');
}

function dollars(text: string): number {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError('expected an amount such as 12.50');
  return Number(text);
}

/** Every command that speaks to the database takes these. */
function onDatabase(command: Command): Command {
  return command
    .option('--database-url <address>', 'postgres://user@host/database, without a password; or set REEF_DATABASE_URL')
    .option('--database-url-file <file>', 'a file that only you can read, with the address in it');
}
