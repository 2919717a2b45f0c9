import { z } from 'zod';
import { hasPlaceholder } from '../vault/placeholders.ts';
import { clientSchema, reefSchema } from './reef-block.ts';

const text = z.string();
const optionalText = text.nullable().default(null);
const share = z.number().min(0).max(2).nullable().default(null);
const count = z.number().int().min(0);
const texts = z.record(text, text).default({});

/**
 * The one schema of `config.yaml`: the 40 fields of the seed, under the names of its file (`model` is field `model_id`),
 * and our own block `reef`. Comments on a field say what its type cannot.
 */
export const fileSchema = z.strictObject({
  model: text.default(''),
  temperature: share,
  top_p: share,
  dry_run: z.boolean().default(false),
  stream: z.boolean().default(true),
  save: z.boolean().default(false),
  keybindings: z.enum(['emacs', 'vi']).default('emacs'),
  editor: optionalText,
  /** `no`, `auto` or a width. */
  wrap: z
    .union([text.regex(/^(no|auto|[1-9]\d{0,3})$/, 'no, auto or a width'), z.number().int().min(1).transform(String)])
    .nullable()
    .default(null),
  wrap_code: z.boolean().default(false),
  /** The vault cannot open itself. */
  vault_password_file: text
    .refine((path) => !hasPlaceholder(path), 'a path without {{…}}')
    .nullable()
    .default(null),
  function_calling_support: z.boolean().default(true),
  /** Alias to a comma-separated list. */
  mapping_tools: texts,
  enabled_tools: optionalText,
  visible_tools: z.array(text).nullable().default(null),
  mcp_server_support: z.boolean().default(true),
  mapping_mcp_servers: texts,
  enabled_mcp_servers: optionalText,
  repl_prelude: optionalText,
  cmd_prelude: optionalText,
  agent_session: optionalText,
  save_session: z.boolean().nullable().default(null),
  /** Tokens; 0 is never. */
  compression_threshold: count.default(4000),
  summarization_prompt: optionalText,
  summary_context_prompt: optionalText,
  rag_embedding_model: optionalText,
  rag_reranker_model: optionalText,
  rag_top_k: count.min(1).default(5),
  rag_chunk_size: count.min(1).nullable().default(null),
  rag_chunk_overlap: count.nullable().default(null),
  rag_template: optionalText,
  /** Extension or name to a command. */
  document_loaders: texts,
  highlight: z.boolean().default(true),
  theme: optionalText,
  left_prompt: optionalText,
  right_prompt: optionalText,
  /** `auto` is `reef/<version>`. */
  user_agent: optionalText,
  save_shell_history: z.boolean().default(true),
  sync_models_url: optionalText,
  clients: z.array(clientSchema).default([]),
  reef: reefSchema.prefault({}),
});

export type FileKey = keyof typeof fileSchema.shape;
type FileConfig = z.output<typeof fileSchema>;

type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** Deep-frozen; a `{{NAME}}` in it stays a placeholder, for the value exists only where it is used. */
export type AppConfig = DeepReadonly<Omit<FileConfig, 'model'> & { model_id: string }>;

/** What a layer (a file, the environment, flags) says: checked values under the keys of the file. */
export type ConfigLayer = { [K in FileKey]?: FileConfig[K] };

export const FILE_KEYS = Object.keys(fileSchema.shape) as FileKey[];

/** Later layers win, key by key; in the block `reef` sub-key by sub-key. */
export function toAppConfig(layers: readonly ConfigLayer[]): AppConfig {
  const merged: Record<string, unknown> = {};
  for (const layer of layers) {
    Object.assign(merged, layer, layer.reef && { reef: { ...(merged.reef as object | undefined), ...layer.reef } });
  }
  const { model, ...rest } = fileSchema.parse(merged);
  return deepFreeze({ model_id: model, ...rest });
}

export function withConfig(config: AppConfig, patch: Partial<AppConfig>): AppConfig {
  return deepFreeze({ ...config, ...structuredClone(patch) });
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}
