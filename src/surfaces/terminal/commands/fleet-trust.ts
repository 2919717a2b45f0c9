import { giveTrust } from '../../../fleet/host/fleet-trust.ts';
import type { Command } from '../cli.ts';
import { audited, type DatabaseOptions, operatorName } from './fleet-database.ts';
import { isOpen, shown, trustShown } from './trust.ts';

/** What this folder's repository wants run is shown and trusted here, and thereby on every host. */
export const fleetTrust: Command<DatabaseOptions & { yes?: true }> = async (cli, [repository = ''], options) => {
  const { yes = false, ...named } = options;
  const found = await cli.client().call('trust', {});
  if (!cli.json) for (const item of found.items) cli.out(shown(cli, item));
  const open = found.items.filter(isOpen);
  const agreed = open.length === 0 ? found : await trustShown(cli, open, yes);
  if (!agreed) {
    cli.talk(`Nothing was trusted. To trust what is shown: reef fleet trust ${repository} --yes`);
    return 3;
  }
  const trusted = agreed.items.filter((item) => item.trusted);
  const hashes = trusted.map(({ hash }) => hash);
  await audited(cli, { ...named, operation: 'trust', target: repository }, (database) =>
    giveTrust(database, { repository, hashes, by: operatorName() }),
  );
  const names = trusted.map(({ name }) => name);
  cli.print(
    { repository, trusted: names },
    () => `Every host trusts of ${repository}: ${names.join(', ') || 'nothing'}`,
  );
  return 0;
};
