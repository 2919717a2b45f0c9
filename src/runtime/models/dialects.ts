import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { OptionalSdk, SdkChatModel, SdkDialect } from './sdk-types.ts';

type Settings = Readonly<Record<string, unknown>>;
type Create = (settings: Settings) => OptionalSdk;

interface Package extends Omit<SdkDialect, 'open'> {
  /** The configuration of the client, as the package wants it. */
  settings?(config: Settings): Settings;
  chat?(sdk: OptionalSdk, model: string, config: Settings): SdkChatModel;
  /** Used in place of a missing key, so that the SDK does not look for one itself. */
  noKey?: '';
}

interface ShippedPackage extends Package {
  load(): Promise<Create>;
}

const SHIPPED: Readonly<Record<string, ShippedPackage>> = {
  openai: {
    load: async () => (await import('@ai-sdk/openai')).createOpenAI as Create,
    noKey: '',
    settings: ({ name, organization_id }) => ({ name, organization: organization_id }),
    chat: chatByApi,
    // The provider stores nothing of a conversation; reasoning then travels encrypted in the messages.
    options: { openai: { store: false } },
  },
  claude: {
    load: async () => (await import('@ai-sdk/anthropic')).createAnthropic as Create,
    noKey: '',
    cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    maxOutputTokens: 8_192,
  },
  gemini: { load: async () => (await import('@ai-sdk/google')).createGoogle as Create, noKey: '' },
  'openai-compatible': {
    load: async () => (await import('@ai-sdk/openai-compatible')).createOpenAICompatible as unknown as Create,
    settings({ name, api_base }) {
      if (api_base === undefined) throw new ReefError('config_invalid', `The client ${name} needs an api_base`);
      return { name, includeUsage: true };
    },
  },
};

interface OptionalPackage extends Package {
  name: string;
  /** Versions that implement the interface of the SDK we ship. */
  major: number;
  create: string;
}

/** Client types whose package the user installs. */
const OPTIONAL: Readonly<Record<string, OptionalPackage>> = {
  'azure-openai': { name: '@ai-sdk/azure', major: 4, create: 'createAzure', settings: azureSettings, chat: chatByApi },
  vertexai: {
    name: '@ai-sdk/google-vertex',
    major: 5,
    create: 'createVertex',
    settings: ({ project_id, location, adc_file }) => ({
      project: project_id,
      location,
      googleAuthOptions: adc_file && { keyFilename: adc_file },
    }),
  },
  bedrock: {
    name: '@ai-sdk/amazon-bedrock',
    major: 5,
    create: 'createAmazonBedrock',
    settings: ({ region, access_key_id, secret_access_key, session_token }) => ({
      region,
      accessKeyId: access_key_id,
      secretAccessKey: secret_access_key,
      sessionToken: session_token,
    }),
  },
  cohere: { name: '@ai-sdk/cohere', major: 4, create: 'createCohere', rerankBase: 'https://api.cohere.com/v2' },
};

/**
 * How to talk to a client of this type. The SDK takes a tenth of a second to load, so only the package of the first model that is
 * called is loaded. `folder` has the packages that the user installed.
 */
export async function loadDialect(type: string, folder: string): Promise<SdkDialect> {
  const shipped = Object.hasOwn(SHIPPED, type) ? SHIPPED[type] : undefined;
  return shipped ? dialectOf(await shipped.load(), shipped) : loadOptional(type, folder);
}

/** Versions with a date have no Responses API. */
const isDated = ({ api_version }: Settings) => typeof api_version === 'string' && /^\d{4}-/.test(api_version);

/** Azure shows the address of a resource without its path. Other addresses are used as they are. */
function azureSettings(config: Settings) {
  const { api_base, api_version } = config;
  const isResource = typeof api_base === 'string' && /^https:\/\/[^/]+\.azure\.com$/.test(api_base);
  return {
    baseURL: isResource ? `${api_base}/openai` : api_base,
    apiVersion: api_version,
    useDeploymentBasedUrls: isDated(config) || undefined,
  };
}

/** The Responses API, whose reasoning survives a tool call; `api: chat` is for servers that only have the older one. */
function chatByApi(sdk: OptionalSdk, model: string, config: Settings) {
  const isOlder = config.api === 'chat' || isDated(config);
  return isOlder && sdk.chat ? sdk.chat(model) : sdk.languageModel(model);
}

async function loadOptional(type: string, folder: string): Promise<SdkDialect> {
  const wanted = Object.hasOwn(OPTIONAL, type) ? OPTIONAL[type] : undefined;
  if (!wanted) {
    const known = [...Object.keys(SHIPPED), 'scripted', ...Object.keys(OPTIONAL)].join(', ');
    throw new ReefError('client_unsupported', `There is no client type "${type}"; there are: ${known}`, {
      details: { type },
    });
  }
  const { name, major } = wanted;
  const unusable = (why: string, cause?: unknown) =>
    new ReefError('client_unsupported', `Clients of type ${type} need the package ${name}, ${why}`, {
      cause,
      details: { type, package: name },
    });
  const install = `npm install --prefix '${folder}' ${name}@${major}`;
  const module = await loadPackage(folder, name).catch((error: unknown) => {
    throw unusable(`which does not load: ${toReefError(error).message}`, error);
  });
  if (!module) throw unusable(`which is not installed: ${install}`);
  const create = module[wanted.create];
  if (typeof create !== 'function') throw unusable(`which has no ${wanted.create}: ${install}`);
  return dialectOf(create as Create, wanted);
}

function dialectOf(create: Create, { settings, chat, noKey, ...dialect }: Package): SdkDialect {
  return {
    ...dialect,
    open({ name, baseURL, key, headers, fetch, config }) {
      const own = settings?.({ ...config, name, api_base: baseURL });
      const given = { headers, fetch, baseURL, apiKey: key ?? noKey, ...own };
      const sdk = create(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
      return {
        chat: (model) => (chat ? chat(sdk, model, config) : sdk.languageModel(model)),
        embedding: (model) => sdk.embeddingModel(model),
      };
    },
  };
}

type Module = Readonly<Record<string, unknown>>;

/** Loads a package from beside Reef, or from the user's folder: only an administrator may be able to write to Reef's own. */
async function loadPackage(folder: string, name: string): Promise<Module | undefined> {
  const own = await unlessMissing(() => import(name));
  return own ?? unlessMissing(() => importFrom(folder, name));
}

function importFrom(folder: string, name: string) {
  return import(pathToFileURL(createRequire(join(folder, 'package.json')).resolve(name)).href);
}

async function unlessMissing(load: () => Promise<Module>): Promise<Module | undefined> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
