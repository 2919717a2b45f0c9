import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openWorld } from '../../../test/support/runtime/state.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { variableEnvironment } from '../agent-spec/variables.ts';
import { textOf, userText } from '../models/message.ts';
import { agentBanner, agentInfo } from './info.ts';
import type { RequestContext } from './request-context.ts';
import { settingsOf } from './resolve.ts';
import { sessionStore } from './session-life.ts';
import { systemPrompt } from './turns.ts';

const AGENT = `
name: something else
description: Does it all
version: 2
model: fake:two
temperature: 0.4
top_p: 0.6
auto_continue: true
max_auto_continues: 3
continuation_prompt: Go on.
can_spawn_agents: true
spawnable_agents: [solo]
max_concurrent_agents: 2
max_agent_depth: 1
summarization_model: fake:one
summarization_threshold: 99
escalation_timeout: 7
compression_threshold: 1234
mcp_servers: [github]
global_tools: [fs_cat]
instructions: |
  You are {{who}} on {{__os_family__}}.
  Tools: {{__tools__}}
variables:
  - { name: who, description: whom to be, default: nobody }
  - { name: key, description: the key }
conversation_starters: [Hello there]
documents: [notes.md]
`;
const FILES = {
  'agents/full/config.yaml': AGENT,
  'agents/full/notes.md': 'Keys are rotated on Mondays.',
  'agents/solo/config.yaml': 'instructions: You are solo.\n',
  'agents/hungry/config.yaml': 'mcp_servers: [github]\ninstructions: Hungry.\n',
  'roles/r.md': '---\ntemperature: 1.5\n---\nA role.',
  'rags/docs.yaml': 'document_paths: []\n',
};

async function say(ctx: RequestContext, text: string): Promise<void> {
  await ctx.afterChatCompletion({ messages: [userText(text)], output: text });
}

describe('an agent', () => {
  verifies('R-133', 'R-52', 'R-23').test('T13: is there with every field of its file and every effect', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    await ctx.useRole('r');
    await ctx.useRag('docs');
    await ctx.useAgent({ name: 'full', session: 'inner', variables: { key: 'K' } });
    const { agent, agentRuntime: runtime } = ctx;
    if (!agent || !runtime) return expect.unreachable();

    // Its name is that of its folder, whatever its file claims.
    expect(agent.name).toBe('full');
    expect(agent.spec.description).toBe('Does it all');
    expect(agent.spec.version).toBe('2');
    expect(ctx.model.id).toBe('fake:two');
    expect(settingsOf(ctx)).toMatchObject({
      temperature: 0.4,
      top_p: 0.6,
      compression_threshold: 1234,
    });
    expect(agent.spec.auto_continue).toBe(true);
    expect(agent.spec.max_auto_continues).toBe(3);
    expect(agent.spec.inject_todo_instructions).toBe(true);
    expect(agent.spec.continuation_prompt).toBe('Go on.');
    expect(agent.spec.can_spawn_agents).toBe(true);
    expect(agent.spec.spawnable_agents).toEqual(['solo']);
    expect(agent.spec.max_concurrent_agents).toBe(2);
    expect(agent.spec.max_agent_depth).toBe(1);
    expect(agent.spec.inject_spawn_instructions).toBe(true);
    expect(agent.spec.summarization_model).toBe('fake:one');
    expect(agent.spec.summarization_threshold).toBe(99);
    expect(agent.spec.escalation_timeout).toBe(7);
    expect([...ctx.toolScope.mcpRuntime.servers.keys()]).toEqual(['github']);
    expect(ctx.toolScope.functions.tools.map(({ name }) => name)).toEqual([
      'fs_cat',
      'mcp_search_github',
      'mcp_describe_github',
      'mcp_invoke_github',
    ]);
    expect(ctx.agent?.variables).toEqual({ who: 'nobody', key: 'K' });
    expect(variableEnvironment(agent.variables)).toEqual({ LLM_AGENT_VAR_WHO: 'nobody', LLM_AGENT_VAR_KEY: 'K' });
    const prompt = systemPrompt(ctx);
    expect(prompt).toMatch(/^You are nobody on unix\.\nTools: - fs_cat: does fs_cat\n/);
    for (const title of ['Your list of things to do', 'Agents you can start', 'Asking the person'])
      expect(prompt).toContain(title);
    expect(prompt).not.toContain('The agents beside you');
    expect(agentBanner(ctx)).toContain('1. Hello there');
    expect(agentInfo(ctx)).toContain('summarization_threshold: 99');

    // Runtime: own children and inbox, todo list by its flag, RAG of its documents.
    expect(runtime.spec).toBe(agent.spec);
    expect(runtime.selfAgentId).toBe('job-of-full');
    expect(runtime.currentDepth).toBe(0);
    expect(runtime.autoContinueCount).toBe(0);
    expect(runtime.parentSupervisor).toBe(undefined);
    expect(runtime.todoList?.todos).toEqual([]);
    expect(runtime.rag?.value.key).toEqual({ kind: 'agent', name: 'full' });
    expect((await runtime.rag?.value.search('rotated keys', { top_k: 1 }))?.[0]?.text).toContain('Mondays');

    // Role, session and RAG of before are covered, not lost; the inner session lies with the agent.
    expect([ctx.role, ctx.rag, ctx.session?.name]).toEqual([undefined, undefined, 'inner']);
    expect([ctx.suspended?.role?.name, ctx.suspended?.rag?.value.key.name]).toEqual(['r', 'docs']);
    expect(ctx.sessionsDir()).toBe(join(world.dir, 'agents/full/sessions'));
    expect(ctx.session?.state).toMatchObject({ agent_variables: { who: 'nobody', key: 'K' } });
    expect([...ctx.state()].sort()).toEqual(['agent', 'rag', 'session_empty']);

    await ctx.exitAgent();
    expect([
      ctx.role?.name,
      ctx.rag?.value.key.name,
      ctx.agent,
      ctx.agentRuntime,
      ctx.suspended,
      world.cancelled,
    ]).toEqual(['r', 'docs', undefined, undefined, undefined, ['full']]);
  });

  verifies('R-52').test('has the defaults of its file where it says nothing', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    await ctx.useAgent({ name: 'solo' });
    const { name: _, dir: __, instructions: ___, ...spec } = ctx.agent?.spec ?? expect.unreachable();
    expect(spec).toEqual({
      description: '',
      version: '',
      model: null,
      temperature: null,
      top_p: null,
      agent_session: null,
      auto_continue: false,
      max_auto_continues: 10,
      inject_todo_instructions: true,
      continuation_prompt: null,
      can_spawn_agents: false,
      spawnable_agents: null,
      max_concurrent_agents: 4,
      max_agent_depth: 3,
      inject_spawn_instructions: true,
      summarization_model: null,
      summarization_threshold: 4000,
      escalation_timeout: 300,
      compression_threshold: null,
      mcp_servers: [],
      global_tools: [],
      dynamic_instructions: false,
      variables: [],
      conversation_starters: [],
      documents: [],
    });
    expect([ctx.agentRuntime?.todoList, ctx.agentRuntime?.rag, ctx.session]).toEqual([undefined, undefined, undefined]);
  });

  verifies('R-23').test('needs functions, and a second one is refused', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    await ctx.update('function_calling_support false');
    await expect(ctx.useAgent({ name: 'solo' })).rejects.toMatchObject({ code: 'invalid_state' });
    await ctx.update('function_calling_support true');
    await ctx.useAgent({ name: 'solo' });
    for (const wrong of [ctx.useAgent({ name: 'full' }), ctx.useRole('r'), ctx.useRag('docs'), ctx.exitRag()]) {
      await expect(wrong).rejects.toMatchObject({
        code: 'invalid_state',
        message: expect.stringContaining('.exit agent'),
      });
    }
    await expect(world.context().useAgent({ name: 'nobody-at-all' })).rejects.toMatchObject({ code: 'agent_missing' });
  });

  verifies('R-23').test(
    'without servers, or with a model that cannot call functions, works with a warning',
    async () => {
      await using world = await openWorld({
        files: { ...FILES, 'config.yaml': 'mcp_server_support: false\n' },
        env: { HUNGRY_MODEL: 'fake:dumb' },
      });
      const ctx = world.context();
      await ctx.useAgent({ name: 'hungry' });
      expect(world.warnings).toEqual([
        'agent hungry needs MCP servers, but mcp_server_support is off',
        'fake:dumb is sent no tools: its entry in the list of models says that it cannot call functions',
      ]);
    },
  );

  verifies('R-23').test('takes up a session of its own with the variables it was held with', async () => {
    await using world = await openWorld({
      files: { ...FILES, 'config.yaml': 'save_session: true\nagent_session: daily\n' },
    });
    const first = world.context();
    await first.useAgent({ name: 'full', variables: { key: 'K1', who: 'someone' } });
    await say(first, 'hello');
    await first.exitAgent();
    const second = world.context();
    await second.useAgent({ name: 'full' });
    expect([second.session?.name, second.session?.messages.map(textOf), second.agent?.variables]).toEqual([
      'daily',
      ['hello'],
      { who: 'someone', key: 'K1' },
    ]);
    expect([await sessionStore(second).names(), await world.app.sessions.names()]).toEqual([['daily'], []]);
    await second.exitSession();
    expect([second.session, second.agent?.name]).toEqual([undefined, 'full']);
    await second.exitAgent();
  });

  verifies('R-52').test(
    'whose variables have no value asks for each on a terminal, else one error names all',
    async () => {
      const spec =
        'variables: [{name: a, description: first}, {name: b}, {name: c, default: "{{SECRET}}"}]\ninstructions: "{{a}} {{b}} {{c}} {{d}}"\n';
      await using world = await openWorld({
        files: { 'agents/v/config.yaml': spec },
        init: { askPassword: async () => 'long enough' },
      });
      await world.app.vault.add('SECRET', '{{a}}');
      await expect(world.context().useAgent({ name: 'v' })).rejects.toMatchObject({
        code: 'agent_variables_missing',
        details: { missing: ['a', 'b'] },
      });
      const asked: string[] = [];
      const ui = {
        confirm: async () => false,
        input: async (question: string) => {
          asked.push(question);
          return question.toUpperCase();
        },
        choose: async () => [],
      };
      const ctx = world.context({ ui });
      await ctx.useAgent({ name: 'v' });
      expect([asked, ctx.agent?.instructions]).toEqual([['a (first)', 'b'], 'A (FIRST) B {{a}} {{d}}']);
    },
  );

  verifies('R-10', 'R-52').test('is changed by variables of the environment that bear its name', async () => {
    await using world = await openWorld({
      files: FILES,
      env: {
        FULL_MODEL: 'fake:one',
        FULL_TEMPERATURE: '1.1',
        FULL_TOP_P: '0.9',
        FULL_GLOBAL_TOOLS: '["fs_ls"]',
        FULL_MCP_SERVERS: 'jira, slack',
        FULL_AGENT_SESSION: 'mine',
        FULL_INSTRUCTIONS: 'Be {{who}}.',
        FULL_VARIABLES: '{"who": "me", "key": "k"}',
      },
    });
    const ctx = world.context();
    await ctx.useAgent({ name: 'full' });
    const { temperature, top_p, enabled_tools, enabled_mcp_servers } = settingsOf(ctx);
    expect({
      model: ctx.model.id,
      temperature,
      top_p,
      enabled_tools,
      enabled_mcp_servers,
      session: ctx.session?.name,
      says: ctx.agent?.instructions,
    }).toEqual({
      model: 'fake:one',
      temperature: 1.1,
      top_p: 0.9,
      enabled_tools: 'fs_ls',
      enabled_mcp_servers: 'jira,slack',
      session: 'mine',
      says: 'Be me.',
    });
    await ctx.exitAgent();
  });

  test('started by another is one deeper and is told so', async () => {
    await using world = await openWorld({
      files: FILES,
      ports: (ports) => ({
        team: async (request) => {
          const team = await ports.team?.(request);
          if (!team) throw new Error('no team');
          return request.parent
            ? { ...team, parentSupervisor: { agentId: request.parent.selfAgentId, send: async () => {} } }
            : team;
        },
      }),
    });
    const [parent, child] = [world.context(), world.context({ workingMode: 'job' })];
    await parent.useAgent({ name: 'solo' });
    await child.useAgent({ name: 'hungry', parent: parent.agentRuntime });
    expect([child.agentRuntime?.currentDepth, child.agentRuntime?.parentSupervisor?.agentId]).toEqual([
      1,
      'job-of-solo',
    ]);
    expect(systemPrompt(child)).toContain('The agents beside you');
  });

  test('that fails to come leaves no index behind open, and none of its files is made', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    await expect(ctx.useAgent({ name: 'full' })).rejects.toMatchObject({ code: 'agent_variables_missing' });
    expect([ctx.agent, ctx.rag, existsSync(join(world.dir, 'agents/full/sessions'))]).toEqual([
      undefined,
      undefined,
      false,
    ]);
  });
});
