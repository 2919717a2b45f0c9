import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openWorld } from '../../../test/support/runtime/state.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { userText } from '../models/message.ts';
import { info, ragInfo, roleInfo } from './info.ts';
import { generatePromptContext, renderPrompt, renderPromptLeft, renderPromptRight } from './prompt-template.ts';
import { replComplete } from './repl-complete.ts';

describe('a prompt', () => {
  const T = '{?role {role}}{?session /{session}}{!session >}';
  const cases: [
    template: string,
    variables: Record<string, string | number | boolean | undefined>,
    expected: string,
  ][] = [
    [T, {}, '>'],
    [T, { role: 'coder' }, 'coder>'],
    [T, { session: 'temp' }, '/temp'],
    [T, { role: 'coder', session: 'temp' }, 'coder/temp'],
    ['{a}', {}, ''],
    ['{?a yes}{!a no}', { a: '' }, 'no'],
    ['{?a yes}{!a no}', { a: 0 }, 'no'],
    ['{?a yes}{!a no}', { a: false }, 'no'],
    ['{?a yes}{!a no}', { a: '0' }, 'no'],
    ['{?a yes}{!a no}', { a: 'false' }, 'no'],
    ['{?a yes}{!a no}', { a: 'x' }, 'yes'],
    ['{?a [{?b {b}}{!b none}]}', { a: 1, b: 2 }, '[2]'],
    ['{?a [{?b {b}}{!b none}]}', { a: 1 }, '[none]'],
    ['open { brace', { a: 1 }, 'open { brace'],
    ['{?a open', { a: 1 }, '{?a open'],
    ['close } brace', {}, 'close } brace'],
    ['{?a}', { a: 1 }, ''],
    ['{ {a}', { a: 1 }, '{ 1'],
  ];
  for (const [template, variables, expected] of cases) {
    verifies('R-113').test(`${template} with ${JSON.stringify(variables)} is ${JSON.stringify(expected)}`, () => {
      expect(renderPrompt(template, variables)).toBe(expected);
    });
  }

  verifies('R-113').test('never fails and keeps text without braces', () => {
    fc.assert(fc.property(fc.string(), (text) => typeof renderPrompt(text, { a: 'x' }) === 'string'));
    fc.assert(
      fc.property(
        fc.string().filter((text) => !/[{}]/.test(text)),
        (text) => renderPrompt(text, {}) === text,
      ),
    );
  });

  verifies('R-113').test('knows every variable, and 19 colours', async () => {
    await using world = await openWorld({ files: { 'roles/r.md': 'R.', 'rags/docs.yaml': 'document_paths: []\n' } });
    const ctx = world.context();
    await ctx.useRole('r');
    await ctx.useRag('docs');
    await ctx.useSession('s');
    await ctx.update('temperature 0.5');
    ctx.session?.change({ kind: 'turn', messages: [userText('hi '.repeat(400))] });
    const variables = generatePromptContext(ctx);
    const colors = Object.keys(variables).filter((name) => name.startsWith('color.'));
    const rest = Object.fromEntries(Object.entries(variables).filter(([name]) => !name.startsWith('color.')));
    expect({ colors: colors.length, rest }).toEqual({
      colors: 19,
      rest: {
        model: 'fake:one',
        client_name: 'fake',
        model_name: 'one',
        max_input_tokens: 8000,
        temperature: 0.5,
        top_p: null,
        dry_run: false,
        stream: true,
        save: false,
        wrap: null,
        role: 'r',
        session: 's',
        session_autoname: undefined,
        dirty: true,
        consume_tokens: expect.any(Number),
        consume_percent: 5,
        user_messages_len: 1,
        rag: 'docs',
        agent: undefined,
      },
    });
    expect([renderPromptLeft(ctx, false), renderPromptRight(ctx, false)]).toEqual([
      'r/s@docs> ',
      expect.stringMatching(/^\d+\(5%\)$/),
    ]);
    ctx.app = ctx.app.withConfig({ left_prompt: '{color.red}{model}' });
    expect(renderPromptLeft(ctx)).toBe('\u001b[31mfake:one');
  });
});

describe('completion', () => {
  test('offers what a command can take, from what there is', async () => {
    await using world = await openWorld({
      files: {
        'roles/mine.md': 'M.',
        'macros/m.yaml': 'steps: [x]',
        'rags/docs.yaml': 'document_paths: []\n',
        'agents/a/config.yaml': 'conversation_starters: [Hello]\n',
        'config.yaml': 'save_session: true\nmapping_tools: { fs: "fs_cat,fs_ls" }\n',
      },
    });
    const ctx = world.context();
    await ctx.useSession('mine');
    await ctx.afterChatCompletion({ messages: [userText('x')], output: 'x' });
    const values = async (command: string, ...args: string[]) =>
      (await replComplete(ctx, { command, args })).map(([value]) => value);
    expect({
      role: await values('.role', 'mi'),
      model: await values('.model', 'fktw'),
      session: await values('.session', ''),
      rag: await values('.rag', ''),
      agent: (await values('.agent', '')).includes('a'),
      macro: await values('.macro', ''),
      set: (await values('.set', '')).length,
      tools: await values('.set', 'enabled_tools', ''),
      more: await values('.set', 'enabled_tools', 'fs_cat,'),
      servers: await values('.set', 'enabled_mcp_servers', 'gi'),
      stream: await values('.set', 'stream', ''),
      reranker: await values('.set', 'rag_reranker_model', ''),
      top_k: await values('.set', 'rag_top_k', ''),
      delete: [
        await values('.delete', 'ro'),
        await values('.delete', 'role', ''),
        await values('.delete', 'macro', ''),
      ],
      vault: [await values('.vault', 'ad'), await values('.vault', 'get', '')],
      nothing: [await values('.help', ''), await values('.set', 'nonsense', '')],
    }).toEqual({
      role: ['mine'],
      model: ['fake:two'],
      session: ['mine'],
      rag: ['docs'],
      agent: true,
      macro: ['m'],
      set: 15,
      tools: ['fs_cat', 'fs_ls', 'fs', 'all', 'null'],
      more: ['fs_cat,fs_ls', 'fs_cat,fs', 'fs_cat,all'],
      servers: ['github'],
      stream: ['true', 'false'],
      reranker: ['fake:rerank', 'null'],
      top_k: ['5'],
      delete: [['role', 'macro'], ['mine'], ['m']],
      vault: [['add'], []],
      nothing: [[], []],
    });
  });
});

test('what is active is shown from the top, and what is not says how to get there', async () => {
  await using world = await openWorld({
    files: { 'roles/r.md': '---\ntop_p: 0.1\n---\nR.', 'rags/docs.yaml': 'document_paths: []\n' },
  });
  const ctx = world.context();
  expect(info(ctx)).toMatch(/^model +fake:one$/m);
  expect(() => roleInfo(ctx)).toThrow(expect.objectContaining({ code: 'invalid_state' }));
  expect(() => ragInfo(ctx)).toThrow(expect.objectContaining({ code: 'invalid_state' }));
  await ctx.useRole('r');
  expect(info(ctx)).toBe('---\nmodel: fake:one\ntop_p: 0.1\n---\n\nR.\n');
  await ctx.useRag('docs');
  expect(ragInfo(ctx)).toContain('kind: named');
});
