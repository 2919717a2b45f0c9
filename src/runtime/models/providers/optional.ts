import { ReefError } from '../../../protocol/errors.ts';
import { azureChat, azureSettings } from './azure.ts';
import type { ImportPackage } from './installed-packages.ts';
import type { OptionalSdk, SdkChatModel, SdkDialect, SdkSettings } from './sdk-types.ts';

type Settings = Readonly<Record<string, unknown>>;

interface OptionalPackage {
  name: string;
  /** Versions that speak the interface of the SDK we ship. */
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

type Create = (settings: Settings) => OptionalSdk;

export async function loadOptional(type: string, packages: ImportPackage): Promise<SdkDialect> {
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
  const module = await packages.load(name).catch((error: unknown) => {
    throw unusable(`which does not load: ${error instanceof Error ? error.message : error}`, error);
  });
  if (!module) throw unusable(`which is not installed: ${packages.howToInstall(`${name}@${major}`)}`);
  const create = module[wanted.create];
  if (typeof create !== 'function')
    throw unusable(`which has no ${wanted.create}: ${packages.howToInstall(`${name}@${major}`)}`);
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
