import { ReefError } from '../../../protocol/errors.ts';

/** Names of this machine or its network, whatever a resolver says. */
const LOCAL_NAMES = /^(?:localhost|.*\.localhost|.*\.local|.*\.internal|metadata\.google\.internal)\.?$/i;

/** IPv4 networks that are not on the internet: address and prefix length. */
const PRIVATE_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
];

export interface UrlGuardDeps {
  /** All addresses of a name. */
  lookup: (host: string) => Promise<readonly string[]>;
  /** Local hosts that are allowed, with or without a port. */
  allowed?: readonly string[] | undefined;
}

/** The addresses at which a URL may be reached. Throws `url_refused` if it must not be reached. */
export type UrlGuard = (url: URL) => Promise<readonly string[]>;

/** Refuses loopback, private and link-local addresses unless they are configured. */
export function createUrlGuard({ lookup, allowed = [] }: UrlGuardDeps): UrlGuard {
  return async (url) => {
    const isAllowed = allowed.includes(url.host) || allowed.includes(url.hostname);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (!isAllowed && LOCAL_NAMES.test(host)) throw refused(url);
    const addresses = isAddress(host) ? [host] : await lookup(host);
    if (!isAllowed && addresses.some(isPrivateAddress)) throw refused(url);
    return addresses;
  };
}

function refused(url: URL): ReefError {
  return new ReefError('url_refused', `${url.host} belongs to this machine or its network`, {
    details: { host: url.host },
  });
}

const isAddress = (host: string) => host.includes(':') || v4Bits(host) !== undefined;

function v4Bits(host: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(host)?.slice(1).map(Number);
  if (!parts?.every((part) => part <= 255)) return undefined;
  return parts.reduce((bits, part) => bits * 256 + part, 0);
}

function isPrivateAddress(host: string): boolean {
  const bits = v4Bits(host);
  if (bits !== undefined) {
    return PRIVATE_V4.some(([network, length]) => {
      const size = 2 ** (32 - length);
      return Math.floor(bits / size) === Math.floor((v4Bits(network) ?? 0) / size);
    });
  }
  return host.includes(':') && isPrivateV6(host.toLowerCase());
}

/** Loopback, unspecified, unique local, link-local, multicast, and every form of a private IPv4 address. */
function isPrivateV6(host: string): boolean {
  const canonical = URL.canParse(`http://[${host.split('%', 1)[0]}]`)
    ? new URL(`http://[${host.split('%', 1)[0]}]`).hostname.slice(1, -1)
    : '';
  if (canonical === '' || canonical === '::' || canonical === '::1') return true;
  if (/^(f[cd]|fe[89ab]|ff)/.test(canonical)) return true;
  const mapped = /^(?:::ffff:|64:ff9b::|::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (!mapped) return false;
  const [high = 0, low = 0] = mapped.slice(1).map((part) => Number.parseInt(part, 16));
  return isPrivateAddress([high >> 8, high & 255, low >> 8, low & 255].join('.'));
}
