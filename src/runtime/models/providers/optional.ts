import { ReefError } from '../../../protocol/errors.ts';
import type { SdkChatModel, SdkDialect, SdkEmbeddingModel, SdkSettings } from './sdk-types.ts';

interface OptionalPackage {
  name: string;
  create: string;
  /** The client's entries of the configuration, under the names the package wants. */
  settings: Readonly<Record<string, string>>;
}

/** Client types whose package the user installs. */
const PACKAGES: Readonly<Record<string, OptionalPackage>> = {
  'azure-openai': { name: '@ai-sdk/azure', create: 'createAzure', settings: { api_version: 'apiVersion' } },
  vertexai: {
    name: '@ai-sdk/google-vertex',
    create: 'createVertex',
    settings: { project_id: 'project', location: 'location' },
  },
  bedrock: {
    name: '@ai-sdk/amazon-bedrock',
    create: 'createAmazonBedrock',
    settings: { region: 'region', access_key_id: 'accessKeyId', secret_access_key: 'secretAccessKey' },
  },
  cohere: { name: '@ai-sdk/cohere', create: 'createCohere', settings: {} },
};

interface SdkInstance {
  languageModel(model: string): SdkChatModel;
  embeddingModel(model: string): SdkEmbeddingModel;
}
type Create = (settings: Record<string, unknown>) => SdkInstance;
export type ImportPackage = (name: string) => Promise<Readonly<Record<string, unknown>>>;

export async function loadOptional(type: string, importPackage: ImportPackage): Promise<SdkDialect> {
  const wanted = Object.hasOwn(PACKAGES, type) ? PACKAGES[type] : undefined;
  if (!wanted) {
    const known = ['openai', 'claude', 'gemini', 'openai-compatible', 'scripted', ...Object.keys(PACKAGES)].join(', ');
    throw new ReefError('client_unsupported', `There is no client type "${type}"; there are: ${known}`, {
      details: { type },
    });
  }
  const missing = (cause?: unknown) =>
    new ReefError('client_unsupported', `Clients of type ${type} need the package ${wanted.name}`, {
      cause,
      details: { type, package: wanted.name },
    });
  const module = await importPackage(wanted.name).catch((error: unknown) => {
    throw missing(error);
  });
  const create = module[wanted.create];
  if (typeof create !== 'function') throw missing();
  return dialectOf(create as Create, wanted);
}

function dialectOf(create: Create, { settings }: OptionalPackage): SdkDialect {
  return {
    open({ baseURL, key, headers, fetch, config }: SdkSettings) {
      const own = Object.entries(settings).flatMap(([ours, theirs]) =>
        config[ours] === undefined ? [] : [[theirs, config[ours]]],
      );
      const sdk = create({
        headers,
        fetch,
        ...(baseURL !== undefined && { baseURL }),
        ...(key !== undefined && { apiKey: key }),
        ...Object.fromEntries(own),
      });
      return { chat: (model) => sdk.languageModel(model), embedding: (model) => sdk.embeddingModel(model) };
    },
  };
}
