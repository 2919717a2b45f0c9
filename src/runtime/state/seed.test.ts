import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openWorld } from '../../../test/support/runtime/state.ts';
import { fromParts, toAppConfig, toRequestContext, type Whole } from '../../../test/support/runtime/whole.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { agentOf, agentSpecSchema } from '../agent-spec/spec.ts';
import { FILE_KEYS } from '../config/app-config.ts';
import { userText } from '../models/message.ts';
import { createPaths } from '../paths.ts';
import { emptyRole } from '../roles/role.ts';
import { AgentTodos } from '../tools/builtin/agent-todos.ts';
import { noFunctions } from '../tools/tool.ts';
import { createAppState } from './app-state.ts';

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
    macroDepth: fc.nat(8),
    workingMode: fc.constantFrom('cmd', 'repl', 'api', 'job'),
    model: fc.constantFrom(...app.models.list()),
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
        toolTracker: app.tools.tracker(),
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
      todoList: new AgentTodos(),
      selfAgentId: `agent-${currentDepth}`,
      parentSupervisor: { agentId: 'p', send: async () => {} },
      currentDepth,
      autoContinueCount: currentDepth,
    };
  }
});

test('paths are computed from environment and home, and a name cannot climb out of its folder', () => {
  const paths = createPaths({ REEF_ROLES_DIR: '/roles', MY_AGENT_DATA_DIR: '/data/mine' }, '/home/me');
  expect({
    config: paths.configFile(),
    role: paths.roleFile('coder'),
    agent: paths.agentConfigFile('my-agent'),
    other: paths.agentRagFile('other'),
    cache: paths.messagesFile(),
    agentCache: paths.messagesFile('other'),
  }).toEqual({
    config: '/home/me/.config/reef/config.yaml',
    role: '/roles/coder.md',
    agent: '/data/mine/config.yaml',
    other: '/home/me/.config/reef/agents/other/rag.yaml',
    cache: '/home/me/.cache/reef/messages.md',
    agentCache: '/home/me/.cache/reef/agents/other/messages.md',
  });
  for (const name of ['..', '.', '', 'a/b', 'a\\b', 'a\0', 'x'.repeat(129)]) {
    for (const path of [paths.roleFile, paths.macroFile, paths.ragFile, paths.agentDataDir]) {
      expect(() => path(name)).toThrow(expect.objectContaining({ code: 'name_invalid' }));
    }
  }
});
