import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { openWorld } from '../../../test/support/runtime/state.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { textOf, userText } from '../models/message.ts';
import { sessionInfo } from './info.ts';
import type { RequestContext } from './request-context.ts';
import { sessionStore } from './session-life.ts';
import { systemPrompt } from './turns.ts';

const FILES = { 'roles/coder.md': 'You code.', 'roles/other.md': 'Other.' };

async function say(ctx: RequestContext, text: string): Promise<void> {
  ctx.beforeChatCompletion(userText(text));
  const answer = { role: 'assistant' as const, content: [{ type: 'text' as const, text: `re ${text}` }] };
  await ctx.afterChatCompletion({ messages: [userText(text), answer], output: `re ${text}` });
}

const person = (answer: boolean, asked: string[] = []) => ({
  confirm: async (question: string, preset: boolean) => {
    asked.push(`${question} ${preset}`);
    return answer;
  },
  input: async () => '',
  choose: async () => [],
});

describe('leaving a session', () => {
  const cases: [
    what: string,
    config: string,
    mode: 'cmd' | 'repl',
    answer: boolean | undefined,
    saved: boolean,
    asked: number,
  ][] = [
    ['saves it when that is wished for', 'save_session: true', 'cmd', undefined, true, 0],
    ['does not when it is not', 'save_session: false', 'repl', true, false, 0],
    ['asks in a chat, and saves on yes', '', 'repl', true, true, 1],
    ['asks in a chat, and does not on no', '', 'repl', false, false, 1],
    ['does neither in a single question', '', 'cmd', true, false, 0],
    ['does not where nobody can be asked', '', 'repl', undefined, false, 0],
  ];
  for (const [what, config, workingMode, answer, saved, times] of cases) {
    verifies('R-63').test(what, async () => {
      await using world = await openWorld({ files: { ...FILES, 'config.yaml': `${config}\n` } });
      const asked: string[] = [];
      const ctx = world.context({ workingMode, ...(answer !== undefined && { ui: person(answer, asked) }) });
      await ctx.useSession('s');
      await say(ctx, 'hello');
      await ctx.exitSession();
      expect([await sessionStore(ctx).names(), asked]).toEqual([
        saved ? ['s'] : [],
        Array(times).fill('Save the session? false'),
      ]);
    });
  }

  verifies('R-63').test('saves nothing that is not new, and not one that is empty', async () => {
    await using world = await openWorld({ files: { ...FILES, 'config.yaml': 'save_session: true\n' } });
    const ctx = world.context();
    await ctx.useSession('empty');
    await ctx.exitSession();
    await ctx.useSession('s');
    await say(ctx, 'hello');
    const rev = ctx.session?.state.rev;
    await ctx.exitSession();
    await ctx.useSession('s');
    expect([await sessionStore(ctx).names(), rev, ctx.session?.state.rev, ctx.session?.isDirty]).toEqual([
      ['s'],
      1,
      1,
      false,
    ]);
  });

  verifies('R-63').test('a flag of this time comes before the configuration', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context({ workingMode: 'cmd' });
    await ctx.useSession('s');
    ctx.setSaveSessionThisTime();
    await say(ctx, 'hello');
    await ctx.exitSession();
    expect(await sessionStore(ctx).names()).toEqual(['s']);
  });

  verifies('R-63').test('gives one without a name its time, and `temp` is nobody else’s name', async () => {
    const clock = manualClock(new Date('2026-01-02T03:04:05Z'));
    await using world = await openWorld({ files: { ...FILES, 'config.yaml': 'save_session: true\n' }, clock });
    for (const text of ['one', 'two']) {
      const ctx = world.context();
      await ctx.useSession(text === 'one' ? undefined : 'temp');
      await say(ctx, text);
      await expect(ctx.saveSession('temp')).rejects.toMatchObject({ code: 'name_invalid' });
      await ctx.exitSession();
    }
    const ctx = world.context();
    expect([await sessionStore(ctx).autonames(), await sessionStore(ctx).names()]).toEqual([
      ['20260102T030405', '20260102T030405-2'],
      [],
    ]);
    await ctx.useSession('_/20260102T030405-2');
    expect(ctx.session?.messages.map(textOf)).toEqual(['two', 're two']);
  });
});

describe('a session', () => {
  verifies('R-63').test('begins with the last exchange if one wants it to', async () => {
    await using world = await openWorld({ files: FILES });
    const asked: string[] = [];
    const ctx = world.context({ ui: person(true, asked) });
    await say(ctx, 'before');
    await ctx.useSession('s');
    expect([asked.length, ctx.session?.messages.map(textOf)]).toEqual([1, ['before', 're before']]);
    await ctx.exitSession();
    await ctx.useSession('t');
    expect(ctx.session?.isEmpty).toBe(true);
  });

  verifies('R-63').test('takes a role in while it is empty, keeps it, and brings it back', async () => {
    await using world = await openWorld({ files: { ...FILES, 'config.yaml': 'save_session: true\n' } });
    const ctx = world.context();
    await ctx.useSession('s');
    await ctx.useRole('coder');
    await say(ctx, 'hello');
    await expect(ctx.useRole('other')).rejects.toMatchObject({ code: 'invalid_state' });
    await expect(ctx.exitRole()).rejects.toMatchObject({ code: 'invalid_state' });
    await ctx.exitSession();
    const again = world.context();
    await again.useRole('other');
    await again.useSession('s');
    expect([ctx.role, again.session?.state.role_name, systemPrompt(again)]).toEqual([undefined, 'coder', 'You code.']);
    await again.exitSession();
    expect(systemPrompt(again)).toBe('Other.');
  });

  test('is emptied, undone, forked and shown', async () => {
    await using world = await openWorld({ files: { ...FILES, 'config.yaml': 'save_session: true\n' } });
    const ctx = world.context();
    await ctx.useSession('s');
    for (const text of ['one', 'two']) await say(ctx, text);
    ctx.undo();
    const undone = ctx.session?.messages.map(textOf);
    await ctx.forkSession();
    await say(ctx, 'in the fork');
    const shown = sessionInfo(ctx);
    await ctx.saveSession('fork');
    ctx.emptySession();
    expect({
      undone,
      name: ctx.session?.name,
      empty: ctx.session?.isEmpty,
      shown: /unsaved: (true|false)/.test(shown),
    }).toEqual({
      undone: ['one', 're one'],
      name: 'fork',
      empty: true,
      shown: true,
    });
    const read = async (name: string) => (await world.app.sessions.openOrCreate(name)).messages.map(textOf);
    expect([await read('s'), await read('fork')]).toEqual([
      ['one', 're one'],
      ['one', 're one', 'in the fork', 're in the fork'],
    ]);
  });

  test('that is saved as it goes survives the end of its process', async () => {
    await using world = await openWorld({ files: { ...FILES, 'config.yaml': 'save_session: true\n' } });
    const ctx = world.context();
    await ctx.useSession('s');
    await say(ctx, 'kept');
    expect((await world.app.sessions.openOrCreate('s')).messages.map(textOf)).toEqual(['kept', 're kept']);
  });
});

describe('without a session', () => {
  test('questions stand alone, and `save` keeps them in messages.md under role and RAG', async () => {
    const clock = manualClock(new Date('2026-01-02T03:04:05Z'));
    await using world = await openWorld({
      files: { ...FILES, 'config.yaml': 'save: true\n', 'rags/docs.yaml': 'document_paths: []\n' },
      clock,
    });
    const ctx = world.context();
    await say(ctx, 'first\nquestion');
    await ctx.useRole('coder');
    await ctx.useRag('docs');
    await say(ctx, 'second');
    await ctx.useSession('s');
    await say(ctx, 'in a session');
    const dry = world.context({ overrides: { dry_run: true } });
    await say(dry, 'dry');
    expect(readFileSync(ctx.app.paths.messagesFile(), 'utf8')).toBe(
      '# CHAT: first question [2026-01-02T03:04:05.000Z]\nfirst\nquestion\n--------\nre first\nquestion\n--------\n\n' +
        '# CHAT: second [2026-01-02T03:04:05.000Z] (coder#docs)\nsecond\n--------\nre second\n--------\n\n',
    );
  });
});

async function asMacro(ctx: RequestContext): Promise<void> {
  ctx.macroDepth = 1;
}

describe('a prelude', () => {
  const apply = async (
    prelude: string,
    more: { mode?: 'repl' | 'cmd' | 'api'; start?: (ctx: RequestContext) => Promise<void> } = {},
  ) => {
    await using world = await openWorld({
      files: {
        ...FILES,
        'config.yaml': `save_session: true\nrepl_prelude: ${JSON.stringify(prelude)}\ncmd_prelude: role:other\n`,
      },
    });
    const earlier = world.context();
    await earlier.useSession('begun');
    await say(earlier, 'x');
    const ctx = world.context({ workingMode: more.mode ?? 'repl' });
    await more.start?.(ctx);
    const applied = await ctx.applyPrelude().catch((error: { code: string }) => error.code);
    const twice = await ctx.applyPrelude();
    return [applied, twice, ctx.role?.name, ctx.session?.name, ctx.session?.role?.name];
  };

  verifies('R-24').test('is a role, a session, or a session with a role for when it is empty; once', async () => {
    expect([
      await apply('role:coder'),
      await apply('session:s'),
      await apply('s:coder'),
      await apply('begun:coder'),
    ]).toEqual([
      [true, false, 'coder', undefined, undefined],
      [true, false, undefined, 's', undefined],
      [true, false, undefined, 's', 'coder'],
      [true, false, undefined, 'begun', undefined],
    ]);
  });

  verifies('R-24').test('depends on the mode, and is for an empty context that is no macro', async () => {
    expect([
      await apply('role:coder', { mode: 'cmd' }),
      await apply('role:coder', { mode: 'api' }),
      await apply('role:coder', { start: (ctx) => ctx.useRole('other') }),
      await apply('role:coder', { start: asMacro }),
    ]).toEqual([
      [true, false, 'other', undefined, undefined],
      [false, false, undefined, undefined, undefined],
      [false, false, 'other', undefined, undefined],
      [false, false, undefined, undefined, undefined],
    ]);
  });

  for (const [prelude, code] of [
    ['coder', 'prelude_invalid'],
    ['a:b:c', 'prelude_invalid'],
    [':', 'prelude_invalid'],
    ['role:nobody', 'role_not_found'],
    ['s:nobody', 'role_not_found'],
  ] as const) {
    verifies('R-24').test(`${prelude} is ${code} and leaves the context as it was`, async () => {
      expect(await apply(prelude)).toEqual([code, false, undefined, undefined, undefined]);
    });
  }
});
