import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import { hasPlaceholder } from './placeholders.ts';
import { type ReefBlock, reefSchema } from './reef-block.ts';
import { isRecord } from './settings-file.ts';

const text = () => z.string();
const texts = () => z.record(z.string(), z.string());
const optionalText = () => z.string().nullable();
const flag = () => z.boolean();
const share = () => z.number().min(0).max(2).nullable();
const count = () => z.number().int().min(0);
const oneOrMore = () => z.number().int().min(1);
const wrap = () =>
  z
    .union([
      z.string().regex(/^(no|auto|[1-9]\d{0,3})$/, 'no, auto or a width'),
      z.number().int().min(1).transform(String),
    ])
    .nullable();
const pathWithoutSecrets = () =>
  z
    .string()
    .refine((path) => !hasPlaceholder(path), 'a path without {{…}}')
    .nullable();

/** One model provider. Each kind of client has more keys (`organization_id`, `project_id`, …) and checks them itself. */
const client = () =>
  z.looseObject({
    type: z.string().min(1),
    name: z.string().min(1).optional(),
    api_base: z.string().optional(),
    /** A list is a pool of keys. */
    api_key: z.union([z.string(), z.array(z.string()).min(1)]).optional(),
    models: z.array(z.looseObject({ name: z.string().min(1) })).optional(),
    patch: z.record(z.string(), z.unknown()).optional(),
    extra: z.record(z.string(), z.unknown()).optional(),
  });
export type ClientConfig = z.output<ReturnType<typeof client>>;

/** What `reefSchema` makes of an empty block, written out because it is quicker. A test compares the two. */
const INITIAL_REEF: ReefBlock = {
  mcp_pool: { cleanup_interval_seconds: 30, max_idle_servers: 50, health_check: { interval: 60, timeout: 5 } },
  permissions: [],
  tool_loop: { max_repeats: 5, window: 10 },
  allowed_hosts: [],
  mcp: { may: [] },
  max_jobs: 8,
  agents: {},
  pass_env: [],
  notify: {},
  timings: {},
  keep: { days: 30, mib: 2_048 },
  sandbox: { mode: 'auto', read: [], write: [], hosts: [], git: 'commit' },
  default_agent: 'claude',
  fallback_agents: [],
  gates: {},
  worktree: {},
  git: { drivers: [] },
  worktrees: {},
  coder: { checks: {} },
  context: {},
};

/** Commands that turn documents into text, by extension, where the user configured none. */
export const DEFAULT_LOADERS: Readonly<Record<string, string>> = Object.freeze({
  pdf: 'pdftotext $1 -',
  docx: 'pandoc --to plain $1',
});

/** A default and a schema, which is built on first use: to build all schemas takes longer than the rest of a start. */
const setting = <S extends z.ZodType>(initial: z.output<S>, schema: () => S) => ({
  initial,
  schema: onFirstUse(schema),
});

/** The keys of `config.yaml`: the 40 of the seed (`model` becomes field `model_id`) and our own block `reef`. */
export const settings = {
  model: setting('', text),
  temperature: setting(null, share),
  top_p: setting(null, share),
  dry_run: setting(false, flag),
  stream: setting(true, flag),
  save: setting(false, flag),
  keybindings: setting('emacs', () => z.enum(['emacs', 'vi'])),
  editor: setting(null, optionalText),
  wrap: setting(null, wrap),
  wrap_code: setting(false, flag),
  vault_password_file: setting(null, pathWithoutSecrets),
  function_calling_support: setting(true, flag),
  /** Alias to a comma-separated list. */
  mapping_tools: setting({}, texts),
  enabled_tools: setting(null, optionalText),
  visible_tools: setting(null, () => z.array(z.string()).nullable()),
  mcp_server_support: setting(true, flag),
  mapping_mcp_servers: setting({}, texts),
  enabled_mcp_servers: setting(null, optionalText),
  repl_prelude: setting(null, optionalText),
  cmd_prelude: setting(null, optionalText),
  agent_session: setting(null, optionalText),
  save_session: setting(null, () => z.boolean().nullable()),
  /** Tokens; 0 turns compression off. */
  compression_threshold: setting(4000, count),
  summarization_prompt: setting(null, optionalText),
  summary_context_prompt: setting(null, optionalText),
  rag_embedding_model: setting(null, optionalText),
  rag_reranker_model: setting(null, optionalText),
  rag_top_k: setting(5, oneOrMore),
  rag_chunk_size: setting(null, () => oneOrMore().nullable()),
  rag_chunk_overlap: setting(null, () => count().nullable()),
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
  clients: setting([], () => z.array(client())),
  reef: setting(INITIAL_REEF, () => reefSchema),
};

export type FileKey = keyof typeof settings;
type FileConfig = { [K in FileKey]: z.output<ReturnType<(typeof settings)[K]['schema']>> };

export const FILE_KEYS = Object.keys(settings) as FileKey[];

/** The schema of the keys that this file sets. */
export function schemaOf(file: unknown) {
  const keys = isRecord(file) ? FILE_KEYS.filter((key) => file[key] !== undefined) : [];
  return z.strictObject(Object.fromEntries(keys.map((key) => [key, settings[key].schema()])));
}

type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** Deep-frozen. A `{{NAME}}` in it stays a placeholder: secrets are filled in only where they are used. */
export type AppConfig = DeepReadonly<Omit<FileConfig, 'model'> & { model_id: string }>;

/** The checked values that one file or the environment sets. */
export type ConfigLayer = { [K in FileKey]?: FileConfig[K] };

/** Later layers win key by key, and in the block `reef` sub-key by sub-key. */
export function toAppConfig(layers: readonly ConfigLayer[]): AppConfig {
  const merged: Record<string, unknown> = {};
  for (const layer of layers) {
    Object.assign(merged, layer, layer.reef && { reef: { ...(merged.reef as object | undefined), ...layer.reef } });
  }
  const initial = Object.fromEntries(FILE_KEYS.map((key) => [key, structuredClone(settings[key].initial)]));
  // A start without any settings builds no schema.
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
