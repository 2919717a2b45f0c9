import { tmpdir } from 'node:os';
import { fetchByWay } from '../../../src/app/runtime/http-requests.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { fillLeaves } from '../../../src/runtime/config/placeholders.ts';
import type { Catalogue } from '../../../src/runtime/models/catalogue.ts';
import type { CallRecord, ModelRegistry } from '../../../src/runtime/models/client.ts';
import { createModelRegistry, type RegistryDeps } from '../../../src/runtime/models/registry.ts';

interface Opened {
  registry: ModelRegistry;
  records: CallRecord[];
  /** The key each request carried, in order. */
  keys: string[];
}

/** A registry as the app makes it, whose fetch also notes which key each request carried. */
export function openRegistry(
  clients: RegistryDeps['clients'],
  more: { clock?: Clock; catalogue?: Catalogue; configDir?: string; env?: Record<string, string> } = {},
): Opened {
  const records: CallRecord[] = [];
  const keys: string[] = [];
  const registry = createModelRegistry({
    clients,
    catalogue: more.catalogue ?? new Map(),
    fetch: (input, init) => {
      keys.push(keyOf(new Headers(init?.headers)));
      return fetch(input, init);
    },
    fetchByWay: async (way) => fetchByWay(way),
    clock: more.clock ?? systemClock,
    reveal: async (configured) => fillLeaves(configured, new Map([['VAULTED', 'from-vault']])),
    env: more.env ?? {},
    configDir: more.configDir ?? tmpdir(),
    userAgent: 'reef/test',
    onCall: (record) => records.push(record),
  });
  return { registry, records, keys };
}

function keyOf(headers: Headers): string {
  const bearer = headers.get('authorization')?.replace(/^Bearer /, '');
  return bearer ?? headers.get('x-api-key') ?? headers.get('x-goog-api-key') ?? '';
}
