import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { type Speaker, speaker } from '../../../test/support/runtime/speaker.ts';
import { openWorld, type World } from '../../../test/support/runtime/state.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createTokenCounter, loadTokenCounter } from '../../base/tokens.ts';
import { type Message, textOf, userText } from '../models/message.ts';
import type { RequestContext } from '../state/request-context.ts';
import { sessionStore } from '../state/session-life.ts';
import { historyMessages, turnMessages } from '../state/turns.ts';
import { requestList, tokensOf } from './prompt-messages.ts';

const answer = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });
const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');
const tokens = createTokenCounter();

async function inSession(world: World, prompt = 'You are careful.'): Promise<RequestContext> {
  const ctx = world.context();
  await ctx.useRoleObj({
    name: 'careful',
    prompt,
    model: null,
    temperature: null,
    top_p: null,
    enabled_tools: null,
    enabled_mcp_servers: null,
    max_output_tokens: null,
  });
  await ctx.useSession('s');
  return ctx;
}

async function say(ctx: RequestContext, question: string, reply = `answer to ${question}`): Promise<void> {
  ctx.beforeChatCompletion(userText(question));
  await ctx.afterChatCompletion({ messages: [userText(question), answer(reply)], output: reply });
}

const everything = (ctx: RequestContext) =>
  [...(ctx.session?.state.compressed_messages ?? []), ...(ctx.session?.messages ?? [])].map(textOf);
const prompt = (ctx: RequestContext) => historyMessages(ctx);

describe('a compressed session', () => {
  verifies('R-136', 'R-65').test(
    'T16: after 12 user messages and a useless summary every request is in the prompt that follows',
    async () => {
      const model = speaker(() => 'They talked.');
      await using world = await openWorld({ ports: model.ports });
      const ctx = await inSession(world);
      const requests = Array.from({ length: 12 }, (_, n) => `Please change file number ${n} so that it holds ${n * 7}`);
      for (const request of requests) await say(ctx, request);
      await ctx.compressSession();
      const text = prompt(ctx).map(textOf).join('\n');
      expect(requests.filter((request) => !text.includes(request))).toEqual([]);
      expect(model.requests).toHaveLength(1);
    },
  );

  verifies('R-136').test('T16: the same with the scripted model', async () => {
    await using real = await openWorld({
      files: { 'script.yaml': '- reply: { text: "A scripted summary." }\n' },
      env: {
        REEF_MODEL: 'scripted:s',
        REEF_CLIENTS: '[{"type": "scripted", "models": [{"name": "s", "script": "script.yaml"}]}]',
      },
    });
    const ctx = await inSession(real);
    for (let n = 0; n < 12; n++) await say(ctx, `request ${n}`);
    await ctx.compressSession();
    const text = prompt(ctx).map(textOf).join('\n');
    expect([
      ctx.session?.state.summary,
      Array.from({ length: 12 }, (_, n) => text.includes(`request ${n}`)).every(Boolean),
    ]).toEqual(['A scripted summary.', true]);
  });

  verifies('D7', 'R-65').test(
    'has its system prompt verbatim, one summary, and everything from the last user message on',
    async () => {
      const model = speaker((request) => `summary ${model.requests.indexOf(request) + 1}`);
      await using world = await openWorld({ ports: model.ports });
      const ctx = await inSession(world, 'You are careful.\n  Very.');
      for (const question of ['one', 'two', 'three']) await say(ctx, question);
      await ctx.compressSession();
      const first = prompt(ctx);
      for (const question of ['four', 'five']) await say(ctx, question);
      await ctx.compressSession();
      const second = prompt(ctx);
      expect([first, second].map((messages) => messages.map(({ role }) => role))).toEqual([
        ['system', 'system', 'user', 'assistant'],
        ['system', 'system', 'user', 'assistant'],
      ]);
      expect([first[0], first[2], second[0], second[2]]).toEqual([
        { role: 'system', content: 'You are careful.\n  Very.' },
        userText('three'),
        { role: 'system', content: 'You are careful.\n  Very.' },
        userText('five'),
      ]);
      expect(textOf(second[1] ?? expect.unreachable())).toMatch(/summary 2/);
      expect(textOf(second[1] ?? expect.unreachable())).not.toMatch(/summary 1/);
      expect(model.asked()[1]).toMatch(/The summary so far:\nsummary 1[\s\S]*user: three[\s\S]*user: four/);
      expect(model.asked()[1]).not.toMatch(/user: one/);
      expect(everything(ctx)).toEqual(
        ['one', 'two', 'three', 'four', 'five'].flatMap((text) => [text, `answer to ${text}`]),
      );
    },
  );

  verifies('R-65').test(
    'keeps summary and requests within a quarter of the threshold, whatever the model writes',
    async () => {
      const model = speaker(() => words(20_000));
      await using world = await openWorld({ ports: model.ports });
      const ctx = await inSession(world);
      for (let n = 0; n < 60; n++) await say(ctx, `request ${n}: ${words(40)}`);
      await ctx.compressSession();
      const recap = prompt(ctx)[1] ?? expect.unreachable();
      const text = textOf(recap);
      expect(tokens.count(text)).toBeLessThanOrEqual(1000);
      // The youngest are whole, the oldest shortened, none is gone.
      expect(text).toContain(`59. request 58: ${words(40)}`.slice(0, 160));
      expect(Array.from({ length: 59 }, (_, n) => text.includes(`${n + 1}. request ${n}`)).every(Boolean)).toBe(true);
    },
  );

  verifies('R-65').test(
    'is compressed at most 8 times in 200 turns of 100 tokens under a system prompt of 5,000',
    async () => {
      const model = speaker(() => 'In short.');
      const exact = await loadTokenCounter();
      await using world = await openWorld({ ports: model.ports, init: { tokens: exact } });
      const long = words(2500);
      expect(exact.count(long)).toBeGreaterThan(5000);
      const ctx = await inSession(world, long);
      for (let n = 0; n < 200; n++) {
        await say(ctx, `question ${n}`, words(45));
        if (ctx.maybeCompressSession()) await ctx.compressSession();
      }
      expect(model.requests.length).toBeGreaterThan(2);
      expect(model.requests.length).toBeLessThanOrEqual(8);
      expect(everything(ctx)).toHaveLength(400);
    },
  );

  verifies('R-65').test('tells of open todos, running children and open questions', async () => {
    const model = speaker(() => 'In short.');
    await using world = await openWorld({
      files: { 'agents/boss/config.yaml': 'auto_continue: true\ninstructions: Lead.\n' },
      ports: (ports) => ({
        ...model.ports(ports),
        team: async (request) => {
          const team = await ports.team?.(request);
          if (!team) throw new Error('no team');
          return {
            ...team,
            supervisor: { ...team.supervisor, running: () => [{ id: 'job-7', agent: 'coder', task: 'write tests' }] },
            escalationQueue: { ...team.escalationQueue, open: () => [{ id: 'q-1', question: 'Which port?' }] },
          };
        },
      }),
    });
    const ctx = world.context();
    await ctx.useAgent({ name: 'boss', session: 'inner' });
    ctx.agentRuntime?.todoList?.init('ship it');
    ctx.agentRuntime?.todoList?.add('build');
    for (const question of ['one', 'two']) await say(ctx, question);
    await ctx.compressSession();
    const recap = textOf(prompt(ctx)[1] ?? expect.unreachable());
    expect(recap).toContain('Goal: ship it\nProgress: 0/1 completed\n○ 1. build');
    expect(recap).toContain('- job-7 (coder): write tests');
    expect(recap).toContain('- q-1: Which port?');
    await ctx.exitAgent();
  });
});

describe('compression', () => {
  verifies('R-137', 'R-66').test('T17: in the background during turns loses nothing and doubles nothing', async () => {
    const gate = Promise.withResolvers<string>();
    const model = speaker(() => gate.promise);
    await using world = await openWorld({ files: { 'config.yaml': 'save_session: true\n' }, ports: model.ports });
    const ctx = await inSession(world);
    for (const question of ['one', 'two', 'three']) await say(ctx, question);
    const background = ctx.compressSession();
    expect([ctx.isCompressingSession(), ctx.maybeCompressSession(), await ctx.compressSession()]).toEqual([
      true,
      false,
      undefined,
    ]);
    for (const question of ['four', 'five']) await say(ctx, question);
    gate.resolve('The summary.');
    await background;
    await say(ctx, 'six');
    const all = ['one', 'two', 'three', 'four', 'five', 'six'].flatMap((text) => [text, `answer to ${text}`]);
    const stored = await world.app.sessions.openOrCreate('s');
    expect([everything(ctx), [...stored.state.compressed_messages, ...stored.messages].map(textOf)]).toEqual([
      all,
      all,
    ]);
    expect([ctx.session?.messages.length, ctx.session?.state.summary, stored.state.summary]).toEqual([
      8,
      'The summary.',
      'The summary.',
    ]);
    expect(ctx.isCompressingSession()).toBe(false);
  });

  verifies('R-137').test('T17: in two processes at once makes one summary stand, and keeps every message', async () => {
    const model = speaker(() => 'The summary.');
    await using world = await openWorld({ files: { 'config.yaml': 'save_session: true\n' }, ports: model.ports });
    const [one, two] = [world.context(), world.context()];
    await one.useSession('shared');
    for (const question of ['a', 'b', 'c']) await say(one, question);
    await two.useSession('shared');
    await Promise.all([one.compressSession(), two.compressSession()]);
    await say(one, 'd');
    await say(two, 'e');
    const stored = await world.app.sessions.openOrCreate('shared');
    const all = [...stored.state.compressed_messages, ...stored.messages].map(textOf).sort();
    expect(all).toEqual(['a', 'b', 'c', 'd', 'e'].flatMap((text) => [text, `answer to ${text}`]).sort());
    // What the one that stands does not speak of is still there in full.
    expect([stored.state.compressed_messages.length, stored.messages.length]).toEqual([4, 6]);
  });

  verifies('R-66').test('that fails, or takes longer than two minutes, leaves the session as it was', async () => {
    const clock = manualClock();
    const mode = { answer: 'fail' };
    const model = speaker(
      ({ signal }) =>
        new Promise((resolve, reject) => {
          if (mode.answer === 'fail') reject(new Error('provider down'));
          else if (mode.answer === 'empty') resolve('   ');
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    await using world = await openWorld({ clock, ports: model.ports });
    const ctx = await inSession(world);
    for (const question of ['one', 'two']) await say(ctx, question);
    const before = ctx.session?.state;
    await expect(ctx.compressSession()).rejects.toThrow('provider down');
    mode.answer = 'empty';
    await expect(ctx.compressSession()).rejects.toMatchObject({ code: 'provider_rejected' });
    mode.answer = 'hang';
    const hanging = ctx.compressSession().catch((error: Error) => error.message);
    await expect.poll(() => clock.sleeping(), { timeout: 20_000 }).toBe(1);
    await clock.advance(120_000);
    expect([await hanging, ctx.session?.state === before, ctx.isCompressingSession(), clock.sleeping()]).toEqual([
      'the summary took longer than two minutes',
      true,
      false,
      0,
    ]);
  });

  verifies('R-66').test(
    'is due between two steps at 80 % of the window, and pauses after two attempts that gain nothing',
    async () => {
      const model = speaker(() => 'In short.');
      await using world = await openWorld({ ports: model.ports });
      const ctx = await inSession(world);
      await say(ctx, 'small talk');
      await say(ctx, 'more small talk');
      const huge: Message[] = [
        userText('read the log'),
        { role: 'tool', content: [{ type: 'tool_result', id: '1', name: 'fs_cat', output: words(8000) }] },
      ];
      expect([
        tokensOf(huge, tokens) > 6400,
        ctx.needsCompressionMidTurn([userText('hi')]),
        ctx.needsCompressionMidTurn(huge),
      ]).toEqual([true, false, true]);

      ctx.beforeChatCompletion(userText('read the log'));
      const results: unknown[] = [];
      for (let step = 0; step < 10 && ctx.needsCompressionMidTurn(huge); step++) {
        results.push(await ctx.compressSession({ turn: { messages: huge } }));
        // Something is there to compress again, as after every turn of a sub-agent.
        ctx.session?.change({ kind: 'turn', messages: [userText('x'), answer('y')] });
      }
      expect(results).toEqual([
        { before: expect.any(Number), after: expect.any(Number) },
        { before: expect.any(Number), after: expect.any(Number), tooBig: expect.stringMatching(/\d+ tokens/) },
      ]);
      await ctx.update('compression_threshold 1');
      expect([model.requests.length, ctx.maybeCompressSession()]).toEqual([2, false]);
      ctx.session?.change({ kind: 'turn', messages: [userText('x'), answer('y')] });
      ctx.beforeChatCompletion(userText('next'));
      expect(ctx.maybeCompressSession()).toBe(true);
    },
  );

  verifies('R-66').test('of one turn above the threshold is called at most twice', async () => {
    const model = speaker(() => words(5000));
    await using world = await openWorld({ ports: model.ports });
    const ctx = await inSession(world);
    await say(ctx, words(9000), words(9000));
    for (let check = 0; check < 5; check++) if (ctx.maybeCompressSession()) await ctx.compressSession();
    await say(ctx, 'and now?');
    for (let check = 0; check < 5; check++) if (ctx.maybeCompressSession()) await ctx.compressSession();
    expect(model.requests.length).toBeLessThanOrEqual(2);
  });

  verifies('R-64').test('is asked for and not started: the caller gets a boolean', async () => {
    const model = speaker(() => 'In short.');
    await using world = await openWorld({
      files: { 'config.yaml': 'compression_threshold: 50\n' },
      ports: model.ports,
    });
    const ctx = await inSession(world);
    const due = [ctx.maybeCompressSession()];
    await say(ctx, words(200));
    due.push(ctx.maybeCompressSession());
    await say(ctx, 'short');
    due.push(ctx.maybeCompressSession());
    await ctx.update('compression_threshold 0');
    due.push(ctx.maybeCompressSession());
    expect([due, model.requests.length]).toEqual([[false, false, true, false], 0]);
  });
});

describe('a title', () => {
  const titled = async (
    reply: string,
    config = 'save_session: true\n',
  ): Promise<{ name: string; due: boolean[]; model: Speaker; names: string[] }> => {
    const model = speaker(() => reply);
    const clock = manualClock(new Date('2026-02-03T04:05:06.789Z'));
    await using world = await openWorld({ files: { 'config.yaml': config }, ports: model.ports, clock });
    const ctx = world.context();
    await ctx.useSession();
    const due = [ctx.maybeAutonameSession()];
    await say(ctx, 'How do I rotate keys?');
    due.push(ctx.maybeAutonameSession());
    if (due[1]) await ctx.autonameSession();
    due.push(ctx.maybeAutonameSession());
    await ctx.exitSession();
    return { name: ctx.session?.name ?? '', due, model, names: await sessionStore(ctx).autonames() };
  };

  verifies('R-64', 'R-63').test('is made once for a temporary session that will be saved, and names it', async () => {
    const { due, model, names } = await titled('Rotating API keys, safely!\n');
    expect({ due, names }).toEqual({
      due: [false, true, false],
      names: ['20260203T040506-rotating-api-keys-safely'],
    });
    expect(model.asked()[0]).toContain('How do I rotate keys?');
  });

  verifies('R-64').test('is not made for a session nobody saves', async () => {
    expect(await titled('x', '')).toMatchObject({ due: [false, false, false], names: [] });
  });

  verifies('R-63').test('of nothing but signs is left out', async () => {
    expect((await titled('!!!')).names).toEqual(['20260203T040506']);
  });
});

test('the list of requests shortens the oldest first and counts what has no room', () => {
  const messages = Array.from({ length: 5 }, (_, n) => userText(`${n} ${'x'.repeat(300)}`));
  const list = (room: number) =>
    requestList(messages, (text) => text.length <= room)
      .split('\n')
      .map((line) => line.length);
  expect([list(9_999), list(600), list(100)]).toEqual([
    [163, 163, 163, 163, 163],
    [27, 27, 163, 163, 163],
    [20, 27, 27],
  ]);
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 400 }), { maxLength: 30 }),
      fc.integer({ min: 40, max: 4000 }),
      (texts, room) => {
        expect(requestList(texts.map(userText), (text) => text.length <= room).length).toBeLessThanOrEqual(room);
      },
    ),
  );
});

test('a question goes after the history, or alone without a session', async () => {
  await using world = await openWorld({ files: { 'roles/wrap.md': 'Translate: __INPUT__ !' } });
  const ctx = world.context();
  const input = [{ type: 'text' as const, text: 'hello' }];
  const plain = turnMessages(ctx, input);
  await ctx.useRole('wrap');
  const wrapped = turnMessages(ctx, input);
  await ctx.useSession('s');
  const first = turnMessages(ctx, input);
  await say(ctx, 'earlier');
  const later = turnMessages(ctx, input);
  expect([plain, wrapped, first, later].map((messages) => messages.map(textOf))).toEqual([
    ['hello'],
    ['Translate: hello !'],
    ['Translate: hello !'],
    ['earlier', 'answer to earlier', 'hello'],
  ]);
});
