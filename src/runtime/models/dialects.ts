import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ReefError } from '../../protocol/errors.ts';
import type { OptionalSdk, SdkChatModel, SdkDialect, SdkSettings } from './sdk-types.ts';

type Settings = Readonly<Record<string, unknown>>;

/**
 * How a client of this type is spoken to. The SDK takes a tenth of a second to load: only the package that is needed is
 * loaded, when the first model is called. `folder` holds the packages that the user installed.
 */
export async function loadDialect(type: string, folder: string): Promise<SdkDialect> {
  switch (type) {
    case 'openai':
      return openai(await import('@ai-sdk/openai'));
    case 'claude':
      return claude(await import('@ai-sdk/anthropic'));
    case 'gemini':
      return gemini(await import('@ai-sdk/google'));
    case 'openai-compatible':
      return openaiCompatible(await import('@ai-sdk/openai-compatible'));
    default:
      return loadOptional(type, folder);
  }
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** The Responses API, whose reasoning survives a tool call; `api: chat` for servers that only have the older one. */
const openai = ({ createOpenAI }: typeof import('@ai-sdk/openai')): SdkDialect => ({
  open({ name, baseURL, key, headers, fetch, config }) {
    const organization = text(config.organization_id);
    const sdk = createOpenAI({
      name,
      apiKey: key ?? '',
      headers,
      fetch,
      ...(baseURL !== undefined && { baseURL }),
      ...(organization !== undefined && { organization }),
    });
    return {
      chat: (model) => (config.api === 'chat' ? sdk.chat(model) : sdk.responses(model)),
      embedding: (model) => sdk.embedding(model),
    };
  },
  // The provider keeps nothing of a conversation; reasoning then travels encrypted, in the messages themselves.
  options: { openai: { store: false } },
});

const claude = ({ createAnthropic }: typeof import('@ai-sdk/anthropic')): SdkDialect => ({
  open({ baseURL, key, headers, fetch }) {
    const sdk = createAnthropic({ apiKey: key ?? '', headers, fetch, ...(baseURL !== undefined && { baseURL }) });
    return { chat: (model) => sdk.languageModel(model), embedding: (model) => sdk.embeddingModel(model) };
  },
  cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  maxOutputTokens: 8_192,
});

const gemini = ({ createGoogle }: typeof import('@ai-sdk/google')): SdkDialect => ({
  open({ baseURL, key, headers, fetch }) {
    const sdk = createGoogle({ apiKey: key ?? '', headers, fetch, ...(baseURL !== undefined && { baseURL }) });
    return { chat: (model) => sdk.languageModel(model), embedding: (model) => sdk.embeddingModel(model) };
  },
});

const openaiCompatible = ({ createOpenAICompatible }: typeof import('@ai-sdk/openai-compatible')): SdkDialect => ({
  open({ name, baseURL, key, headers, fetch }) {
    if (baseURL === undefined) throw new ReefError('config_invalid', `The client ${name} needs an api_base`);
    const sdk = createOpenAICompatible({
      name,
      baseURL,
      headers,
      fetch,
      includeUsage: true,
      ...(key !== undefined && { apiKey: key }),
    });
    return { chat: (model) => sdk.chatModel(model), embedding: (model) => sdk.embeddingModel(model) };
  },
});

interface OptionalPackage {
  name: string;
  /** Versions that implement the interface of the SDK we ship. */
  major: number;
  create: string;
  /** The client's entries of the configuration, as the package wants them. */
  settings(config: Settings): Settings;
  chat?(sdk: OptionalSdk, model: string, config: Settings): SdkChatModel;
  rerankBase?: string;
}

/** Client types whose package the user installs. */
const PACKAGES: Readonly<Record<string, OptionalPackage>> = {
  'azure-openai': { name: '@ai-sdk/azure', major: 4, create: 'createAzure', settings: azureSettings, chat: azureChat },
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
  cohere: {
    name: '@ai-sdk/cohere',
    major: 4,
    create: 'createCohere',
    settings: () => ({}),
    rerankBase: 'https://api.cohere.com/v2',
  },
};

/** A version by date belongs to the interface with a deployment in each address, which has no Responses API. */
const isDated = ({ api_version }: Settings) => typeof api_version === 'string' && /^\d{4}-/.test(api_version);

/** The address of a resource, as Azure shows it, has no path yet; that of a gateway is taken as it is. */
function azureSettings(config: Settings) {
  const { api_base, api_version } = config;
  const isResource = typeof api_base === 'string' && /^https:\/\/[^/]+\.azure\.com$/.test(api_base);
  return {
    baseURL: isResource ? `${api_base}/openai` : api_base,
    apiVersion: api_version,
    useDeploymentBasedUrls: isDated(config) || undefined,
  };
}

function azureChat(sdk: OptionalSdk, model: string, config: Settings) {
  const isOlder = config.api === 'chat' || isDated(config);
  return isOlder && sdk.chat ? sdk.chat(model) : sdk.languageModel(model);
}

type Create = (settings: Settings) => OptionalSdk;

async function loadOptional(type: string, folder: string): Promise<SdkDialect> {
  const wanted = Object.hasOwn(PACKAGES, type) ? PACKAGES[type] : undefined;
  if (!wanted) {
    const known = ['openai', 'claude', 'gemini', 'openai-compatible', 'scripted', ...Object.keys(PACKAGES)].join(', ');
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
    throw unusable(`which does not load: ${error instanceof Error ? error.message : error}`, error);
  });
  if (!module) throw unusable(`which is not installed: ${install}`);
  const create = module[wanted.create];
  if (typeof create !== 'function') throw unusable(`which has no ${wanted.create}: ${install}`);
  return dialectOf(create as Create, wanted);
}

function dialectOf(create: Create, { settings, chat, rerankBase }: OptionalPackage): SdkDialect {
  return {
    ...(rerankBase !== undefined && { rerankBase }),
    open({ baseURL, key, headers, fetch, config }: SdkSettings) {
      const given = { headers, fetch, baseURL, apiKey: key, ...settings({ ...config, api_base: baseURL }) };
      const sdk = create(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
      return {
        chat: (model) => (chat ? chat(sdk, model, config) : sdk.languageModel(model)),
        embedding: (model) => sdk.embeddingModel(model),
      };
    },
  };
}

type Package = Readonly<Record<string, unknown>>;

/**
 * A package beside Reef's own, or in a folder of the user's, because Reef itself may lie where only an administrator may
 * write. Undefined when it is installed in neither.
 */
async function loadPackage(folder: string, name: string): Promise<Package | undefined> {
  const own = await unlessMissing(() => import(name));
  return own ?? unlessMissing(() => importFrom(folder, name));
}

function importFrom(folder: string, name: string) {
  return import(pathToFileURL(createRequire(join(folder, 'package.json')).resolve(name)).href);
}

async function unlessMissing(load: () => Promise<Package>): Promise<Package | undefined> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
