import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/verifies.ts';
import { agentOf } from '../agent-spec/agent.ts';
import { agentSpecSchema } from '../agent-spec/spec.ts';
import { type AppConfig, FILE_KEYS, toAppConfig as merge } from '../config/app-config.ts';
import { envLayer } from '../config/env-layer.ts';
import * as readers from '../config/readers.ts';
import * as setup from '../config/setup.ts';
import { localModelsOverride, syncModels } from '../config/sync-models.ts';
import { listRags } from '../folder-names.ts';
import * as macros from '../macros/macro.ts';
import { userText } from '../models/message.ts';
import { createPaths } from '../paths.ts';
import { emptyRole } from '../roles/role.ts';
import * as roleFolder from '../roles/role-folder.ts';
import { noFunctions } from '../tools/tool.ts';
import { createAppState } from './app-state.ts';
import { initAgentSharedVariables } from './change/agent-plans.ts';
import { initAgentSessionVariables } from './change/plans.ts';
import { ensureDefaultModelId } from './change/transition.ts';
import * as promptTemplate from './prompt-template.ts';
import { RequestContext } from './request-context.ts';
import * as info from './show/info.ts';
import * as complete from './show/repl-complete.ts';
import { openWorld } from './testing/harness.ts';
import { TodoList } from './todo-list.ts';
import * as turns from './turns.ts';
import { fromParts, toAppConfig, toRequestContext, type Whole } from './whole.ts';

verifies('R-121').test('T1: fromParts(toAppConfig(x), toRequestContext(x)) is x, over all fields', async () => {
  await using world = await openWorld();
  const { app } = world;
  const text = fc.option(fc.string());
  const texts = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.string(), { maxKeys: 3 });
  const share = fc.option(fc.double({ min: 0, max: 2, noNaN: true }));
  const count = fc.integer({ min: 1, max: 99_999 });
  const fields = fc.record({
    model_id: fc.string(),
    temperature: share,
    top_p: share,
    dry_run: fc.boolean(),
    stream: fc.boolean(),
    save: fc.boolean(),
    keybindings: fc.constantFrom('emacs' as const, 'vi' as const),
    editor: text,
    wrap: fc.constantFrom('no', 'auto', '80', null),
    wrap_code: fc.boolean(),
    vault_password_file: text,
    function_calling_support: fc.boolean(),
    mapping_tools: texts,
    enabled_tools: text,
    visible_tools: fc.option(fc.array(fc.string())),
    mcp_server_support: fc.boolean(),
    mapping_mcp_servers: texts,
    enabled_mcp_servers: text,
    repl_prelude: text,
    cmd_prelude: text,
    agent_session: text,
    save_session: fc.option(fc.boolean()),
    compression_threshold: count,
    summarization_prompt: text,
    summary_context_prompt: text,
    rag_embedding_model: text,
    rag_reranker_model: text,
    rag_top_k: count,
    rag_chunk_size: fc.option(count),
    rag_chunk_overlap: fc.option(count),
    rag_template: text,
    document_loaders: texts,
    highlight: fc.boolean(),
    theme: text,
    left_prompt: text,
    right_prompt: text,
    user_agent: text,
    save_shell_history: fc.boolean(),
    sync_models_url: text,
    clients: fc.array(fc.record({ type: fc.constant('openai'), name: fc.string() }), { maxLength: 2 }),
  });
  const spec = { ...agentSpecSchema.parse({ auto_continue: true }), name: 'a', dir: '/a' };
  const session = app.sessions.create('s');
  const runtime = fc.record({
    macroFlag: fc.boolean(),
    infoFlag: fc.boolean(),
    workingMode: fc.constantFrom('cmd', 'repl', 'api', 'job'),
    model: fc.constantFrom(...app.models.list()),
    agentVariables: fc.option(texts, { nil: undefined }),
    role: fc.option(fc.constant(emptyRole('r', 'p')), { nil: undefined }),
    session: fc.option(fc.constant(session), { nil: undefined }),
    rag: fc.constant(undefined),
    lastMessage: fc.option(fc.constant({ messages: [userText('q')], output: 'a', continuous: true }), {
      nil: undefined,
    }),
    depth: fc.option(fc.nat(5), { nil: undefined }),
  });
  expect(FILE_KEYS).toHaveLength(41);
  fc.assert(
    fc.property(fields, runtime, (config, { depth, ...request }) => {
      const agency = depth === undefined ? undefined : agencyAt(depth);
      const whole: Whole = {
        ...config,
        ...request,
        agent: agency && agentOf(spec, 'do', {}),
        vault: app.vault,
        functions: noFunctions,
        mcpRuntime: { servers: new Map(), unavailable: new Map() },
        toolTracker: app.ports.tools.tracker(),
        agency,
      } as Whole;
      const parts = createAppState({ ...app, readConfig: () => app.config }, toAppConfig(whole, app.config.reef));
      expect(Object.keys(parts.config)).toHaveLength(41);
      expect(fromParts(parts, toRequestContext(whole, parts))).toEqual(whole);
    }),
    { numRuns: 200 },
  );

  function agencyAt(currentDepth: number): NonNullable<Whole['agency']> {
    return {
      agentRag: undefined,
      supervisor: { cancelAll: async () => {}, running: () => [] },
      inbox: { deliver: () => {}, drain: () => [] },
      escalationQueue: { ask: async () => ({ kind: 'needs_human' }), open: () => [] },
      todoList: new TodoList(),
      selfAgentId: `agent-${currentDepth}`,
      parentSupervisor: { agentId: 'p', send: async () => {} },
      currentDepth,
      autoContinueCount: currentDepth,
    };
  }
});

/** The seed's methods, by its names, and where they are now. */
function methods(): Record<string, Record<string, unknown>> {
  const paths = createPaths({}, '/h');
  const context = RequestContext.prototype;
  return {
    'step 2: paths': {
      config_dir: paths.configDir,
      local_path: paths.localPath,
      cache_path: paths.cachePath,
      oauth_tokens_path: paths.oauthTokensPath,
      token_file: paths.tokenFile,
      log_path: paths.logPath,
      config_file: paths.configFile,
      roles_dir: paths.rolesDir,
      role_file: paths.roleFile,
      macros_dir: paths.macrosDir,
      macro_file: paths.macroFile,
      env_file: paths.envFile,
      rags_dir: paths.ragsDir,
      functions_dir: paths.functionsDir,
      functions_bin_dir: paths.functionsBinDir,
      mcp_config_file: paths.mcpConfigFile,
      global_tools_dir: paths.globalToolsDir,
      global_utils_dir: paths.globalUtilsDir,
      bash_prompt_utils_file: paths.bashPromptUtilsFile,
      agents_data_dir: paths.agentsDataDir,
      agent_data_dir: paths.agentDataDir,
      agent_config_file: paths.agentConfigFile,
      agent_bin_dir: paths.agentBinDir,
      agent_rag_file: paths.agentRagFile,
      agent_functions_file: paths.agentFunctionsFile,
      models_override_file: paths.modelsOverrideFile,
      list_roles: roleFolder.listRoles,
      list_rags: listRags,
      list_macros: macros.listMacros,
      has_role: roleFolder.hasRole,
      has_macro: macros.hasMacro,
      sync_models: syncModels,
      local_models_override: localModelsOverride,
      log_config: setup.logConfig,
    },
    'step 3: readers of the configuration': {
      vault_password_file: readers.vaultPasswordFile,
      editor: readers.editor,
      sync_models_url: readers.syncModelsUrl,
      light_theme: readers.lightTheme,
      render_options: readers.renderOptions,
      print_markdown: readers.printMarkdown,
      rag_template: readers.ragTemplate,
      select_functions: readers.selectFunctions,
      select_enabled_functions: readers.selectEnabledFunctions,
      select_enabled_mcp_servers: readers.selectEnabledMcpServers,
    },
    'step 4: writers of the configuration': {
      set_wrap: setup.setWrap,
      update: context.update,
      load_envs: envLayer,
      'load_functions, load_mcp_servers': context.bootstrapTools,
      setup_model: ensureDefaultModelId,
      setup_document_loaders: setup.setupDocumentLoaders,
      setup_user_agent: setup.setupUserAgent,
    },
    'step 5: readers of the context': {
      state: context.state,
      messages_file: context.messagesFile,
      sessions_dir: context.sessionsDir,
      session_file: context.sessionFile,
      rag_file: context.ragFile,
      info: info.info,
      role_info: info.roleInfo,
      session_info: info.sessionInfo,
      agent_info: info.agentInfo,
      agent_banner: info.agentBanner,
      rag_info: info.ragInfo,
      list_sessions: context.listSessions,
      list_autoname_sessions: context.listAutonameSessions,
      is_compressing_session: context.isCompressingSession,
      role_like_mut: context.roleLike,
    },
    'steps 6 and 8: writers of the context': {
      use_prompt: context.usePrompt,
      use_role: context.useRole,
      use_role_obj: context.useRoleObj,
      exit_role: context.exitRole,
      edit_role: context.editRole,
      use_session: context.useSession,
      exit_session: context.exitSession,
      save_session: context.saveSession,
      empty_session: context.emptySession,
      set_save_session_this_time: context.setSaveSessionThisTime,
      compress_session: context.compressSession,
      maybe_compress_session: context.maybeCompressSession,
      autoname_session: context.autonameSession,
      maybe_autoname_session: context.maybeAutonameSession,
      use_rag: context.useRag,
      exit_rag: context.exitRag,
      edit_rag_docs: context.editRagDocs,
      rebuild_rag: context.rebuildRag,
      use_agent: context.useAgent,
      exit_agent: context.exitAgent,
      exit_agent_session: context.exitAgentSession,
      apply_prelude: context.applyPrelude,
      before_chat_completion: context.beforeChatCompletion,
      after_chat_completion: context.afterChatCompletion,
      discontinuous_last_message: context.discontinuousLastMessage,
      init_agent_shared_variables: initAgentSharedVariables,
      init_agent_session_variables: initAgentSessionVariables,
      bootstrap_tools: context.bootstrapTools,
      reload_current_model: context.reloadCurrentModel,
      ensure_default_model_id: ensureDefaultModelId,
    },
    'step 7: of both': {
      current_model: turns.currentModel,
      extract_role: turns.extractRole,
      sysinfo: info.sysinfo,
      'set_temperature … set_max_output_tokens': context.set,
      set_model: context.setModel,
      retrieve_role: context.retrieveRole,
      save_message: turns.saveMessage,
      render_prompt_left: promptTemplate.renderPromptLeft,
      render_prompt_right: promptTemplate.renderPromptRight,
      generate_prompt_context: promptTemplate.generatePromptContext,
      repl_complete: complete.replComplete,
    },
  };
}

verifies('R-05').test("every method of the seed's steps 2 to 8 exists in the home the seed gives it", () => {
  const missing = Object.entries(methods()).flatMap(([step, list]) =>
    Object.entries(list).flatMap(([name, method]) => (typeof method === 'function' ? [] : [`${step}: ${name}`])),
  );
  expect(missing).toEqual([]);
});

verifies('R-05').test('paths are computed from environment and home, and a name cannot climb out of its folder', () => {
  const paths = createPaths({ REEF_ROLES_DIR: '/roles', MY_AGENT_DATA_DIR: '/data/mine' }, '/home/me');
  expect({
    config: paths.configFile(),
    role: paths.roleFile('coder'),
    agent: paths.agentConfigFile('my-agent'),
    other: paths.agentRagFile('other'),
    cache: paths.messagesFile(),
    agentCache: paths.messagesFile('other'),
    token: paths.tokenFile('openai'),
    utils: paths.bashPromptUtilsFile(),
  }).toEqual({
    config: '/home/me/.config/reef/config.yaml',
    role: '/roles/coder.md',
    agent: '/data/mine/config.yaml',
    other: '/home/me/.config/reef/agents/other/rag.yaml',
    cache: '/home/me/.cache/reef/messages.md',
    agentCache: '/home/me/.cache/reef/agents/other/messages.md',
    token: '/home/me/.cache/reef/oauth/openai.json',
    utils: '/home/me/.config/reef/functions/utils/prompt-utils.sh',
  });
  for (const name of ['..', '.', '', 'a/b', 'a\\b', 'a\0', 'x'.repeat(129)]) {
    for (const path of [paths.roleFile, paths.macroFile, paths.ragFile, paths.agentDataDir, paths.tokenFile]) {
      expect(() => path(name)).toThrow(expect.objectContaining({ code: 'name_invalid' }));
    }
  }
});

describe('what is read from the configuration alone', () => {
  const config = (patch: Partial<AppConfig>) => ({ ...merge([]), ...patch });

  test('is the editor, the look, and which tools and servers a list means', () => {
    const tools = { enabled_tools: 'fs,other,unknown', enabled_mcp_servers: 'all' };
    const mapped = config({ mapping_tools: { fs: 'fs_cat, fs_ls' }, wrap: '80', theme: 'light' });
    const known = { tools: ['fs_ls', 'fs_cat', 'other'], servers: ['a', 'b'] };
    expect({
      editor: [readers.editor(config({ editor: 'mine' }), {}), readers.editor(config({}), { EDITOR: 'vi' })],
      look: [readers.renderOptions(mapped), readers.lightTheme(mapped)],
      selected: readers.selectFunctions(mapped, tools, known),
      off: readers.selectFunctions({ ...mapped, function_calling_support: false }, tools, known),
      noServers: readers.selectEnabledMcpServers({ ...mapped, mcp_server_support: false }, tools, known.servers),
      filled: readers.ragTemplate(config({ rag_template: '__INPUT__ | __CONTEXT__' }), {
        context: '__INPUT__',
        sources: '',
        input: '__CONTEXT__',
      }),
    }).toEqual({
      editor: ['mine', 'vi'],
      look: [{ highlight: true, theme: 'light', wrap: 80, wrapCode: false }, true],
      selected: { tools: ['fs_cat', 'fs_ls', 'other'], servers: ['a', 'b'] },
      off: undefined,
      noServers: [],
      filled: '__CONTEXT__ | __INPUT__',
    });
    expect(() => readers.editor(config({}), {})).toThrow(expect.objectContaining({ code: 'invalid_state' }));
  });
});
