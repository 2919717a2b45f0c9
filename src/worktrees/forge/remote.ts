import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import { checkRevision } from '../../git/ref-name.ts';
import { ReefError } from '../../protocol/errors.ts';

/** A repository at a forge: where its page is, and what its command line calls it. */
export interface ForgeRepository {
  host: string;
  /** `owner/name`; GitLab has groups of groups. */
  path: string;
}

interface Remote {
  name: string;
  /** Absent where the address names no forge, such as a folder. */
  forge?: ForgeRepository;
}

/** The remote that was named, or the one that git would push the target branch to. */
export async function chooseRemote(git: Git, checkout: Checkout, wanted: { name?: string; branch: string }) {
  const read = async (args: readonly string[]) =>
    (await git.call(checkout, args, { okCodes: [0, 1, 2] })).stdout.toString('utf8').trim();
  const names = (await read(['remote'])).split('\n').filter((name) => name !== '');
  const configured = [
    wanted.name,
    await read(['config', '--get', 'remote.pushDefault']),
    wanted.branch && (await read(['config', '--get', `branch.${checkRevision(wanted.branch)}.remote`])),
    names.includes('origin') ? 'origin' : names.length === 1 ? names[0] : undefined,
  ];
  const name = configured.find((each) => each !== undefined && each !== '' && each !== '.');
  if (name === undefined || !names.includes(name)) {
    const there = names.length === 0 ? 'none' : names.join(', ');
    const what = name === undefined ? 'Which remote shall it be pushed to?' : `There is no remote "${name}".`;
    throw new ReefError('remote_unknown', `${what} There are: ${there}.`, { details: { remotes: names } });
  }
  // As git would use it, or else as it is written: a shorthand may stand for the forge, and a copy nearby for its address.
  const addresses = [
    await read(['remote', 'get-url', '--push', '--', name]),
    await read(['config', '--get', `remote.${name}.url`]),
  ];
  const forge = addresses.map(forgeOf).find((each) => each !== undefined);
  return { name, ...(forge && { forge }) } satisfies Remote;
}

const NAME = /^[\w.-]+(?:\/[\w.-]+)+$/;

/** `git@host:owner/name.git`, `ssh://git@host:22/owner/name` and `https://host/owner/name.git` name the same. */
export function forgeOf(address: string): ForgeRepository | undefined {
  const short = /^(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!\/)(.+)$/.exec(address);
  const url = short || !URL.canParse(address) ? undefined : new URL(address);
  const isNet = url !== undefined && /^(https?|ssh|git):$/.test(url.protocol);
  const [host, rest] = short ? [short[1] ?? '', short[2] ?? ''] : isNet ? [url.hostname, url.pathname] : ['', ''];
  const path = rest.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  return host !== '' && NAME.test(path) ? { host, path } : undefined;
}
