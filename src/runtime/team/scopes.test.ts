import { expect } from 'vitest';
import { call, openTeam, type Said } from '../../../test/support/runtime/team-world.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { agentPrompt } from '../agent-spec/instructions.ts';
import { textOf } from '../models/message.ts';

const BOSS = { can_spawn_agents: true };
const never = new AbortController().signal;
const servers = (tools: readonly string[]) => tools.flatMap((name) => /^mcp_search_(.+)$/.exec(name)?.[1] ?? []);

verifies('R-132', 'R-100').test(
  'T12: a parent and its children have their own servers each, also side by side',
  async () => {
    const { promise: go, resolve } = Promise.withResolvers<Said>();
    const specs = {
      boss: { ...BOSS, mcp_servers: ['github'] },
      kid: { mcp_servers: ['jira'] },
      other: { mcp_servers: ['slack', 'github'] },
      bare: {},
    };
    await using team = await openTeam(specs, () => go);
    const root = await team.jobs.root('boss');
    for (const agent of ['kid', 'other', 'bare']) await root.supervisor.spawn({ agent, prompt: agent });
    const turn = root.tell('go');
    const kids = await Promise.all(team.jobs.started.map((id) => team.jobs.job(id)));
    const asked = () => new Set(team.requests.map(({ agent }) => agent));
    await until('all four have asked', () => asked().size === 4);
    expect(['boss', 'kid', 'other', 'bare'].map((agent) => servers(team.toolsOf(agent)).sort())).toEqual([
      ['github'],
      ['jira'],
      ['github', 'slack'],
      [],
    ]);
    const pid = (job: typeof root, name: string) => job.ctx.toolScope.mcpRuntime.servers.get(name)?.value.pid;
    const [kid, other] = kids;
    if (!kid || !other) return expect.unreachable();
    expect(pid(other, 'github')).toBe(pid(root, 'github'));
    expect(team.world.factory.stats().spawned).toBe(3);
    resolve({ text: 'done' });
    await root.supervisor.collect('kid', never);
    // A child's end takes nothing from anybody else.
    expect([...root.ctx.toolScope.mcpRuntime.servers.keys()]).toEqual(['github']);
    await turn;
    await root.ctx.close();
  },
);

verifies('R-134', 'R-100', 'R-133', 'R-153').test(
  'T14: a child is a fresh context over the same state: scope, RAG, depth, inbox, todo',
  async () => {
    const { promise: go, resolve } = Promise.withResolvers<Said>();
    const kid = { auto_continue: true, global_tools: ['fs_cat'], documents: ['notes.md'] };
    const notes = { 'agents/kid/notes.md': 'Keys are rotated on Mondays.' };
    await using team = await openTeam({ boss: BOSS, kid }, () => go, notes);
    const root = await team.jobs.root('boss');
    for (const prompt of ['one', 'two', 'three', 'four']) await root.supervisor.spawn({ agent: 'kid', prompt });
    const kids = await Promise.all(team.jobs.started.map((id) => team.jobs.job(id)));
    const [ann, bob] = kids;
    const [parent, first, second] = [root, ann, bob].map((job) => job?.ctx.agentRuntime);
    if (!(ann && bob && parent && first && second)) return expect.unreachable();
    expect([ann.ctx.app.mcpFactory, ann.ctx.app.ragCache, ann.ctx.app.config]).toEqual([
      root.ctx.app.mcpFactory,
      root.ctx.app.ragCache,
      root.ctx.app.config,
    ]);
    expect(
      ann.ctx.toolScope.functions.tools.map(({ name }) => name).filter((name) => !/^(user|todo)__/.test(name)),
    ).toEqual(['fs_cat', 'agent__send_message', 'agent__check_inbox', 'agent__list']);
    // four siblings read one RAG once.
    expect(new Set(kids.map(({ ctx }) => ctx.agentRuntime?.rag?.value)).size).toBe(1);
    expect([parent.rag, first.rag?.value.key]).toEqual([undefined, { kind: 'agent', name: 'kid' }]);
    expect([parent.currentDepth, first.currentDepth, second.currentDepth]).toEqual([0, 1, 1]);
    expect([parent.selfAgentId, first.selfAgentId, second.selfAgentId]).toEqual(['ROOT-BOSS', 'JOB1', 'JOB2']);
    expect(first.parentSupervisor).toBe(parent.supervisor);
    expect(new Set([parent, first, second].map(({ supervisor }) => supervisor)).size).toBe(3);
    expect(new Set([parent, first, second].map(({ inbox }) => inbox)).size).toBe(3);
    expect([parent.todoList, first.todoList?.todos, first.todoList === second.todoList]).toEqual([
      undefined,
      [],
      false,
    ]);
    expect(first.autoContinueCount).toBe(0);
    // One inbox: what a child asks is open for its parent too.
    const asking = first.escalationQueue.ask({ kind: 'confirm', question: 'Sure?' }, never);
    expect([parent, first, second].map(({ escalationQueue }) => escalationQueue.open())).toEqual([
      [{ id: 'JOB1:q1', question: 'Sure?' }],
      [{ id: 'JOB1:q1', question: 'Sure?' }],
      [],
    ]);
    team.jobs.answer('JOB1:q1', { kind: 'confirm', confirmed: true });
    expect(await asking).toEqual({ kind: 'confirm', confirmed: true });
    resolve({ text: 'done' });
    for (const id of team.jobs.started) await root.supervisor.collect(id, never);
  },
);

verifies('D5', 'R-104', 'R-90').test('every example in our prompts is a call that the tools take', async () => {
  await using team = await openTeam({ boss: BOSS, coder: {} }, ({ user }) => ({ text: user }));
  const root = await team.jobs.root('boss');
  const { spec } = root.ctx.agentRuntime ?? {};
  if (!spec) return expect.unreachable();
  const prompt = agentPrompt(spec, '', { tools: [], isChild: true, canAsk: true });
  const examples = [...prompt.matchAll(/(agent__\w+) (\{.*?\})\.?$/gms)];
  expect(examples).toHaveLength(1);
  const context = { cwd: root.ctx.app.cwd, signal: never, ask: async () => ({ kind: 'needs_human' as const }) };
  await root.supervisor.createTask({ subject: 'before' });
  for (const [, name = '', args = ''] of examples) {
    const take = (given: string) => root.ctx.toolScope.functions.find(name)?.run(JSON.parse(given), context);
    expect(await take(args)).toMatchObject({ id: '2', status: 'blocked', agent: 'coder' });
    // The known-bad twin: the example of the ancestor, with ids that no queue gives.
    await expect(take(args.replace('["1"]', '["task_1"]'))).rejects.toMatchObject({ code: 'task_unknown' });
  }
  const named = new Set([...prompt.matchAll(/\b(agent|user|todo)__\w+/g)].map(([name]) => name));
  for (const name of named) expect([name, root.ctx.toolScope.functions.find(name) !== undefined]).toEqual([name, true]);
});

verifies('R-90').test(
  'the twelve tools are there for those that may start agents, three for the others of a team, none alone',
  async () => {
    const names = (job: { ctx: { toolScope: { functions: { tools: readonly { name: string }[] } } } }) =>
      job.ctx.toolScope.functions.tools.map(({ name }) => name).filter((name) => name.startsWith('agent__'));
    await using team = await openTeam({ boss: BOSS, alone: {}, kid: {} }, () => ({ text: 'done' }));
    const root = await team.jobs.root('boss');
    expect(
      names(root)
        .map((name) => name.slice(7))
        .sort(),
    ).toEqual([
      ...['cancel', 'check', 'check_inbox', 'collect', 'list', 'reply_escalation', 'send_message', 'spawn'],
      ...['task_complete', 'task_create', 'task_fail', 'task_list'],
    ]);
    expect(names(await team.jobs.root('alone'))).toEqual([]);
    await root.supervisor.spawn({ agent: 'kid', prompt: 'x' });
    expect(names(await team.jobs.job('JOB1'))).toHaveLength(3);
    await root.supervisor.collect('kid', never);
  },
);

verifies('R-100').test('a model uses the tools by their names, and numbers where ids are digits', async () => {
  const { promise: hangs } = Promise.withResolvers<Said>();
  const steps: Said[] = [
    {
      calls: [
        call('agent__task_create', { subject: 'first' }),
        call('agent__task_create', { subject: 'second', blocked_by: [1] }),
      ],
    },
    {
      calls: [
        call('agent__spawn', { agent: 'kid', prompt: 'k', task_id: 1 }),
        call('agent__task_fail', { task_id: 2, reason: 'late' }),
      ],
    },
    { calls: [call('agent__send_message', { id: 'kid', message: 'hello' }), call('agent__check', { id: 'kid' })] },
    {
      calls: [
        call('agent__task_complete', { task_id: '1' }),
        call('agent__cancel', { id: 'kid' }),
        call('agent__check_inbox'),
      ],
    },
    {
      calls: [
        call('agent__list'),
        call('agent__task_list'),
        call('agent__reply_escalation', { escalation_id: 'x', reply: 'y' }),
      ],
    },
    { text: 'That was all.' },
  ];
  await using team = await openTeam({ boss: BOSS, kid: {} }, ({ agent, n }) =>
    agent === 'kid' ? hangs : (steps[n] ?? { text: '' }),
  );
  const root = await team.jobs.root('boss');
  expect(await root.tell('go')).toBe('That was all.');
  const results = root.events.flatMap((event) => (event.type === 'tool_result' ? [[event.name, event.output]] : []));
  const byName = Object.fromEntries(results);
  expect(JSON.parse(byName.agent__spawn ?? '')).toEqual({ status: 'spawned', agent: 'kid', id: 'JOB1' });
  expect(JSON.parse(byName.agent__task_list ?? '').tasks).toMatchObject([
    { status: 'completed' },
    { status: 'failed', reason: 'late' },
  ]);
  expect(JSON.parse(byName.agent__list ?? '')).toEqual({
    id: 'ROOT-BOSS',
    agents: [{ id: 'JOB1', agent: 'kid', status: 'cancelled', task: 'k', collected: true }],
  });
  expect(JSON.parse(byName.agent__reply_escalation ?? '')).toMatchObject({ code: 'question_not_found' });
});

verifies('R-153').test(
  "twenty sessions at once over one state: each holds its own words and nobody else's",
  async () => {
    const names = Array.from({ length: 20 }, (_, n) => `agent${n}`);
    const specs = Object.fromEntries(names.map((name) => [name, {}]));
    await using team = await openTeam(specs, async ({ agent, user }) => {
      await new Promise((wake) => setImmediate(wake));
      return { text: `${agent} heard: ${user}` };
    });
    const roots = await Promise.all(names.map((name) => team.jobs.root(name)));
    await Promise.all(
      roots.map(async ({ agent, tell }) => {
        for (const n of [1, 2, 3]) await tell(`${agent}, word ${n}`);
      }),
    );
    const said = (agent: string) =>
      [1, 2, 3].flatMap((n) => [`${agent}, word ${n}`, `${agent} heard: ${agent}, word ${n}`]);
    expect(roots.map(({ ctx }) => ctx.session?.messages.map(textOf))).toEqual(names.map(said));
    const shown = team.requests.map(
      ({ agent, messages }) => [agent, messages.slice(1).map(textOf).join('\n')] as const,
    );
    for (const [agent, text] of shown) {
      expect(new Set([...text.matchAll(/agent\d+/g)].map(([name]) => name))).toEqual(new Set([agent]));
    }
  },
);
