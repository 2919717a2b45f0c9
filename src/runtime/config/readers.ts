import { join } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import type { Variables } from '../paths.ts';
import { fillTemplate } from '../rag/template.ts';
import type { AppConfig } from './app-config.ts';
import { expandList } from './expand-list.ts';

/** The seed's step 3: what is read from the configuration alone. */

const SYNC_MODELS_URL = 'https://raw.githubusercontent.com/sigoden/aichat/main/models.yaml';

export function vaultPasswordFile(config: AppConfig, home: string): string {
  return config.vault_password_file ?? join(home, '.reef_password');
}

/** As configured, else what the user's shell uses. */
export function editor(config: AppConfig, env: Variables): string {
  const found = config.editor ?? env.VISUAL ?? env.EDITOR;
  if (found) return found;
  throw new ReefError('invalid_state', 'no editor is known: set `editor` in config.yaml, or EDITOR');
}

export const syncModelsUrl = (config: AppConfig) => config.sync_models_url ?? SYNC_MODELS_URL;

export const lightTheme = (config: AppConfig) => config.theme === 'light';

export interface RenderOptions {
  highlight: boolean;
  theme: 'light' | 'dark' | string;
  /** Columns; 0 does not wrap, undefined takes the terminal's. */
  wrap: number | undefined;
  wrapCode: boolean;
}

export function renderOptions(config: AppConfig): RenderOptions {
  const { wrap } = config;
  return {
    highlight: config.highlight,
    theme: config.theme ?? 'dark',
    wrap: wrap === null || wrap === 'no' ? 0 : wrap === 'auto' ? undefined : Number(wrap),
    wrapCode: config.wrap_code,
  };
}

export interface MarkdownPrinter {
  print(text: string, options: RenderOptions): void;
}

export const printMarkdown = (config: AppConfig, text: string, printer: MarkdownPrinter) =>
  printer.print(text, renderOptions(config));

/** What is found and the question, in the template of the configuration or ours. */
export const ragTemplate = (config: AppConfig, found: Parameters<typeof fillTemplate>[1]) =>
  fillTemplate(config.rag_template, found);

interface Listed {
  enabled_tools: string | null;
  enabled_mcp_servers: string | null;
}

/** Names of tools of a list, aliases expanded, as far as there are such tools. */
export function selectEnabledFunctions(
  config: AppConfig,
  { enabled_tools }: Listed,
  known: readonly string[],
): string[] {
  if (!config.function_calling_support) return [];
  const names = expandList(enabled_tools, config.mapping_tools);
  return names === 'all' ? [...known] : names.filter((name) => known.includes(name));
}

export function selectEnabledMcpServers(
  config: AppConfig,
  { enabled_mcp_servers }: Listed,
  known: readonly string[],
): string[] {
  if (!config.function_calling_support || !config.mcp_server_support) return [];
  const names = expandList(enabled_mcp_servers, config.mapping_mcp_servers);
  return names === 'all' ? [...known] : names.filter((name) => known.includes(name));
}

/** Both, and undefined when there are none: then the model is not told of tools at all. */
export function selectFunctions(
  config: AppConfig,
  listed: Listed,
  known: { tools: readonly string[]; servers: readonly string[] },
): { tools: string[]; servers: string[] } | undefined {
  const tools = selectEnabledFunctions(config, listed, known.tools);
  const servers = selectEnabledMcpServers(config, listed, known.servers);
  return tools.length + servers.length === 0 ? undefined : { tools, servers };
}
