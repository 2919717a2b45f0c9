import { describe, expect, test } from 'vitest';
import { openDesk } from '../../../test/support/runtime/app.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { textOf } from '../../runtime/models/message.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';

const STORY = `
- when: { last_user: "^Go on exactly" }
  reply: { text: " and lived." }
  times: always
- when: { last_user: "^story" }
  reply: { text: "Once there was a reef" }
- when: { last_user: "^story" }
  reply: { text: "Another reef" }
- when: { last_user: "^story" }
  error: { status: 400, message: no more stories }
- reply: { text: "Yes." }
  times: always
`;

const historyOf = ({ session }: RequestContext) => session?.messages.map((each) => [each.role, textOf(each)]);

describe('the last answer', () => {
  verifies('R-110').test('goes on as one answer, in a session and without one', async () => {
    await using desk = await openDesk({ script: STORY });
    await desk.type('story');
    expect([await desk.type('.continue'), desk.ctx.lastMessage?.output]).toEqual([
      [' and lived.'],
      'Once there was a reef and lived.',
    ]);
    await desk.type('.session');
    await desk.type('story');
    await desk.type('.continue');
    expect(historyOf(desk.ctx)).toEqual([
      ['user', 'story'],
      ['assistant', 'Another reef and lived.'],
    ]);
  });

  verifies('R-110').test('is replaced by a new one, and stays when none comes', async () => {
    await using desk = await openDesk({ script: STORY });
    await desk.type('.session');
    await desk.type('before');
    await desk.type('story');
    expect(await desk.type('.regenerate')).toEqual(['Another reef']);
    await expect(desk.type('.regenerate')).rejects.toMatchObject({ code: 'provider_rejected' });
    expect([historyOf(desk.ctx), desk.ctx.lastMessage?.output]).toEqual([
      [
        ['user', 'before'],
        ['assistant', 'Yes.'],
        ['user', 'story'],
        ['assistant', 'Another reef'],
      ],
      'Another reef',
    ]);
  });

  test('is asked for before there is one', async () => {
    await using desk = await openDesk({ script: STORY });
    for (const line of ['.continue', '.regenerate', '.copy']) {
      await expect(desk.type(line)).rejects.toMatchObject({ code: 'invalid_state' });
    }
  });
});

const AGENT = { 'agents/one/config.yaml': 'name: one\ninstructions: Work.\n' };

describe('a condition', () => {
  const refusals: [before: string[], line: string, first: string][] = [
    [['.agent one'], '.edit config', '.exit agent'],
    [['.agent one'], '.prompt x', '.exit agent'],
    [['.agent one'], '.role code', '.exit agent'],
    [['.agent one'], '.rag x', '.exit agent'],
    [['.agent one'], '.agent one', '.exit agent'],
    [['.session', 'hi'], '.prompt x', '.exit session'],
    [['.session', 'hi'], '.role code', '.exit session'],
    [['.role code', '.session', 'hi'], '.exit role', '.exit session'],
    [['.role code', '.session', 'hi'], '.edit role', '.exit session'],
    [['.role code', '.session'], '.save role x', '.exit session'],
    [['.session'], '.session', '.exit session'],
    [['.session'], '.empty session', 'ask something'],
    [['.session'], '.compress session', 'ask something'],
    [['.session'], '.undo', 'ask something'],
    ...['.info role', '.edit role', '.exit role', '.save role x'].map((line): [string[], string, string] => [
      [],
      line,
      '.role NAME',
    ]),
    ...['.empty', '.compress', '.info', '.edit', '.save', '.exit', '.fork'].map((word): [string[], string, string] => [
      [],
      `${word} session`,
      '.session [NAME]',
    ]),
    ...['.starter', '.edit agent-config', '.info agent', '.exit agent', '.clear todo'].map(
      (line): [string[], string, string] => [[], line, '.agent NAME'],
    ),
    ...['.edit rag-docs', '.exit rag', '.rebuild rag', '.sources rag', '.info rag'].map(
      (line): [string[], string, string] => [[], line, '.rag NAME'],
    ),
  ];

  verifies('D15', 'R-110').test(
    'that does not hold is invalid_state when the command is run, and says what to run first',
    async () => {
      for (const [before, line, first] of refusals) {
        await using desk = await openDesk({ script: STORY, files: AGENT });
        for (const each of before) await desk.type(each);
        const refusal = await desk.type(line).then(
          () => `${line} was run after ${before.join(' ')}`,
          (error) => [error.code, error.message.includes(first)],
        );
        expect([line, refusal]).toEqual([line, ['invalid_state', true]]);
      }
    },
  );
});

describe('a line', () => {
  verifies('R-110').test('of `.role NAME text` is one turn outside session and agent', async () => {
    const files = { ...AGENT, 'roles/loud.md': 'SHOUT' };
    await using desk = await openDesk({ script: STORY, files });
    await desk.type('.session s');
    await desk.type('one');
    await desk.type('.role loud two');
    await desk.type('.exit session');
    await desk.type('.agent one inner');
    await desk.type('.role loud three');
    expect([historyOf(desk.ctx), desk.ctx.agent?.name, desk.ctx.role]).toEqual([[], 'one', undefined]);
  });

  verifies('R-70', 'R-53').test('of a macro is run as if typed, told within its own run', async () => {
    const files = {
      'macros/two.yaml': 'steps: [".role code", "hi", ".macro one"]\n',
      'macros/one.yaml': 'steps: [ho]\n',
    };
    await using desk = await openDesk({ script: STORY, files });
    expect(await desk.type('.macro two')).toEqual(['>> .role code', '>> hi', 'Yes.', '>> .macro one', '>> ho', 'Yes.']);
    expect(desk.ctx.role).toBeUndefined();
  });

  test('with an unknown command names those that begin like it', async () => {
    await using desk = await openDesk({ script: STORY });
    await expect(desk.type('.info everything')).rejects.toThrow(/\.info, \.info role, \.info session/);
    await expect(desk.type('.rebuild')).rejects.toThrow(/there is no command \.rebuild\..*\.rebuild rag/);
  });
});
