import type { CreateElicitationRequest, RequestPermissionRequest } from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import { chunk, Talk, written } from '../../../test/support/agents/acp-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Answer, Effect } from '../adapter.ts';

const permission = (id: string | number, more: object = {}) => ({
  id,
  method: 'session/request_permission',
  params: {
    sessionId: 's',
    toolCall: { toolCallId: 't1', title: 'rm -rf x', kind: 'execute', rawInput: { command: 'rm -rf x' } },
    options: [
      { optionId: 'A', name: 'always', kind: 'allow_always' },
      { optionId: 'Y', name: 'yes', kind: 'allow_once' },
      { optionId: 'N', name: 'no', kind: 'reject_once' },
    ],
    ...more,
  } satisfies RequestPermissionRequest & object,
});
const allow: Answer = { kind: 'permission', decision: 'allow_always' };
const deny: Answer = { kind: 'permission', decision: 'deny', reason: 'no' };

const form = (properties: object, more: object = {}) => ({
  id: 'q',
  method: 'elicitation/create',
  params: {
    mode: 'form',
    sessionId: 's',
    message: 'Which database?',
    requestedSchema: { type: 'object', properties: properties as Record<string, { type: string }> },
    ...more,
  } satisfies CreateElicitationRequest & object,
});

describe('a permission', () => {
  verifies('A-110', 'A-41').test('shows its tool first, and ids 0 and "0" are two', () => {
    const talk = Talk.working();
    const input = { command: 'rm -rf x' };
    const call = { id: 't1', name: 'execute', tool: 'shell', title: 'rm -rf x', input };
    const asked = { kind: 'permission', question: 'Allow shell: rm -rf x?', tool: 'execute', input };
    expect([talk.hear(permission(0)).slice(2), talk.hear(permission('0'))]).toEqual([
      [
        { do: 'answer' },
        expect.objectContaining({ do: 'usage' }),
        { do: 'emit', event: { type: 'tool_call', payload: call } },
        { do: 'ask', requestId: '0', questions: [asked] },
      ],
      [{ do: 'ask', requestId: '"0"', questions: [asked] }],
    ]);
    const reply = (id: string | number, optionId: string) => [
      { jsonrpc: '2.0', id, result: { outcome: { outcome: 'selected', optionId } } },
    ];
    expect([talk.answer(0, allow), talk.answer('0', deny)]).toEqual([reply(0, 'Y'), reply('0', 'N')]);
  });

  verifies('A-110').test('without an option of that kind is answered cancelled', () => {
    const talk = Talk.working();
    talk.hear(permission(0, { options: [{ optionId: 'A', name: 'always', kind: 'allow_always' }] }));
    expect(talk.answer(0, allow)).toEqual([{ jsonrpc: '2.0', id: 0, result: { outcome: { outcome: 'cancelled' } } }]);
  });

  verifies('A-44').test('is answered when its own tool goes on, a refused one when the model does', () => {
    const talk = Talk.working();
    talk.hear(permission(0));
    talk.hear(permission(1, { toolCall: { toolCallId: 't2', title: 'other' } }));
    talk.answer(0, allow);
    talk.answer(1, deny);
    const acks = (effects: Effect[]) => effects.filter((effect) => effect.do === 'ack');
    expect([
      acks(talk.update(chunk)),
      acks(talk.update({ sessionUpdate: 'tool_call_update', toolCallId: 't1', status: 'in_progress' })),
    ]).toEqual([[{ do: 'ack', requestId: '1' }], [{ do: 'ack', requestId: '0' }]]);
  });

  verifies('A-43').test('that the agent takes back is withdrawn, and a late answer refused', () => {
    const talk = Talk.working();
    talk.hear(permission(0));
    expect([talk.hear({ method: '$/cancel_request', params: { requestId: 0 } }), talk.answer(0, allow)]).toEqual([
      [
        { do: 'write', line: '{"jsonrpc":"2.0","id":0,"error":{"code":-32800,"message":"Request cancelled"}}' },
        { do: 'withdraw', requestId: '0', by: 'agent' },
      ],
      [{ refuse: 'question_withdrawn', message: 'the agent no longer waits for this answer' }],
    ]);
  });

  verifies('A-43').test('that is open at the end of the turn is withdrawn', () => {
    const talk = Talk.working();
    talk.hear(permission(0));
    expect(talk.hear({ id: 3, result: { stopReason: 'end_turn' } })).toContainEqual({
      do: 'withdraw',
      requestId: '0',
      by: 'turn',
    });
  });

  test('that cannot be read is refused at once', () => {
    const talk = Talk.working();
    expect(written(talk.hear({ id: 0, method: 'session/request_permission', params: {} }))).toEqual([
      { jsonrpc: '2.0', id: 0, error: { code: -32602, message: 'a permission needs a toolCall and options' } },
    ]);
  });

  test('answered with words is refused', () => {
    const talk = Talk.working();
    talk.hear(permission(0));
    expect(talk.answer(0, { kind: 'text', text: 'yes' })).toEqual([
      { refuse: 'bad_option', message: 'this question takes a decision' },
    ]);
  });
});

describe('an interrupt', () => {
  verifies('A-110').test('cancels the turn and answers what is open, also what is asked later', () => {
    const talk = Talk.working();
    talk.hear(permission(0));
    talk.hear(form({}));
    const cancel = { jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's' } };
    const cancelled = { outcome: { outcome: 'cancelled' } };
    expect([talk.interrupt(), talk.interrupt('again')]).toEqual([
      [cancel, { jsonrpc: '2.0', id: 0, result: cancelled }, { jsonrpc: '2.0', id: 'q', result: { action: 'cancel' } }],
      [cancel],
    ]);
    expect([written(talk.hear(permission(1))), written(talk.hear({ ...form({}), id: 2 }))]).toEqual([
      [{ jsonrpc: '2.0', id: 1, result: cancelled }],
      [{ jsonrpc: '2.0', id: 2, result: { action: 'cancel' } }],
    ]);
    expect(talk.hear({ id: 3, result: { stopReason: 'cancelled' } })).toEqual([
      { do: 'ack', messageId: 'stop' },
      { do: 'ack', messageId: 'again' },
      { do: 'withdraw', requestId: '0', by: 'interrupt' },
      { do: 'withdraw', requestId: '"q"', by: 'interrupt' },
      { do: 'usage', report: { partial: true } },
      { do: 'turn', is: 'over', outcome: 'interrupted', result: '', stopReason: 'cancelled' },
    ]);
  });

  test('that the agent takes for an error is still an interrupt', () => {
    const talk = Talk.working();
    talk.interrupt();
    expect(talk.hear({ id: 3, error: { code: -32603, message: 'AbortError' } }).at(-1)).toEqual({
      do: 'turn',
      is: 'over',
      outcome: 'interrupted',
      result: '',
      stopReason: 'cancelled',
    });
  });

  test('without a turn has nothing to do', () => {
    const talk = Talk.ready();
    expect(talk.send({ kind: 'interrupt', messageId: 'x' })).toEqual({ state: talk.state, lines: [], delivered: true });
  });
});

describe('a form', () => {
  const database = {
    type: 'string',
    title: 'Database',
    oneOf: [
      { const: 'pg', title: 'PostgreSQL', description: 'a server' },
      { const: 'sqlite', title: 'SQLite' },
    ],
  };
  const ask = (properties: object, more: object = {}) => {
    const talk = Talk.working();
    return { talk, asked: talk.hear(form(properties, more)).find((effect) => effect.do === 'ask')?.questions };
  };
  const accepted = (content: object) => [{ jsonrpc: '2.0', id: 'q', result: { action: 'accept', content } }];
  const chosen = (ids: string[], text?: string): Answer => ({
    kind: 'choice',
    labels: [],
    ids,
    ...(text ? { text } : {}),
  });

  verifies('A-111').test('with one choice is that question, its free text beside it', () => {
    const properties = { db: database, db_custom: { type: 'string', title: 'Other' } };
    const choices = [
      { id: 'pg', label: 'PostgreSQL', description: 'a server' },
      { id: 'sqlite', label: 'SQLite' },
    ];
    expect(ask(properties).asked).toEqual([
      {
        kind: 'choice',
        question: 'Which database?',
        header: 'Database',
        field: { name: 'db', type: 'string', required: false },
        choices,
        multi: false,
        freeText: true,
      },
    ]);
    expect([
      ask(properties).talk.answer('q', chosen(['sqlite'])),
      ask(properties).talk.answer('q', chosen([], 'DuckDB')),
    ]).toEqual([accepted({ db: 'sqlite' }), accepted({ db_custom: 'DuckDB' })]);
  });

  verifies('A-111').test('asks a question for each property and answers with all of them', () => {
    const { talk, asked } = ask({
      db: { ...database, description: 'Where to?' },
      parts: { type: 'array', items: { enum: ['a', 'b'] } },
      sure: { type: 'boolean', title: 'Sure' },
      count: { type: 'integer', title: 'How many' },
      name: { type: 'string' },
    });
    expect(asked?.map(({ kind, question, multi, freeText }) => [kind, question, multi, freeText])).toEqual([
      ['choice', 'Which database?\nWhere to?', false, false],
      ['choice', 'Which database?\nparts', true, false],
      ['choice', 'Which database?\nSure', false, false],
      ['text', 'Which database?\nHow many', undefined, true],
      ['text', 'Which database?\nname', undefined, true],
    ]);
    const [db, parts, sure] = [chosen(['pg']), chosen(['a', 'b']), chosen(['true'])];
    const text = (value: string): Answer => ({ kind: 'text', text: value });
    expect([
      talk.answer('q', db, parts, sure, text('a few'), text('x')),
      talk.answer('q', db, parts, sure, text('3'), text('x')),
    ]).toEqual([
      [{ refuse: 'bad_option', message: 'count: "a few" is not a whole number' }],
      accepted({ db: 'pg', parts: ['a', 'b'], sure: true, count: 3, name: 'x' }),
    ]);
  });

  test('without properties is accepted or declined', () => {
    const reply = (action: string) => [{ jsonrpc: '2.0', id: 'q', result: { action } }];
    expect([ask({}).talk.answer('q', chosen(['accept'])), ask({}).talk.answer('q', chosen(['decline']))]).toEqual([
      reply('accept'),
      reply('decline'),
    ]);
  });

  verifies('A-111').test('that is an address is shown', () => {
    const { talk, asked } = ask({}, { mode: 'url', url: 'https://example.org/log-in', elicitationId: 'e' });
    expect(asked).toEqual([{ kind: 'text', question: 'Which database?\nhttps://example.org/log-in', freeText: true }]);
    expect(talk.answer('q', { kind: 'text', text: 'done' })).toEqual([
      { jsonrpc: '2.0', id: 'q', result: { action: 'accept' } },
    ]);
  });

  test('of another kind is refused', () => {
    expect(written(Talk.working().hear(form({}, { mode: 'voice' })))).toEqual([
      { jsonrpc: '2.0', id: 'q', error: { code: -32602, message: 'only forms and addresses can be asked' } },
    ]);
  });
});

describe('what Reef does not offer', () => {
  verifies('A-111', 'A-55').test('is refused at once, and the turn goes on', () => {
    const talk = Talk.working();
    const refused = (id: number, method: string) => ({
      do: 'write',
      line: `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Reef does not offer ${method}"}}`,
    });
    const payload = { kind: 'warning', message: 'the agent asked for terminal/create, which was not offered' };
    expect([talk.hear({ id: 0, method: 'terminal/create' }), talk.hear({ id: 1, method: 'no/such' })]).toEqual([
      [refused(0, 'terminal/create'), { do: 'emit', event: { type: 'progress', payload } }],
      [refused(1, 'no/such'), { do: 'unknown', name: 'no/such' }],
    ]);
  });

  verifies('A-55').test('is counted when it is only told, unless it is an extension', () => {
    const talk = Talk.working();
    expect([
      talk.update({ sessionUpdate: 'hologram' }),
      talk.hear({ method: 'mood/changed' }),
      talk.hear({ method: '_vendor/mood' }),
      talk.hear({ id: 99, result: {} }),
    ]).toEqual([
      [{ do: 'unknown', name: 'session/update hologram' }],
      [{ do: 'unknown', name: 'mood/changed' }],
      [],
      [{ do: 'unknown', name: 'response' }],
    ]);
  });

  verifies('A-54').test('and cannot be read is an error of the line', () => {
    const talk = Talk.working();
    const bad = (message: string) => [
      {
        do: 'emit',
        event: { type: 'error', payload: { code: 'bad_line', scope: 'line', fatal: false, retryable: false, message } },
      },
    ];
    expect([talk.hear({}), talk.hear({ method: 'session/update' })]).toEqual([
      bad('not a message of JSON-RPC'),
      bad('session/update without an update'),
    ]);
  });
});
