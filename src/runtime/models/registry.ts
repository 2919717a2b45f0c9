import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { lazily } from '../../base/lazily.ts';
import { nearestName } from '../../base/nearest.ts';
import { withoutEnd } from '../../base/without-end.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ClientConfig } from '../config/app-config.ts';
import { type Catalogue, overrideCatalogue, parseCatalogue, toModelData } from './catalogue.ts';
import type { CallRecord, Model, ModelClient, ModelData, ModelKind, ModelRegistry } from './client.ts';
import { loadDialect } from './dialects.ts';
import { KeyPool } from './key-pool.ts';
import shipped from './models.json' with { type: 'json' };
import { patchedFetch, patchesFor } from './patched-fetch.ts';
import { createPooledClient } from './pooled-client.ts';
import type { Provider } from './provider.ts';
import { createScriptedProvider } from './scripted.ts';
import { createSdkProvider, type SettingsOf } from './sdk-provider.ts';

/** How a client reaches its provider, if it has its own settings for that. */
export interface Way {
  proxy?: URL;
  connectTimeoutMs?: number;
}

type ReadonlyClient = { readonly [Key in keyof ClientConfig]: unknown } & { readonly type: string };

export interface RegistryDeps {
  clients: readonly ReadonlyClient[];
  catalogue: Catalogue;
  fetch: typeof globalThis.fetch;
  /** `fetch` for a client with its own proxy or timeout. */
  fetchByWay: (way: Way) => Promise<typeof globalThis.fetch>;
  clock: Clock;
  /** Replaces every `{{NAME}}` by the secret of the vault. */
  reveal: <T>(configured: T) => Promise<T>;
  /** Has `<CLIENT>_API_KEY` for a client without a key. */
  env: Readonly<Record<string, string | undefined>>;
  /** Relative paths of scripts start here. */
  configDir: string;
  userAgent?: string | null | undefined;
  onCall?: ((record: CallRecord) => void) | undefined;
}

interface Entry {
  name: string;
  config: ReadonlyClient;
  models: readonly Model[];
  client: ModelClient;
}

/** `models.json` as shipped, with the user's `models-override.yaml`. A test checks our file: a check at each start takes too long. */
export function readCatalogue(override?: { text: string; path: string }): Catalogue {
  const known = shipped as { provider: string; models: (Omit<ModelData, 'type'> & { type?: ModelKind })[] }[];
  const catalogue: Catalogue = new Map(
    known.map(({ provider, models }) => [provider, models.map((model) => ({ type: 'chat', ...model }))]),
  );
  return override ? overrideCatalogue(catalogue, parseCatalogue(override.text, override.path)) : catalogue;
}

export function createModelRegistry(deps: RegistryDeps): ModelRegistry {
  const configured = deps.clients.map((config) => toEntry(config, deps));
  // `--model scripted:demo` works on a fresh machine, but is never a default.
  const demo = configured.some(({ name }) => name === 'scripted') ? [] : [demoEntry(deps)];
  const entries = [...configured, ...demo];
  const list = (kind?: ModelKind, from = entries) =>
    from.flatMap(({ models }) => models.filter((model) => kind === undefined || model.kind === kind));
  return {
    list: (kind) => list(kind, configured),
    first: (kind = 'chat') => list(kind, configured)[0],
    find(id, kind = 'chat') {
      const models = list(kind);
      const found = models.find((model) => model.id === id) ?? models.find((model) => model.client === id);
      return found ?? adHoc(id, kind, entries) ?? raiseUnknown(id, models);
    },
    client(model) {
      const entry = entries.find(({ name }) => name === model.client);
      return entry?.client ?? raiseUnknown(model.id, list());
    },
  };
}

/** A model that is not listed goes to its client as it is: new models come out faster than catalogues are updated. */
function adHoc(id: string, kind: ModelKind, entries: readonly Entry[]): Model | undefined {
  const colon = id.indexOf(':');
  const entry = entries.find(({ name }) => name === id.slice(0, colon));
  const name = id.slice(colon + 1);
  if (colon < 1 || name === '' || !entry || entry.config.type === 'scripted') return undefined;
  // A client that lists its models has no others.
  if (entry.config.models !== undefined) return undefined;
  return toModel(entry.name, { name, type: kind });
}

function raiseUnknown(id: string, models: readonly Model[]): never {
  const names = models.map((model) => model.id);
  const close = nearestName(id, names);
  const hint = close === undefined ? '' : `; did you mean ${close}?`;
  throw new ReefError('model_unknown', `There is no model ${JSON.stringify(id)}${hint}`, { details: { known: names } });
}

function toModel(client: string, data: ModelData): Model {
  return { id: `${client}:${data.name}`, client, name: data.name, kind: data.type, data };
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

function toEntry(config: ReadonlyClient, deps: RegistryDeps): Entry {
  const name = text(config.name) ?? config.type;
  const known = deps.catalogue.get(name) ?? deps.catalogue.get(config.type) ?? [];
  const listed = config.models as readonly { name: string }[] | undefined;
  const knownAs = (wanted: string) => known.find((model) => model.name === wanted);
  const data = listed?.map((entry) => toModelData(entry, knownAs(entry.name)));
  const client = createPooledClient({
    name,
    provider: lazily(() => openProvider({ name, config, deps })).get,
    pool: new KeyPool(name, keysOf({ name, config, deps }), deps.clock),
    clock: deps.clock,
    reveal: deps.reveal,
    onCall: deps.onCall,
  });
  // A script says itself when it calls a tool.
  const preset = config.type === 'scripted' ? { supports_function_calling: true } : {};
  return { name, config, models: (data ?? known).map((model) => toModel(name, { ...preset, ...model })), client };
}

function demoEntry(deps: RegistryDeps): Entry {
  const models = [toModel('scripted', { name: 'demo', type: 'chat', supports_function_calling: true })];
  return { ...toEntry({ type: 'scripted' }, deps), models };
}

function keysOf({ name, config, deps }: ConfiguredClient): string[] {
  const { api_key } = config;
  if (Array.isArray(api_key)) return api_key.filter((key): key is string => typeof key === 'string' && key !== '');
  const key = text(api_key) ?? text(deps.env[`${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`]);
  return key === undefined ? [] : [key];
}

interface ConfiguredClient {
  name: string;
  config: ReadonlyClient;
  deps: RegistryDeps;
}

async function openProvider(client: ConfiguredClient): Promise<Provider> {
  const { config, deps } = client;
  if (config.type === 'scripted') {
    return createScriptedProvider(deps.clock, (model) => readScript(client, model));
  }
  const dialect = await loadDialect(config.type, deps.configDir);
  // Secrets may be anywhere in a client. The pool reveals its keys one at a time.
  const { api_key, ...rest } = config;
  const filled = { ...client, config: { ...(await deps.reveal(rest)), api_key } };
  const way = wayOf(client.name, filled.config.extra);
  return createSdkProvider(dialect, settingsOf(filled, way ? await deps.fetchByWay(way) : deps.fetch));
}

function settingsOf({ name, config, deps }: ConfiguredClient, fetch: typeof globalThis.fetch): SettingsOf {
  const models = (config.models ?? []) as readonly { name: string; patch?: unknown }[];
  const base = text(config.api_base);
  return (model, call) => {
    const own = models.find((entry) => entry.name === model.name)?.patch;
    const patches = patchesFor({ client: config.patch, model: own }, { call, model: model.name });
    return {
      name,
      baseURL: base === undefined ? undefined : withoutEnd(base, '/'),
      headers: deps.userAgent ? { 'user-agent': deps.userAgent } : {},
      fetch: patchedFetch(fetch, patches),
      config,
    };
  };
}

async function readScript({ name, config, deps }: ConfiguredClient, model: string) {
  const models = (config.models ?? []) as readonly { name: string; script?: unknown }[];
  const given = text(models.find((entry) => entry.name === model)?.script) ?? text(config.script);
  if (given === undefined && name === 'scripted' && model === 'demo') {
    const path = fileURLToPath(new URL('./demo-script.yaml', import.meta.url));
    return { text: await readFile(path, 'utf8'), path };
  }
  if (given === undefined) throw new ReefError('script_invalid', `The model ${name}:${model} has no \`script\``);
  const path = resolve(deps.configDir, given);
  try {
    return { text: await readFile(path, 'utf8'), path };
  } catch (cause) {
    throw new ReefError('script_invalid', `The script ${path} of ${name}:${model} cannot be read`, { cause });
  }
}

/** `extra` of a client, as in Loki. `proxy` is '' or '-' for none; `connect_timeout` is in seconds. */
const extraSchema = z.looseObject({ proxy: z.string().optional(), connect_timeout: z.number().positive().optional() });

/** Undefined without such settings. An unsupported proxy is an error: to ignore it would expose the user. */
function wayOf(client: string, extra: unknown): Way | undefined {
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
