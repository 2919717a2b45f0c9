import { BlockList, isIP } from 'node:net';

/** Where the programs of one sandbox may connect to. Written to a file that only the proxy reads: an upstream may hold a password. */
export interface EgressRules {
  /** Where the proxy listens. The sandbox shows its folder. */
  socket: string;
  /** What the user named: `example.com`, `*.example.com`, `example.com:8443`, also of the machine itself and its networks. */
  named: readonly string[];
  /** What Reef knows: model hosts and package registries. Such a name never leads into the user's own network. */
  known: readonly string[];
  /** The socket of the job, through which a person is asked about any other host. Absent: it is refused. */
  ask?: string;
  /** The user's own proxy. */
  upstream: { http?: string; https?: string; except?: string };
}

export interface Target {
  host: string;
  port: number;
}

const WEB_PORTS = [80, 443];

const INTERNAL_4 = blockList('ipv4', [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/3'],
]);
/** The first four stand for IPv4 addresses: compatible, mapped, translated, tunnelled. */
const INTERNAL_6 = blockList('ipv6', [
  ...['::/96', '::ffff:0:0/96', '64:ff9b::/16', '2002::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
]);

function blockList(family: 'ipv4' | 'ipv6', nets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const net of nets) {
    const [address = '', bits] = net.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Addresses of this machine, of its networks, and of what clouds tell their machines. */
export function isInternal(address: string): boolean {
  return isIP(address) === 6 ? INTERNAL_6.check(address, 'ipv6') : INTERNAL_4.check(address, 'ipv4');
}

/** Of `Example.COM.:443` the host `example.com`; brackets around an IPv6 address are taken off. */
export function parseAuthority(text: string): { host: string; port: number | undefined } | undefined {
  const [, address, name, digits] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = (address ?? name ?? '').toLowerCase().replace(/\.$/, '');
  const port = digits === undefined ? undefined : Number(digits);
  return host === '' || port === 0 || (port ?? 0) > 65_535 ? undefined : { host, port };
}

/** As people write it: the ports of the web go without saying. */
export function targetText({ host, port }: Target): string {
  return WEB_PORTS.includes(port) ? host : `${host}:${port}`;
}

/** The machine's own loopback, by any of its names. */
export function isLoopback(host: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|::1)$/.test(host);
}

/** Without a port a pattern means the ports of the web, and nothing of the loopback, whose names are all the same. */
export function isListed(patterns: readonly string[], { host, port }: Target): boolean {
  return patterns.some((pattern) => {
    const isWild = pattern.startsWith('*.');
    const listed = parseAuthority(isWild ? pattern.slice(2) : pattern);
    if (!listed || (listed.port === undefined ? !WEB_PORTS.includes(port) : listed.port !== port)) return false;
    if (isLoopback(host)) return listed.port !== undefined && isLoopback(listed.host);
    return isWild ? host.endsWith(`.${listed.host}`) : host === listed.host;
  });
}

/** The ports of the loopback among what is named: programs in the sandbox find each at the same number. */
export function loopbackPorts(named: readonly string[]): number[] {
  const ports = named.flatMap((pattern) => {
    const listed = parseAuthority(pattern);
    return listed?.port !== undefined && isLoopback(listed.host) ? [listed.port] : [];
  });
  return [...new Set(ports)];
}

/** The upstream to use, by the usual rules of NO_PROXY. */
export function upstreamFor({ upstream }: EgressRules, { host, port }: Target): URL | undefined {
  const url = port === 80 ? upstream.http : (upstream.https ?? upstream.http);
  const except = (upstream.except ?? '').split(',').map((entry) => entry.trim().toLowerCase());
  const isExcepted = except.some((entry) => {
    const name = entry.replace(/:\d+$/, '').replace(/^\*?\./, '');
    if (entry.endsWith(`:${port}`) ? false : /:\d+$/.test(entry)) return false;
    return entry === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`)));
  });
  return isExcepted || url === undefined
    ? undefined
    : (URL.parse(/:\/\//.test(url) ? url : `http://${url}`) ?? undefined);
}
