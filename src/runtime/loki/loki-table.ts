/**
 * Loki's files and the keys in them, and what becomes of each here. `reef config import` reports by this table, and the page
 * about asking shows it.
 */
export interface LokiRow {
  /** A path in Loki's folder; `NAME` stands for one name, and `*` for anything. */
  file: string;
  /** Keys that fare alike. Without them the row is about the file. */
  keys?: readonly string[];
  /** Reef reads it. */
  loads: boolean;
  /** It has its effect. */
  works: boolean;
  /** What a person who comes from Loki has to know. */
  differs?: string;
}

const good = (file: string, keys?: readonly string[], differs?: string): LokiRow => ({
  ...{ file, loads: true, works: true },
  ...(keys && { keys }),
  ...(differs !== undefined && { differs }),
});
const without = (file: string, differs: string, keys?: readonly string[]): LokiRow => ({
  ...{ file, loads: false, works: false, differs },
  ...(keys && { keys }),
});
const renamed = (key: string, name: string, more = '') => good('config.yaml', [key], `called \`${name}\` here${more}`);
const withPackage = (type: string, name: string) =>
  good('config.yaml', [`clients[].type: ${type}`], `needs a package that you install yourself: \`${name}\``);

const CONFIG: readonly LokiRow[] = [
  good('config.yaml', [
    ...['model', 'temperature', 'top_p', 'stream', 'save', 'dry_run', 'keybindings', 'editor', 'wrap', 'wrap_code'],
    ...['highlight', 'theme', 'left_prompt', 'right_prompt', 'repl_prelude', 'cmd_prelude', 'agent_session'],
    ...['save_session', 'save_shell_history', 'summarization_prompt', 'summary_context_prompt'],
    ...['function_calling_support', 'mapping_tools', 'enabled_tools', 'visible_tools'],
    ...['mcp_server_support', 'mapping_mcp_servers', 'enabled_mcp_servers', 'sync_models_url'],
    ...[
      'rag_embedding_model',
      'rag_reranker_model',
      'rag_top_k',
      'rag_chunk_size',
      'rag_chunk_overlap',
      'rag_template',
    ],
  ]),
  renamed('light_theme', 'theme', ': `light` or `dark`'),
  renamed('function_calling', 'function_calling_support'),
  renamed('use_tools', 'enabled_tools'),
  renamed('agent_prelude', 'agent_session'),
  renamed('compress_threshold', 'compression_threshold'),
  renamed('summarize_prompt', 'summarization_prompt'),
  renamed('summary_prompt', 'summary_context_prompt'),
  good('config.yaml', ['compression_threshold'], 'compared with the conversation alone, without the system prompt'),
  good('config.yaml', ['user_agent'], '`auto` is `reef/VERSION`'),
  good('config.yaml', ['vault_password_file'], "opens Reef's vault, and only you may be able to read the file"),
  good(
    'config.yaml',
    ['document_loaders'],
    'a program for an ending runs without network, and each for 60 seconds at most',
  ),
  good('config.yaml', [
    ...[
      'clients',
      'type',
      'name',
      'api_base',
      'api_key',
      'organization_id',
      'patch',
      'models',
      'extra.connect_timeout',
    ].map((key) => (key === 'clients' ? key : `clients[].${key}`)),
    ...['project_id', 'location', 'adc_file', 'region', 'access_key_id', 'secret_access_key', 'session_token'].map(
      (key) => `clients[].${key}`,
    ),
    ...[
      'name',
      'type',
      'real_name',
      'max_input_tokens',
      'max_output_tokens',
      'input_price',
      'output_price',
      'patch',
    ].map((key) => `clients[].models[].${key}`),
    ...['supports_vision', 'supports_function_calling', 'default_chunk_size', 'max_batch_size'].map(
      (key) => `clients[].models[].${key}`,
    ),
  ]),
  withPackage('azure-openai', '@ai-sdk/azure'),
  withPackage('vertexai', '@ai-sdk/google-vertex'),
  withPackage('bedrock', '@ai-sdk/amazon-bedrock'),
  withPackage('cohere', '@ai-sdk/cohere'),
  good(
    'config.yaml',
    ['clients[].extra.proxy'],
    'http:// and https:// only: a client with another proxy refuses to start',
  ),
  without('config.yaml', 'there is no log-in: the client needs an `api_key`', ['clients[].auth']),
  without(
    'config.yaml',
    'not sent: Reef knows by the type of the client what its API wants',
    ['no_stream', 'no_system_message', 'system_prompt_prefix', 'require_max_tokens', 'max_tokens_per_chunk'].map(
      (key) => `clients[].models[].${key}`,
    ),
  ),
];

const AGENT = 'agents/NAME/config.yaml';
const AGENTS: readonly LokiRow[] = [
  good(AGENT, [
    ...[
      'description',
      'version',
      'model',
      'temperature',
      'top_p',
      'agent_session',
      'instructions',
      'dynamic_instructions',
    ],
    ...['variables', 'conversation_starters', 'global_tools', 'mcp_servers', 'documents', 'auto_continue'],
    ...['max_auto_continues', 'inject_todo_instructions', 'continuation_prompt', 'can_spawn_agents'],
    ...['max_concurrent_agents', 'max_agent_depth', 'inject_spawn_instructions', 'summarization_model'],
    ...['summarization_threshold', 'escalation_timeout', 'compression_threshold'],
  ]),
  good(AGENT, ['name'], "the name of the agent's folder counts"),
  good('agents/NAME/tools.*', undefined, 'of several the first of .sh, .py, .ts, .js counts'),
  good('agents/NAME/.env'),
  good('agents/NAME/sessions/*', undefined, 'becomes a session of Reef when it is first opened; the file stays'),
  good('agents/NAME/rag.yaml'),
  without('agents/NAME/bin/*', 'not needed: Reef starts the tools itself'),
  good('agents/*'),
];

const FILES: readonly LokiRow[] = [
  good('.env', undefined, 'variables that begin with `LOKI_` begin with `REEF_` here'),
  good('*.tmTheme'),
  good(
    'models-override.yaml',
    undefined,
    '`patch`, `system_prompt_prefix` and `require_max_tokens` of its models are not used: give `patch` in `clients[].models[]`',
  ),
  good('roles/NAME.md', ['model', 'temperature', 'top_p', 'enabled_tools', 'enabled_mcp_servers']),
  good('roles/NAME.md', ['use_tools'], 'called `enabled_tools` here'),
  without('roles/NAME.md', 'no effect, as in Loki: the file gives the name, and its text is the prompt', [
    'name',
    'prompt',
  ]),
  good('macros/NAME.yaml', ['variables', 'steps']),
  good(
    'rags/NAME.yaml',
    undefined,
    'vectors in it are taken over if the embedding model is the same; else they are made again',
  ),
  good('sessions/*', undefined, 'becomes a session of Reef when it is first opened; the file stays'),
  good(
    'functions/tools/*',
    undefined,
    'a call that does more than read is asked about first; a script that cannot work here leaves the built-in tool of its name',
  ),
  good('functions/mcp.json', undefined, 'a server that does not start is left out with a warning'),
  good('functions/.env'),
  good('functions/utils/*'),
  without('functions/scripts/*', 'not needed: Reef starts the tools itself'),
  without('functions/bin/*', 'not needed: Reef starts the tools itself'),
  good('functions/*'),
  without('vault.yml', 'encrypted in another way: enter the secrets again with `reef vault add NAME`'),
  without('messages.md', 'Reef writes its own'),
  without('*.log', 'Reef writes its own'),
  without('history.txt', 'Reef keeps its own'),
];

export const lokiTable: readonly LokiRow[] = [...CONFIG, ...AGENTS, ...FILES];

/** What becomes of a file, by its path in Loki's folder. A row that says more comes before one that says less. */
export function rowOfFile(path: string): LokiRow | undefined {
  const rows = lokiTable.filter(({ file }) => matches(file, path));
  const [some] = rows;
  return rows.find(({ keys }) => keys === undefined) ?? (some && { file: some.file, loads: true, works: true });
}

export function rowOfKey(file: string, key: string): LokiRow | undefined {
  return lokiTable.find((row) => row.keys?.includes(key) === true && matches(row.file, file));
}

function matches(pattern: string, path: string): boolean {
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('NAME', '[^/]+').replaceAll('*', '.*')}$`).test(path);
}
