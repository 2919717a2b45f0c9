import { expect, test } from 'vitest';
import type { Json } from '../adapter.ts';
import { elicitedQuestions, elicitedReply } from './elicitation.ts';
import { requests } from './schema.ts';

const asked = (more: Record<string, Json>) =>
  requests['mcpServer/elicitation/request'].parse({ serverName: 'shop', message: 'Please', ...more });

test('an address is shown, never opened, and any answer says that one has been there', () => {
  const params = asked({ mode: 'url', url: 'https://example.org/login', elicitationId: 'e' });
  expect([elicitedQuestions(params), elicitedReply(params, [{ kind: 'text', text: 'done' }])]).toEqual([
    [{ kind: 'text', question: 'Please\nhttps://example.org/login', freeText: true }],
    { action: 'accept', content: null, _meta: null },
  ]);
});

test('titled choices are offered by title and answered by value', () => {
  const properties = {
    size: { type: 'string', oneOf: [{ const: 's', title: 'Small' }] },
    extras: { type: 'array', items: { anyOf: [{ const: 'm', title: 'Milk' }] } },
  };
  const params = asked({ mode: 'form', requestedSchema: { type: 'object', properties } });
  const answers = [
    { kind: 'choice', labels: ['Small'], ids: ['s'] } as const,
    { kind: 'choice', labels: [], ids: [] } as const,
  ].map((answer) => ({ ...answer, labels: [...answer.labels], ids: [...answer.ids] }));
  expect([
    elicitedQuestions(params)?.map(({ choices, multi }) => ({ choices, multi })),
    elicitedReply(params, answers),
  ]).toEqual([
    [
      { choices: [{ id: 's', label: 'Small' }], multi: false },
      { choices: [{ id: 'm', label: 'Milk' }], multi: true },
    ],
    { action: 'accept', content: { size: 's', extras: [] }, _meta: null },
  ]);
});

test('what is required must be given, and a number must be one', () => {
  const properties = { name: { type: 'string' }, age: { type: 'integer', title: 'Age' } };
  const params = asked({ mode: 'form', requestedSchema: { type: 'object', properties, required: ['name', 'age'] } });
  const reply = (name: string, age: string) =>
    elicitedReply(params, [
      { kind: 'text', text: name },
      { kind: 'text', text: age },
    ]);
  expect([reply('', '3'), reply('Ann', 'old'), reply('Ann', ' 30 ')]).toEqual([
    'name: it is required',
    'age: "old" is not a whole number',
    { action: 'accept', content: { name: 'Ann', age: 30 }, _meta: null },
  ]);
});

test('what cannot be shown is not asked', () => {
  const nested = { type: 'object', properties: { deep: { type: 'object' } } };
  const kinds = [
    asked({ mode: 'form', requestedSchema: nested }),
    asked({ mode: 'openai/userVerification' }),
    asked({ mode: 'form' }),
  ];
  expect(kinds.map(elicitedQuestions)).toEqual([undefined, undefined, undefined]);
});
