import type { OptionalSdk } from './sdk-types.ts';

type Config = Readonly<Record<string, unknown>>;

/** A version by date belongs to the interface with a deployment in each address, which has no Responses API. */
const isDated = ({ api_version }: Config) => typeof api_version === 'string' && /^\d{4}-/.test(api_version);

/** The address of a resource, as Azure shows it, has no path yet; that of a gateway is taken as it is. */
export function azureSettings(config: Config) {
  const { api_base, api_version } = config;
  const isResource = typeof api_base === 'string' && /^https:\/\/[^/]+\.azure\.com$/.test(api_base);
  return {
    baseURL: isResource ? `${api_base}/openai` : api_base,
    apiVersion: api_version,
    useDeploymentBasedUrls: isDated(config) || undefined,
  };
}

export function azureChat(sdk: OptionalSdk, model: string, config: Config) {
  const isOlder = config.api === 'chat' || isDated(config);
  return isOlder && sdk.chat ? sdk.chat(model) : sdk.languageModel(model);
}
