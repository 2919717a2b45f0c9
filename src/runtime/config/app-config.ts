import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import { hasPlaceholder } from '../vault/placeholders.ts';
import { clientSchema } from './client-schema.ts';
import { type ReefBlock, reefSchema } from './reef-block.ts';

const text = onFirstUse(() => z.string());
const texts = onFirstUse(() => z.record(z.string(), z.string()));
const optionalText = onFirstUse(() => z.string().nullable());
const flag = onFirstUse(() => z.boolean());
const share = onFirstUse(() => z.number().min(0).max(2).nullable());
const count = onFirstUse(() => z.number().int().min(0));
const oneOrMore = onFirstUse(() => z.number().int().min(1));

/** What the schema makes of an empty block; a test compares. */
const INITIAL_REEF: ReefBlock = {
  mcp_pool: { cleanup_interval_seconds: 30, max_idle_servers: 50, health_check: { interval: 60, timeout: 5 } },
  permissions: [],
  tool_loop: { max_repeats: 5, window: 10 },
  allowed_hosts: [],
  max_jobs: 8,
  agents: {},
  timings: {},
  default_agent: 'claude',
  gates: {},
  worktree: {},
  worktrees: {},
  coder: { checks: {} },
  context: {},
};

/** Commands that turn documents into text, by extension, where the user configured none. */
export const DEFAULT_LOADERS: Readonly<Record<string, string>> = Object.freeze({
  pdf: 'pdftotext $1 -',
  docx: 'pandoc --to plain $1',
});

/** What holds where nothing is said, and what may be said. */
const setting = <S extends z.ZodType>(initial: z.output<S>, schema: () => S) => ({ initial, schema });

/**
 * The one schema of `config.yaml`: the 40 fields of the seed, under the names of its file (`model` is field `model_id`),
 * and our own block `reef`. Comments on a field say what its type cannot. It is built as far as a file speaks of it:
 * to build all of it takes longer than the rest of a start.
 */
export const settings = {
  model: setting('', text),
  temperature: setting(null, share),
  top_p: setting(null, share),
  dry_run: setting(false, flag),
  stream: setting(true, flag),
  save: setting(false, flag),
  keybindings: setting(
    'emacs',
    onFirstUse(() => z.enum(['emacs', 'vi'])),
  ),
  editor: setting(null, optionalText),
  /** `no`, `auto` or a width. */
  wrap: setting(
    null,
    onFirstUse(() =>
      z
        .union([
          z.string().regex(/^(no|auto|[1-9]\d{0,3})$/, 'no, auto or a width'),
          z.number().int().min(1).transform(String),
        ])
        .nullable(),
    ),
  ),
  wrap_code: setting(false, flag),
  /** The vault cannot open itself. */
  vault_password_file: setting(
    null,
    onFirstUse(() =>
      z
        .string()
        .refine((path) => !hasPlaceholder(path), 'a path without {{…}}')
        .nullable(),
    ),
  ),
  function_calling_support: setting(true, flag),
  /** Alias to a comma-separated list. */
  mapping_tools: setting({}, texts),
  enabled_tools: setting(null, optionalText),
  visible_tools: setting(
    null,
    onFirstUse(() => z.array(z.string()).nullable()),
  ),
  mcp_server_support: setting(true, flag),
  mapping_mcp_servers: setting({}, texts),
  enabled_mcp_servers: setting(null, optionalText),
  repl_prelude: setting(null, optionalText),
  cmd_prelude: setting(null, optionalText),
  agent_session: setting(null, optionalText),
  save_session: setting(
    null,
    onFirstUse(() => z.boolean().nullable()),
  ),
  /** Tokens; 0 is never. */
  compression_threshold: setting(4000, count),
  summarization_prompt: setting(null, optionalText),
  summary_context_prompt: setting(null, optionalText),
  rag_embedding_model: setting(null, optionalText),
  rag_reranker_model: setting(null, optionalText),
  rag_top_k: setting(5, oneOrMore),
  rag_chunk_size: setting(
    null,
    onFirstUse(() => oneOrMore().nullable()),
  ),
  rag_chunk_overlap: setting(
    null,
    onFirstUse(() => count().nullable()),
  ),
  rag_template: setting(null, optionalText),
  /** Extension or name to a command. */
  document_loaders: setting({}, texts),
  highlight: setting(true, flag),
  theme: setting(null, optionalText),
  left_prompt: setting(null, optionalText),
  right_prompt: setting(null, optionalText),
  /** `auto` is `reef/<version>`. */
  user_agent: setting(null, optionalText),
  save_shell_history: setting(true, flag),
  sync_models_url: setting(null, optionalText),
  clients: setting(
    [],
    onFirstUse(() => z.array(clientSchema)),
  ),
  reef: setting(INITIAL_REEF, () => reefSchema),
};

export type FileKey = keyof typeof settings;
type FileConfig = { [K in FileKey]: z.output<ReturnType<(typeof settings)[K]['schema']>> };

export const FILE_KEYS = Object.keys(settings) as FileKey[];

/** Of a file that has these keys; what else it has is not recognized. */
export function schemaOf(file: Readonly<Record<string, unknown>>) {
  const keys = FILE_KEYS.filter((key) => file[key] !== undefined);
  return z.strictObject(Object.fromEntries(keys.map((key) => [key, settings[key].schema()])));
}

type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** Deep-frozen; a `{{NAME}}` in it stays a placeholder, for the value exists only where it is used. */
export type AppConfig = DeepReadonly<Omit<FileConfig, 'model'> & { model_id: string }>;

/** What a layer (a file, the environment, flags) says: checked values under the keys of the file. */
export type ConfigLayer = { [K in FileKey]?: FileConfig[K] };

/** Later layers win, key by key; in the block `reef` sub-key by sub-key. */
export function toAppConfig(layers: readonly ConfigLayer[]): AppConfig {
  const merged: Record<string, unknown> = {};
  for (const layer of layers) {
    Object.assign(merged, layer, layer.reef && { reef: { ...(merged.reef as object | undefined), ...layer.reef } });
  }
  const initial = Object.fromEntries(FILE_KEYS.map((key) => [key, structuredClone(settings[key].initial)]));
  const said = Object.keys(merged).length === 0 ? {} : schemaOf(merged).parse(merged);
  const { model, ...rest } = { ...initial, ...said } as FileConfig;
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
