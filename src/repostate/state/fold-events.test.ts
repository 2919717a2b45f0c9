import { expect } from 'vitest';
import { filesOf, makeWorld, trackerOn } from '../../../test/support/repostate/world.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { AgentEvent, EventBody } from '../../protocol/events.ts';
import { tellingLine } from './fold-events.ts';

function logOf() {
  const events: AgentEvent[] = [];
  const add = (body: EventBody): AgentEvent => {
    const seq = events.length + 1;
    const event = { ...body, seq, timestamp: new Date(1_760_000_000_000 + seq * 1_000).toISOString(), agentId: 'j-1' };
    events.push(event);
    return event;
  };
  return { events, add };
}

const progress = (payload: object) => ({ type: 'progress', payload }) as EventBody;

verifies('S-01', 'S-04', 'S-19').test(
  'the events of a CLI tell who did what, and folding the log from 0 and one look at git give the same state',
  async () => {
    const { repository, tracker, news } = await makeWorld({ 'a.ts': 'one\n', 'b.ts': 'one\n', 'c.ts': 'one\n' });
    const { events, add } = logOf();
    const hear = (body: EventBody) => tracker.apply(add(body));
    const look = async () => {
      const from = news.length;
      await tracker.refresh('turn');
      for (const one of news.slice(from)) hear(progress(one));
    };
    hear(progress({ kind: 'turn', n: 1 }));
    hear({
      type: 'tool_call',
      payload: { id: 'r1', name: 'Read', tool: 'read', title: '', input: { file_path: `${repository.checkout}/c.ts` } },
    });
    repository.write('a.ts', 'two\n');
    hear({ type: 'file_edit', payload: { id: 'e1', path: 'a.ts', kind: 'update' } });
    await look();
    hear(progress({ kind: 'turn', n: 2 }));
    hear({
      type: 'tool_call',
      payload: { id: 's1', name: 'Bash', tool: 'shell', title: '', input: { command: 'make b' } },
    });
    repository.write('b.ts', 'two\n');
    hear(progress({ kind: 'tool_result', id: 's1', ok: false, exitCode: 2, text: 'building\nerror: no rule\n' }));
    await look();
    hear(progress({ kind: 'turn', n: 3 }));
    repository.write('a.ts', 'by a person\n');
    await look();
    hear(progress({ kind: 'plan', entries: [{ text: 'first', status: 'completed' }, { text: 'second' }] }));
    hear({ type: 'input_sent', payload: { messageId: 'm', questionId: 'q', text: 'keep the signature', by: 'user' } });
    hear({
      type: 'error',
      payload: { code: 'agent_error', message: 'overloaded', fatal: false, scope: 'turn', retryable: true },
    });
    await look();
    expect(filesOf(tracker)).toEqual(['a.ts modified outside t3', 'b.ts modified command t2', 'c.ts unchanged']);
    expect(tracker.getSnapshot()).toMatchObject({
      runs: [{ turn: 2, command: 'make b', exit: 2, line: 'error: no rule' }],
      notes: [{ turn: 3, text: 'user: keep the signature' }],
      lastFailure: { turn: 3, text: 'overloaded' },
      openTasks: [{ status: 'completed' }, { id: 'k2', description: 'second', priority: 2, status: 'pending' }],
    });
    const again = trackerOn(repository, repository.plain('rev-parse', 'HEAD'));
    for (const event of events) again.tracker.apply(event);
    for (const event of events) again.tracker.apply(event);
    await again.tracker.refresh('load');
    expect(again.tracker.getSnapshot()).toEqual(tracker.getSnapshot());
  },
);

verifies('S-10').test('an open question is part of the state until it is answered', async () => {
  const { tracker } = await makeWorld({ 'a.ts': 'one\n' });
  const { add } = logOf();
  const asked = {
    question: 'Which port?',
    kind: 'text',
    questionId: 'q1',
    requestId: 'r',
    fingerprint: 'f',
    path: [],
  } as const;
  const payload = { ...asked, multi: false, freeText: true, secret: false, path: [] };
  tracker.apply(add({ type: 'needs_input', payload }));
  const open = tracker.getSnapshot().openQuestion;
  tracker.apply(
    add({ type: 'input_sent', payload: { messageId: 'm', questionId: 'q1', option: ['8080'], by: 'user' } }),
  );
  const { openQuestion, notes } = tracker.getSnapshot();
  expect([open, openQuestion, notes]).toEqual([
    { jobId: 'j-1', question: 'Which port?' },
    undefined,
    [{ jobId: 'j-1', turn: 0, text: 'user: 8080' }],
  ]);
});

verifies('S-10').test('of an output the line is kept that a person would quote', () => {
  expect([
    tellingLine('ok 1\nTypeError: x is not a function\n  at y\n'),
    tellingLine('a\nb\n\n'),
    tellingLine(''),
    tellingLine(`${'x'.repeat(500)}`).length,
  ]).toEqual(['TypeError: x is not a function', 'b', '', 200]);
});
