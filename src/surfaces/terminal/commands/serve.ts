import { devNull } from 'node:os';
import type { DoorInfo } from '../../../protocol/daemon.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { OnBox } from '../../remote/on-box.ts';
import type { Cli, Command } from '../cli.ts';

interface ServeOptions {
  port?: number;
  host?: string;
  origin?: string;
  iKnowThisIsARemoteShell?: true;
  close?: true;
  databaseUrl?: string;
  databaseUrlFile?: string;
  hub?: string;
}

/** Opens the door over TCP, or closes it. It stays as it is when the command has ended. */
export const serve: Command<ServeOptions> = async (cli, args, options) => {
  const { close, iKnowThisIsARemoteShell, databaseUrl, databaseUrlFile, hub, ...place } = options;
  if (databaseUrl !== undefined || databaseUrlFile !== undefined) {
    const { serveFleet } = await import('./fleet-serve.ts');
    return serveFleet(cli, args, options);
  }
  const isRemoteShell = iKnowThisIsARemoteShell === true;
  const info = await cli.client().door(close ? { do: 'close' } : { do: 'open', ...place, isRemoteShell });
  cli.print(info, () => described(info));
  return 0;
};

/** Opens the door and logs a browser in. Where there is no display, the printed address does it, too. */
export const open: Command<object> = async (cli) => {
  const login = await cli.client().door({ do: 'login' });
  if (cli.remote) return openThere(cli, cli.remote, login);
  const { code, ...info } = login;
  const page = `${info.address}/#code=${code}`;
  const isShown = !cli.json && (await showInBrowser(cli, page));
  const pages = info.origin === undefined ? [page] : [page, `${info.origin}/#code=${code}`];
  cli.print({ ...info, page }, () => (isShown ? `Opening ${info.address} in your browser.` : pages.join('\n')));
  if (isShown) cli.talk(`If it shows nothing, open this within a minute: ${page}`);
  else cli.talk('It lets one browser in, once, within a minute.');
  return 0;
};

/** The page of another machine, here at the port that it has there: its door lets in nobody who names another one. */
async function openThere(cli: Cli, remote: OnBox, { address = '', code }: DoorInfo): Promise<number> {
  const door = new URL(address);
  const page = `http://127.0.0.1:${door.port}/#code=${code}`;
  return remote.holdDoor(door, () => {
    cli.print({ address: `http://127.0.0.1:${door.port}`, page }, () => page);
    cli.talk(
      'It lets one browser in, once, within a minute. The page is here as long as this command runs: Ctrl-C ends it.',
    );
    if (!cli.json) void showInBrowser(cli, page);
  });
}

/** Whoever came in with the old token is out at once, pages too. */
export const rotateToken: Command<object> = async (cli) => {
  const info = await cli.client().door({ do: 'rotate' });
  cli.print(info, () => `A new token is in ${info.tokenFile}.`);
  cli.talk('The old one is worth nothing, and every page has to log in again: reef open');
  return 0;
};

function described({ isOpen, address, origin, tokenFile }: DoorInfo): string {
  if (!isOpen) return 'The door is closed.';
  const tunnel = origin === undefined ? [] : [`${origin}  through your own tunnel or proxy`];
  return [
    address ?? '',
    ...tunnel,
    `token of scripts: ${tokenFile}`,
    '`reef open` logs a browser in; `reef serve --close` closes the door.',
  ].join('\n');
}

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', linux: 'xdg-open' };

/** False where there is no display, or nothing that opens a browser. */
async function showInBrowser({ env, host, home, remote }: Cli, page: string): Promise<boolean> {
  const opener = OPENERS[process.platform];
  const hasDisplay = process.platform === 'darwin' || Boolean(host.env.DISPLAY || host.env.WAYLAND_DISPLAY);
  if (opener === undefined || !hasDisplay || env.isInJob) return false;
  const { startDetached } = await import('../../../process/start-child.ts');
  try {
    await startDetached(opener, [page], { cwd: env.home, env: { ...env.all }, logFile: remote ? devNull : home().log });
    return true;
  } catch (error) {
    if (error instanceof ReefError && error.code === 'spawn_failed') return false;
    throw error;
  }
}
