import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIPv6, type LookupFunction } from 'node:net';
import { toResponse } from './to-response.ts';

/**
 * One GET at addresses found beforehand, without following where it leads. `fetch` would look the name up once more, and
 * whoever answers for the name could by then say another address than the one that was judged.
 */
export async function pinnedGet(url: URL, addresses: readonly string[], signal: AbortSignal): Promise<Response> {
  const { get } = url.protocol === 'https:' ? https : http;
  const request = get(url, { agent: false, lookup: answering(addresses), signal });
  const [message] = (await once(request, 'response')) as [IncomingMessage];
  return toResponse(message);
}

function answering(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (host, options, callback) => {
    const [first] = found;
    if (first === undefined) callback(new Error(`${host} has no address`), '');
    else if (options.all) callback(null, found);
    else callback(null, first.address, first.family);
  };
}
