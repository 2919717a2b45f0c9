import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';

/** How a client reaches its provider, if it has its own settings for that. */
export interface Way {
  proxy?: URL;
  connectTimeoutMs?: number;
}

/** `extra` of a client, as in Loki. `proxy` is '' or '-' for none; `connect_timeout` is in seconds. */
const extraSchema = z.looseObject({ proxy: z.string().optional(), connect_timeout: z.number().positive().optional() });

/** Undefined without such settings. An unsupported proxy is an error: to ignore it would expose the user. */
export function wayOf(client: string, extra: unknown): Way | undefined {
  const parsed = extraSchema.safeParse(extra ?? {});
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0] ?? { path: [], message: '' };
    throw new ReefError('config_invalid', `extra.${path.join('.')} of the client ${client}: ${message}`);
  }
  const { proxy = '', connect_timeout } = parsed.data;
  const way: Way = {
    ...(proxy !== '' && proxy !== '-' && { proxy: toProxy(client, proxy) }),
    ...(connect_timeout !== undefined && { connectTimeoutMs: connect_timeout * 1000 }),
  };
  return Object.keys(way).length === 0 ? undefined : way;
}

function toProxy(client: string, proxy: string): URL {
  const url = URL.canParse(proxy) ? new URL(proxy) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new ReefError(
    'config_invalid',
    `extra.proxy of the client ${client} must begin with http:// or https://; other proxies are not supported`,
  );
}
