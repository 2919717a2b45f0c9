import { basename } from 'node:path';
import { systemClock } from '../../../base/clock.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { everyClient } from '../../client/every-client.ts';
import type { Cli, Command } from '../cli.ts';
import { Frame } from '../top/frame.ts';
import { Keys } from '../top/keys.ts';
import { Top, type Watched } from '../top/top.ts';

const LOOK_MS = 1_000;
/** How often other repositories are looked for whose daemon was started meanwhile. */
const SEARCH_EVERY = 10;

export const top: Command<object> = async (cli) => {
  if (!cli.isInteractive || cli.json)
    throw new ReefError('bad_request', 'This needs a terminal. The same, printed once: `reef ps --all`');
  const { stdin, stdout } = cli.host as typeof cli.host & { stdin: NodeJS.ReadStream; stdout: NodeJS.WriteStream };
  const frame = new Frame((text) => stdout.write(text));
  const overview = new Top({
    watched: watcher(cli),
    size: () => ({ width: stdout.columns ?? 80, height: stdout.rows ?? 24 }),
    hasColour: !cli.env.noColor,
    draw: (lines) => frame.draw(lines),
    bell: () => frame.bell(),
  });
  const keys = new Keys();
  const over = new AbortController();
  const onData = (bytes: Buffer) => {
    for (const key of keys.read(bytes)) overview.key(key);
  };
  const redraw = () => {
    frame.forget();
    overview.draw();
  };
  const drained = () => {
    frame.drained();
    overview.draw();
  };
  stdin.setRawMode(true);
  stdin.on('data', onData);
  stdin.once('end', () => over.abort());
  stdout.on('resize', redraw).on('drain', drained);
  try {
    void overview.left.then(() => over.abort());
    await keepLooking(overview, over.signal);
  } finally {
    stdin.off('data', onData).setRawMode(false).pause();
    stdout.off('resize', redraw).off('drain', drained);
    frame.close();
  }
  return 0;
};

async function keepLooking(overview: Top, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await overview.look();
    await systemClock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

/** This repository, whose daemon is started, and all others whose daemon runs. */
function watcher(cli: Cli): () => Promise<readonly Watched[]> {
  let watched: readonly Watched[] = [];
  let count = 0;
  return async () => {
    if (count++ % SEARCH_EVERY === 0) watched = await watchedNow(cli);
    return watched;
  };
}

async function watchedNow(cli: Cli): Promise<readonly Watched[]> {
  const own = ownOf(cli);
  if (own && cli.env.isInJob) return [own];
  const others = (await everyClient(cli.env)).filter(({ home }) => home !== own?.home);
  if (own || others.length > 0) return unique(own ? [own, ...others] : others);
  throw new ReefError('not_a_repository', `${cli.cwd} is not inside a git repository, and no daemon runs elsewhere`);
}

function ownOf(cli: Cli): (Watched & { home: string }) | undefined {
  try {
    const { dir, repository } = cli.home();
    return { name: basename(repository ?? dir), client: cli.client(), home: dir };
  } catch {
    return undefined;
  }
}

/** Two repositories of one name are told apart by a number. */
function unique(all: readonly Watched[]): readonly Watched[] {
  const seen = new Map<string, number>();
  return all.map(({ name, client }) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return { name: count === 1 ? name : `${name} (${count})`, client };
  });
}
