import { expect, test } from 'vitest';
import { allow, busy, declined, deny, refused, THREAD, TURN } from '../../../test/support/agents/codex-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Answer, Json } from '../adapter.ts';

const approval = {
  id: 0,
  method: 'item/commandExecution/requestApproval',
  params: { command: 'rm -r x', cwd: '/repo' },
};

verifies('A-41', 'A-49', 'A-100').test(
  'an approval with the id 0 is asked, and any lasting yes is a single one on the wire',
  () => {
    const talk = busy();
    const asked = talk.hear(approval);
    const wire = talk.answer(approval, [allow]);
    const taken = talk.note('serverRequest/resolved', { threadId: THREAD, requestId: 0 });
    const question = {
      kind: 'permission',
      question: 'Run: rm -r x',
      tool: 'shell',
      input: { command: 'rm -r x', cwd: '/repo' },
      wants: { command: { command: 'rm -r x', cwd: '/repo' } },
    };
    expect([asked, wire, taken]).toEqual([
      [{ do: 'ask', requestId: '0', questions: [question] }],
      { id: 0, result: { decision: 'accept' } },
      [{ do: 'ack', requestId: '0' }],
    ]);
  },
);

verifies('A-43').test('a request resolved without an answer is withdrawn, and a late answer refused', () => {
  const talk = busy();
  talk.hear({ ...approval, id: 'r' });
  const withdrawn = talk.note('serverRequest/resolved', { threadId: THREAD, requestId: 'r' });
  expect([withdrawn, talk.answer({ ...approval, id: 'r' }, [deny])]).toEqual([
    [{ do: 'withdraw', requestId: '"r"', by: 'agent' }],
    { refuse: 'question_withdrawn', message: 'Codex no longer waits for this answer' },
  ]);
});

test('input to a running command and a connection are named as what they are', () => {
  const talk = busy();
  const { method } = approval;
  const typing = talk.hear({ id: 1, method, params: { kind: 'writeStdin', command: 'yes\n' } });
  const network = { host: 'example.org', protocol: 'https' };
  const connecting = talk.hear({ id: 2, method, params: { networkApprovalContext: network, reason: 'to fetch' } });
  const questions = [...typing, ...connecting].flatMap((effect) => (effect.do === 'ask' ? effect.questions : []));
  expect(questions).toEqual([
    {
      kind: 'permission',
      question: 'Type into a running command: yes\n',
      tool: 'shell',
      input: { command: 'yes\n', kind: 'writeStdin' },
    },
    { kind: 'permission', question: 'Connect to example.org (https)?\nto fetch', tool: 'shell', input: { network } },
  ]);
});

verifies('A-100').test('a change that was never shown is declined, not asked', () => {
  const talk = busy();
  const effects = talk.hear({ id: 0, method: 'item/fileChange/requestApproval', params: { itemId: 'call_9' } });
  const message = 'Codex asked to approve a change it never showed: declined';
  expect(effects).toEqual([
    { do: 'emit', event: { type: 'progress', payload: { kind: 'warning', message } } },
    declined(0),
  ]);
});

verifies('A-51', 'A-100', 'X-138').test(
  'a large change is shown whole; a huge one is cut and says so, told apart by its digest, and keeps the state small',
  () => {
    const talks = ['1', '2', 'whole'].map((end) => {
      const talk = busy();
      const length = end === 'whole' ? 100_000 : 200_000;
      const change = { path: '/repo/big', kind: { type: 'add' }, diff: `${'a'.repeat(length)}${end}` };
      const item = { type: 'fileChange', id: 'call_1', status: 'inProgress', changes: [change] };
      talk.note('item/started', { threadId: THREAD, turnId: TURN, item });
      return talk;
    });
    const sizes = talks.map((talk) => Buffer.byteLength(JSON.stringify(talk.state)));
    const [one, two, whole] = talks.map((talk) => talk.state.edits[0]);
    expect({
      isSmall: sizes.every((size) => size < 140_000),
      areCut: [one, two, whole].map((edit) => edit?.isCut),
      sameDiff: one?.diff === two?.diff,
      sameDigest: one?.digest === two?.digest,
    }).toEqual({
      isSmall: true,
      areCut: [true, true, undefined],
      sameDiff: true,
      sameDigest: false,
    });
  },
);

verifies('A-42', 'A-100').test('a secret text and a choice are one request, answered by their ids', () => {
  const talk = busy();
  const request = {
    id: 5,
    method: 'item/tool/requestUserInput',
    params: {
      questions: [
        { id: 'key', header: '', question: 'Key?', isOther: false, isSecret: true, options: null },
        {
          id: 'db',
          header: 'DB',
          question: 'Which?',
          isOther: false,
          isSecret: false,
          options: [{ label: 'A', description: '' }],
        },
      ],
    },
  };
  const asked = talk.hear(request);
  const wire = talk.answer(request, [
    { kind: 'text', text: 's3cret' },
    { kind: 'choice', labels: ['A'], ids: ['A'] },
  ]);
  expect([asked, wire]).toEqual([
    [
      {
        do: 'ask',
        requestId: '5',
        questions: [
          { kind: 'text', question: 'Key?', freeText: true, secret: true },
          {
            kind: 'choice',
            question: 'Which?',
            header: 'DB',
            choices: [{ id: 'A', label: 'A' }],
            freeText: false,
            secret: false,
          },
        ],
      },
    ],
    { id: 5, result: { answers: { key: { answers: ['s3cret'] }, db: { answers: ['A'] } } } },
  ]);
});

verifies('A-55').test('a request Reef does not serve is refused at once', () => {
  const talk = busy();
  const method = 'item/tool/call';
  expect(talk.hear({ id: 0, method, params: {} })).toEqual([{ do: 'unknown', name: method }, refused(0, method)]);
});

verifies('A-54', 'A-55').test('a request that cannot be read is a bad line, and refused all the same', () => {
  const method = 'item/tool/requestUserInput';
  const message = `Codex wrote a ${method} that Reef cannot read`;
  const payload = { code: 'bad_line', message, scope: 'line', fatal: false, retryable: false };
  expect(busy().hear({ id: 'x', method, params: { questions: [] } })).toEqual([
    { do: 'emit', event: { type: 'error', payload } },
    refused('x', method),
  ]);
});

test('a folder that a change would open for writing is part of what is approved', () => {
  const talk = busy();
  const changes = [{ path: '/etc/x', kind: { type: 'delete' }, diff: 'no newline' }];
  const item = { type: 'fileChange', id: 'c', status: 'inProgress', changes };
  talk.note('item/started', { threadId: THREAD, turnId: TURN, item });
  const params = { itemId: 'c', reason: 'why not', grantRoot: '/etc' };
  const [asked] = talk.hear({ id: 0, method: 'item/fileChange/requestApproval', params });
  expect(asked?.do === 'ask' && asked.questions).toEqual([
    {
      kind: 'permission',
      question: 'Change /etc/x?\nwhy not',
      tool: 'edit',
      input: {
        changes: [{ path: '/etc/x', kind: 'delete' }],
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        grantRoot: '/etc',
      },
      diff: '--- /etc/x\n+++ /etc/x\n@@ -1,1 +0,0 @@\n-no newline\n\\ No newline at end of file\n',
    },
  ]);
});

test('a form that cannot be shown is refused, and an answer that does not fit it is sent back to the person', () => {
  const talk = busy();
  const method = 'mcpServer/elicitation/request';
  const form = (properties: Json) => ({
    serverName: 's',
    mode: 'form',
    message: 'm',
    requestedSchema: { properties, required: ['n'] },
  });
  const hidden = talk.hear({ id: 0, method, params: form({ n: { type: 'object' } }) });
  const request = { id: 1, method, params: form({ n: { type: 'number' } }) };
  talk.hear(request);
  expect([hidden, talk.answer(request, [{ kind: 'text', text: 'many' }])]).toEqual([
    [{ do: 'unknown', name: method }, refused(0, method)],
    { refuse: 'bad_option', message: expect.stringMatching(/^n: /) },
  ]);
});

verifies('X-55').test('a word that is no allowance is a no', () => {
  const talk = busy();
  talk.hear(approval);
  const word = { kind: 'permission', decision: 'denied' } as unknown as Answer;
  expect(talk.answer(approval, [word])).toEqual({ id: 0, result: { decision: 'decline' } });
});
