import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CANARY, TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Caller, OperationRequest } from '../protocol/operations.ts';
import { GrantsFile } from '../runtime/config/grants-file.ts';
import type { Adapter, AskedQuestion, Effect } from './adapter.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { codexExecAdapter } from './codex/exec-adapter.ts';
import { applyEffects, closeTurn } from './effects.ts';
import type { JobTransaction } from './job-transaction.ts';
import { send } from './sending.ts';

let storage: TestStorage;
beforeEach(() => {
  storage = new TestStorage(manualClock());
  storage.addJob('J');
});
afterEach(() => storage.close());

const record = (id = 'J') => storage.record(id);
const change = (act: (tx: JobTransaction) => void, id = 'J') => storage.change(id, act);
const source = { stream: 'out' as const, offset: 40, bytes: 60, text: '' };
const apply = (effects: Effect[], id = 'J') => change((tx) => applyEffects(tx, effects, source), id);
const events = (id = 'J') => storage.events(id);
const inputs = (id = 'J') => events(id).flatMap(({ type, payload }) => (type === 'input_sent' ? [payload] : []));
const inbox = () => storage.store.questions.open().map(({ jobId, question }) => [jobId, question.questionId]);
const answersFor = (id = 'J') =>
  storage.store.outbox
    .open<{ kind: string; answers?: unknown }>(id)
    .flatMap(({ doc }) => (doc.kind === 'answer' ? [doc.answers] : []));

const me: Caller = { by: 'me', surface: 'cli' };
type Say = Omit<OperationRequest<'send'>, 'id'>;
const say = (request: Say, how: { id?: string; caller?: Caller; adapter?: Adapter } = {}) => {
  const { id = 'J', caller = me, adapter = claudeAdapter as unknown as Adapter } = how;
  return send({ storage, adapter }, { job: record(id).job, request: { id, ...request }, caller });
};
const refusal = (act: () => unknown): { code: string; details?: unknown } => {
  try {
    return { code: `none: ${JSON.stringify(act())}` };
  } catch (error) {
    if (!(error instanceof ReefError)) throw error;
    return { code: error.code, ...(error.details ? { details: error.details } : {}) };
  }
};

const bash = (command: string): AskedQuestion => ({
  kind: 'permission',
  question: `Run ${command}?`,
  tool: 'Bash',
  input: { command },
});
const pick = (question: string): AskedQuestion => ({
  kind: 'choice',
  question,
  choices: [
    { id: 'y', label: 'Yes' },
    { id: 'n', label: 'No' },
  ],
});
const asks = (requestId: string, ...questions: AskedQuestion[]): Effect => ({ do: 'ask', requestId, questions });
const printOf = (questionId: string, id = 'J') =>
  storage.store.questions.get(id, questionId)?.question.fingerprint ?? '';
const decide = (decision: 'allow_once' | 'allow_session' | 'allow_always' | 'deny', questionId: string, id = 'J') =>
  say({ decision, questionId, fingerprint: printOf(questionId, id) }, { id });

describe('a request', () => {
  verifies('A-40').test('is one event with all there is to know, and in the inbox', () => {
    storage.addJob('P', { id: 'P' });
    storage.addJob('C', { parentId: 'P', rootId: 'P', depth: 1 });
    apply([asks('7', { ...pick('Which?'), header: 'Database', multi: true, freeText: true })], 'C');
    const payload = {
      question: 'Which?',
      options: ['Yes', 'No'],
      kind: 'choice',
      questionId: '7#0',
      requestId: '7',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      choices: [
        { id: 'y', label: 'Yes' },
        { id: 'n', label: 'No' },
      ],
      multi: true,
      freeText: true,
      secret: false,
      header: 'Database',
      path: ['P', 'C'],
    };
    expect({ events: events('C'), inbox: storage.store.questions.open(), status: record('C').job.status }).toEqual({
      events: [{ type: 'needs_input', payload }],
      inbox: [
        {
          jobId: 'C',
          launch: 1,
          question: payload,
          state: 'open',
          askedAt: '2026-01-01T00:00:00.000Z',
          line: { offset: 40, bytes: 60 },
        },
      ],
      status: 'awaiting_input',
    });
  });

  verifies('X-60').test('is bounded in its text and in its options, and says so', () => {
    const choices = Array.from({ length: 5_000 }, (_, n) => ({ id: `${n}`, label: `${n}`.repeat(50) }));
    apply([asks('7', { ...pick('why '.repeat(50_000)), choices })]);
    const [asked] = storage.store.questions.open();
    const { cut, choices: shown = [] } = asked?.question ?? {};
    expect(Buffer.byteLength(JSON.stringify(asked?.question))).toBeLessThanOrEqual(60 * 1024);
    expect(cut?.isKept).toBe(false);
    expect(shown.length).toBeLessThan(choices.length);
  });

  verifies('A-41').test('0 and "0" are two requests', () => {
    apply([asks('0', pick('One?')), asks('"0"', pick('Two?'))]);
    say({ option: [1], questionId: '"0"#0' });
    expect({ inbox: inbox(), answers: answersFor() }).toEqual({
      inbox: [['J', '0#0']],
      answers: [[{ kind: 'choice', labels: ['Yes'], ids: ['y'] }]],
    });
  });

  verifies('A-42').test(
    'of three questions is three events and one reply, with the last answer, in their order',
    () => {
      apply([asks('0', pick('One?'), pick('Two?'), { kind: 'text', question: 'Three?', freeText: true })]);
      const groups = events().map(({ payload }) => 'group' in payload && [payload.questionId, payload.group]);
      const sent = [say({ option: [2], questionId: '0#1' }), say({ text: 'blue', questionId: '0#2' })];
      const before = { answers: answersFor(), status: record().job.status, inbox: inbox() };
      const last = say({ option: ['Yes'] });
      expect({ groups, sent, before, last, answers: answersFor(), status: record().job.status }).toEqual({
        groups: [
          ['0#0', { index: 0, of: 3 }],
          ['0#1', { index: 1, of: 3 }],
          ['0#2', { index: 2, of: 3 }],
        ],
        sent: [{ messageId: 'J:0#1' }, { messageId: 'J:0#2' }],
        before: { answers: [], status: 'awaiting_input', inbox: [['J', '0#0']] },
        last: { messageId: 'J:0#0', key: 'J:answer:1:0' },
        answers: [
          [
            { kind: 'choice', labels: ['Yes'], ids: ['y'] },
            { kind: 'choice', labels: ['No'], ids: ['n'] },
            { kind: 'text', text: 'blue' },
          ],
        ],
        status: 'awaiting_input',
      });
    },
  );

  verifies('A-42', 'A-44').test('is over when the agent took the reply: then each answer is logged once', () => {
    apply([asks('0', pick('One?'), pick('Two?'))]);
    say({ option: [1], questionId: '0#0' });
    say({ option: [2], questionId: '0#1' });
    const before = inputs();
    apply([{ do: 'ack', requestId: '0' }]);
    apply([{ do: 'ack', requestId: '0' }]);
    expect({ before, after: inputs(), status: record().job.status, open: storage.store.outbox.open('J') }).toEqual({
      before: [],
      after: [
        { messageId: 'J:0#0', questionId: '0#0', option: ['Yes'], by: 'me' },
        { messageId: 'J:0#1', questionId: '0#1', option: ['No'], by: 'me' },
      ],
      status: 'running',
      open: [],
    });
  });

  test('that is huge stays an event of at most 64 KiB that keeps its ids', () => {
    apply([asks('0', { ...bash('x'), input: { content: 'ü'.repeat(500_000) } })]);
    const [event] = events();
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThanOrEqual(64 * 1024);
    expect(event?.payload).toMatchObject({ questionId: '0#0', fingerprint: printOf('0#0'), tool: 'Bash' });
  });

  verifies('X-50').test('that shows a secret is in the inbox without it', () => {
    apply([asks('0', { ...bash(`curl -H ${CANARY}`), diff: CANARY }, { ...pick(CANARY), header: CANARY })]);
    expect(JSON.stringify([events(), storage.store.questions.open()])).not.toContain('canary');
  });
});

describe('an answer', () => {
  verifies('X-56').test(
    'is taken once: of 100 at the same time one is, and the others hear who was first',
    async () => {
      apply([asks('0', bash('ls'))]);
      const fingerprint = printOf('0#0');
      const answer = async (n: number) =>
        refusal(() =>
          say({ decision: 'deny', questionId: '0#0', fingerprint }, { caller: { by: `person ${n}`, surface: 'cli' } }),
        );
      const all = await Promise.all(Array.from({ length: 100 }, (_, n) => answer(n)));
      const refused = {
        code: 'already_answered',
        details: { by: 'person 0', at: '2026-01-01T00:00:00.000Z', answer: { kind: 'permission', decision: 'deny' } },
      };
      expect({ all, answers: answersFor() }).toEqual({
        all: [{ code: expect.stringMatching(/^none: /) }, ...Array.from({ length: 99 }, () => refused)],
        answers: [[{ kind: 'permission', decision: 'deny' }]],
      });
    },
  );

  verifies('X-56').test('to arguments that are no longer those it was about is question_changed', () => {
    apply([asks('0', bash('ls'))]);
    const seen = printOf('0#0');
    change((tx) => closeTurn(tx, 'interrupt'));
    apply([asks('0', bash('rm -rf .'))]);
    const late = refusal(() => say({ decision: 'allow_once', questionId: '0#0', fingerprint: seen }));
    expect({ code: late.code, answers: answersFor(), inbox: inbox() }).toEqual({
      code: 'question_changed',
      answers: [],
      inbox: [['J', '0#0']],
    });
  });

  verifies('X-55').test('in words to a permission changes nothing', () => {
    apply([asks('0', bash('ls'))]);
    const words = ['yes', 'allow_once', 'y', '1'];
    expect(words.map((text) => refusal(() => say({ text })).code)).toEqual(words.map(() => 'answer_needs_decision'));
    expect({ answers: answersFor(), inbox: inbox(), inputs: inputs() }).toEqual({
      answers: [],
      inbox: [['J', '0#0']],
      inputs: [],
    });
  });

  verifies('X-08').test('of a job, be it the one that asks or its parent, is refused', () => {
    storage.addJob('C', { parentId: 'J', rootId: 'J', depth: 1 });
    apply([asks('0', bash('ls'))], 'C');
    const fingerprint = printOf('0#0', 'C');
    const by = (jobId: string) =>
      refusal(() =>
        say({ decision: 'allow_once', fingerprint }, { id: 'C', caller: { by: jobId, surface: 'job', jobId } }),
      );
    expect([by('C'), by('J')]).toEqual([{ code: 'not_yours' }, { code: 'not_yours' }]);
    expect(answersFor('C')).toEqual([]);
  });

  verifies('A-45').test('repeated with its key is the same answer, and no message', () => {
    apply([asks('0', pick('Which?')), asks('1', pick('Which?'))]);
    const chosen = [1, 2].map(() => say({ option: [1], questionId: '0#0', key: 'k' }));
    const told = [1, 2].map(() => say({ text: 'No', key: 'l' }));
    expect({ chosen, told, answers: answersFor().length, open: storage.store.outbox.open('J').length }).toEqual({
      chosen: [1, 2].map(() => ({ messageId: 'J:0#0', key: 'J:answer:1:0' })),
      told: [1, 2].map(() => ({ messageId: 'J:1#0', key: 'J:answer:1:1' })),
      answers: 2,
      open: 2,
    });
  });

  test('to a secret question is shown to nobody, not even to who answers second', () => {
    const secret = { kind: 'text' as const, question: 'Password?', freeText: true, secret: true };
    apply([asks('0', secret), asks('1', { ...pick('Which?'), freeText: true, secret: true })]);
    say({ text: 'open sesame', questionId: '0#0' });
    say({ text: 'open sesame', questionId: '1#0' });
    const second = ['0#0', '1#0'].map((questionId) => refusal(() => say({ text: 'x', questionId })));
    apply([
      { do: 'ack', requestId: '0' },
      { do: 'ack', requestId: '1' },
    ]);
    expect(second.map(({ code }) => code)).toEqual(['already_answered', 'already_answered']);
    expect(JSON.stringify([second, events()])).not.toContain('sesame');
    expect(inputs()).toHaveLength(2);
  });
});

describe('a question nobody waits for any more', () => {
  const causes: [string, string, () => void][] = [
    ['the agent withdrew it', 'agent', () => apply([{ do: 'withdraw', requestId: '0', by: 'agent' }])],
    ['the turn is over', 'turn', () => apply([{ do: 'turn', is: 'over', outcome: 'done', result: '' }])],
    [
      'the turn was interrupted',
      'interrupt',
      () => apply([{ do: 'turn', is: 'over', outcome: 'interrupted', result: '' }]),
    ],
    ['the agent is gone', 'exit', () => change((tx) => closeTurn(tx, 'exit'))],
  ];
  for (const [why, by, happen] of causes) {
    verifies('A-43').test(`because ${why} leaves the inbox, and a late answer is question_withdrawn`, () => {
      apply([asks('0', pick('One?'), bash('ls'))]);
      const fingerprint = printOf('0#1');
      happen();
      const told = events().flatMap(({ payload }) =>
        'kind' in payload && payload.kind === 'withdrawn' ? [payload] : [],
      );
      const late = [
        refusal(() => say({ option: [1], questionId: '0#0' })),
        refusal(() => say({ decision: 'allow_once', questionId: '0#1', fingerprint })),
      ];
      expect({ told, inbox: inbox(), late, answers: answersFor(), open: record().runtime.open }).toEqual({
        told: ['0#0', '0#1'].map((questionId) => ({ kind: 'withdrawn', questionId, by })),
        inbox: [],
        late: [{ code: 'question_withdrawn' }, { code: 'question_withdrawn' }],
        answers: [],
        open: [],
      });
    });
  }

  verifies('A-43').test('takes an answer that was under way with it', () => {
    apply([asks('0', pick('One?')), asks('1', pick('Two?'))]);
    say({ option: [1], questionId: '0#0' });
    apply([{ do: 'withdraw', requestId: '0', by: 'agent' }]);
    expect({
      row: storage.store.outbox.get('J:answer:1:0')?.state,
      inbox: inbox(),
      status: record().job.status,
    }).toEqual({
      row: 'failed',
      inbox: [['J', '1#0']],
      status: 'awaiting_input',
    });
  });

  verifies('A-15').test('was the last: the job goes on', () => {
    apply([asks('0', pick('One?'))]);
    apply([{ do: 'withdraw', requestId: '0', by: 'agent' }]);
    expect(record().job.status).toBe('running');
  });
});

describe('an allowance that lasts', () => {
  const auto = (id = 'J') =>
    events(id).flatMap(({ payload }) => ('kind' in payload && payload.kind === 'auto_answered' ? [payload.grant] : []));
  const allow = { kind: 'permission', decision: 'allow_once' };

  verifies('A-49').test('for the session answers exactly the same again, for this job and no other', () => {
    storage.addJob('K');
    apply([asks('0', bash('ls'))]);
    decide('allow_session', '0#0');
    apply([{ do: 'ack', requestId: '0' }]);
    apply([asks('1', bash('ls')), asks('2', bash('ls -a')), asks('3', { ...bash('ls'), tool: 'Shell' })]);
    apply([asks('0', bash('ls'))], 'K');
    expect({ auto: auto(), answers: answersFor(), inbox: inbox().toSorted() }).toEqual({
      auto: ['session'],
      answers: [[allow]],
      inbox: [
        ['J', '2#0'],
        ['J', '3#0'],
        ['K', '0#0'],
      ],
    });
  });

  verifies('A-49').test(
    'for good answers the same again in every job of that folder, and in no other folder',
    async () => {
      storage.addJob('K');
      storage.addJob('L', { cwd: '/other' });
      apply([asks('0', bash('ls'))]);
      decide('allow_always', '0#0');
      await expect.poll(() => new GrantsFile(join(storage.dir, 'grants.json')).list().length).toBe(1);
      apply([asks('0', bash('ls'))], 'K');
      apply([asks('0', bash('ls'))], 'L');
      expect({ auto: [auto('K'), auto('L')], inbox: inbox() }).toEqual({
        auto: [['always'], []],
        inbox: [['L', '0#0']],
      });
    },
  );

  verifies('A-49').test('--yes answers permissions; choices and texts are still asked', () => {
    storage.addJob('Y', { yes: true });
    apply(
      [
        asks('0', bash('rm -rf .')),
        asks('1', pick('Which?')),
        asks('2', { kind: 'text', question: 'Name?', freeText: true }),
      ],
      'Y',
    );
    apply([{ do: 'ack', requestId: '0' }], 'Y');
    expect({ auto: auto('Y'), inputs: inputs('Y'), inbox: inbox() }).toEqual({
      auto: ['yes'],
      inputs: [{ messageId: 'Y:0#0', questionId: '0#0', decision: 'allow_once', by: 'reef:yes' }],
      inbox: [
        ['Y', '1#0'],
        ['Y', '2#0'],
      ],
    });
  });

  test('is not made by a single allowance or a refusal', () => {
    apply([asks('0', bash('ls')), asks('1', bash('pwd'))]);
    decide('allow_once', '0#0');
    decide('deny', '1#0');
    apply([asks('2', bash('ls')), asks('3', bash('pwd'))]);
    expect({ auto: auto(), inbox: inbox() }).toEqual({
      auto: [],
      inbox: [
        ['J', '2#0'],
        ['J', '3#0'],
      ],
    });
  });
});

describe('a message', () => {
  verifies('A-45').test('is in the outbox once, however often it is sent with its key', () => {
    const sent = [say({ text: 'go on', key: 'k' }), say({ text: 'go on', key: 'k' })];
    const rows = storage.store.outbox.open('J').map(({ key, state, doc }) => ({ key, state, doc }));
    const messageId = sent[0]?.messageId;
    expect({ sent, rows }).toEqual({
      sent: [
        { messageId, key: 'J:k' },
        { messageId, key: 'J:k' },
      ],
      rows: [{ key: 'J:k', state: 'new', doc: { kind: 'message', messageId, text: 'go on', by: 'me', isTask: false } }],
    });
  });

  verifies('A-44').test('is logged when the agent took it, once', () => {
    const { messageId } = say({ text: 'go on' });
    const before = inputs();
    apply([{ do: 'ack', messageId }]);
    apply([{ do: 'ack', messageId }]);
    expect({ before, after: inputs() }).toEqual({ before: [], after: [{ messageId, text: 'go on', by: 'me' }] });
  });

  test('to a job that is over is job_ended', () => {
    for (const status of ['completed', 'error', 'killed', 'stale'] as const) storage.addJob(status, { status });
    const ended = ['completed', 'error', 'killed', 'stale'].map(
      (id) => refusal(() => say({ text: 'hello?' }, { id })).code,
    );
    expect(ended).toEqual(['job_ended', 'job_ended', 'job_ended', 'job_ended']);
  });

  test('to an agent that takes none while it works is send_unsupported', () => {
    const adapter = codexExecAdapter as unknown as Adapter;
    expect(refusal(() => say({ text: 'go on' }, { adapter }))).toEqual({ code: 'send_unsupported' });
  });
});
