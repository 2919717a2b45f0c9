import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ends, TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { Budget } from '../protocol/jobs.ts';
import type { Adapter, Effect } from './adapter.ts';
import { checkBudget } from './budget.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { applyEffects } from './effects.ts';
import { send } from './sending.ts';

let storage: TestStorage;
beforeEach(() => {
  storage = new TestStorage(manualClock());
});
afterEach(() => storage.close());

const addJob = (id: string, budget: Budget, more: { yes?: boolean } = {}) => storage.addJob(id, { budget, ...more });
const child = (id: string, budget: Budget = {}) => storage.addJob(id, { budget, parentId: 'R', rootId: 'R', depth: 1 });
const record = (id: string) => storage.record(id);
/** One round of reading, as a live job makes it: effects, then the budget, in one transaction. */
function round(id: string, effects: Effect[], worked = 0): void {
  storage.change(id, (tx) => {
    tx.job.workedMs += worked;
    applyEffects(tx, effects, { stream: 'out', offset: 0, bytes: 1, text: '' });
    checkBudget(tx);
  });
}
const events = (id: string) => storage.events(id);
const told = (id: string) =>
  events(id).flatMap(({ payload }) => ('kind' in payload && payload.kind === 'budget' ? [payload] : []));
const asked = (id: string) => events(id).flatMap(({ type, payload }) => (type === 'needs_input' ? [payload] : []));
const mail = (id: string) => storage.mail(id);
const answer = (id: string, option: string) =>
  send(
    { storage, adapter: claudeAdapter as unknown as Adapter },
    { job: record(id).job, request: { id, option: [option] }, caller: { by: 'me', surface: 'cli' } },
  );

const begun: Effect = { do: 'turn', is: 'begun' };
const over = (outcome: 'done' | 'interrupted'): Effect => ({ do: 'turn', is: 'over', outcome, result: '' });
const used = (input: number): Effect => ({
  do: 'usage',
  report: { tokens: { input, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0, scope: 'more' }, partial: false },
});

describe('a budget', () => {
  verifies('A-76').test('is told of at 80 %, once, and not before', () => {
    addJob('J', { tokens: 1000 });
    round('J', [begun, used(799)]);
    const before = told('J');
    round('J', [used(1)]);
    round('J', [used(10)]);
    expect({ before, after: told('J'), mail: mail('J'), spent: record('J').runtime.spent }).toEqual({
      before: [],
      after: [{ kind: 'budget', what: 'tokens', used: 800, limit: 1000 }],
      mail: [],
      spent: null,
    });
  });

  verifies('A-76').test('that is used up interrupts the turn, and once that is over asks what now', () => {
    addJob('J', { tokens: 1000 });
    round('J', [begun, used(1000)]);
    round('J', [used(5)]);
    const during = { mail: mail('J'), asked: asked('J'), status: record('J').job.status };
    round('J', [over('interrupted')]);
    expect({ during, asked: asked('J'), status: record('J').job.status }).toEqual({
      during: { mail: [{ kind: 'interrupt', messageId: 'budget:1:tokens:1000' }], asked: [], status: 'running' },
      asked: [
        {
          kind: 'choice',
          question: 'The budget of 1000 tokens is used up (1000). What now?',
          header: 'Budget',
          options: ['Raise', 'Finish', 'Stop'],
          choices: [
            expect.objectContaining({ id: 'raise' }),
            expect.objectContaining({ id: 'finish' }),
            expect.objectContaining({ id: 'stop' }),
          ],
          multi: false,
          freeText: false,
          secret: false,
          questionId: 'reef:budget:1:tokens:1000#0',
          requestId: 'reef:budget:1:tokens:1000',
          fingerprint: expect.any(String),
          path: ['J'],
        },
      ],
      status: 'awaiting_input',
    });
  });

  verifies('A-170').test(
    'counts what is used before the agent tells the sum, and lets no grant answer from then on',
    () => {
      addJob('J', { tokens: 1000 }, { yes: true });
      const tokens = { input: 600, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0, scope: 'ahead' } as const;
      const ahead: Effect = { do: 'usage', report: { tokens, partial: false } };
      const wish = (requestId: string): Effect => ({
        do: 'ask',
        requestId,
        questions: [{ kind: 'permission', question: 'May I?', tool: 'Bash', input: {} }],
      });
      round('J', [begun, ahead, wish('1'), ahead, wish('2')]);
      const open = storage.store.questions.unclosedOf('J').filter(({ state }) => state === 'open');
      expect(open.map(({ question }) => question.requestId)).toEqual(['2']);
      expect(mail('J')).toContainEqual({ kind: 'interrupt', messageId: 'budget:1:tokens:1000' });
      round('J', [used(1300), over('interrupted')]);
      expect(record('J').job.usage).toMatchObject({ input: 1300, partial: false });
    },
  );

  verifies('A-173').test('what a turn used that ends without a sum is kept as a partial count', () => {
    addJob('J', {});
    const tokens = { input: 600, output: 7, cacheRead: 0, cacheWrite: 0, reasoning: 0, scope: 'ahead' } as const;
    round('J', [begun, { do: 'usage', report: { tokens, partial: false } }]);
    round('J', [{ do: 'turn', is: 'failed', code: 'agent_error', message: 'gone', retryable: false }]);
    expect(record('J').job.usage).toMatchObject({ input: 600, output: 7, partial: true });
  });

  verifies('A-76').test('of turns counts answers of the model, one of seconds counts work', () => {
    addJob('T', { turns: 2 });
    addJob('S', { seconds: 10 });
    round('T', [begun, { do: 'answer' }, { do: 'answer' }]);
    round('S', [begun], 8500);
    round('S', [], 1500);
    expect([told('T'), mail('T'), told('S'), mail('S')]).toEqual([
      [{ kind: 'budget', what: 'turns', used: 2, limit: 2 }],
      [{ kind: 'interrupt', messageId: 'budget:1:turns:2' }],
      [{ kind: 'budget', what: 'seconds', used: 8, limit: 10 }],
      [{ kind: 'interrupt', messageId: 'budget:1:seconds:10' }],
    ]);
  });

  verifies('A-76').test('of a root is used by its children and their children too', () => {
    addJob('R', { tokens: 1000 });
    child('A');
    child('B', { tokens: 1_000_000 });
    storage.addJob('G', { parentId: 'A', rootId: 'R', depth: 2 });
    round('R', [begun, used(300)]);
    round('A', [begun, used(300)]);
    round('G', [begun, used(150)]);
    const before = ['R', 'A', 'B', 'G'].map((id) => told(id).length);
    round('B', [begun, used(100)]);
    round('G', [used(200)]);
    expect({ before, told: [told('B'), told('G')], mail: ['R', 'A', 'B', 'G'].map((id) => mail(id).length) }).toEqual({
      before: [0, 0, 0, 0],
      told: [
        [{ kind: 'budget', what: 'tokens', used: 850, limit: 1000 }],
        [{ kind: 'budget', what: 'tokens', used: 1050, limit: 1000 }],
      ],
      mail: [0, 0, 0, 1],
    });
  });

  test('that nobody set limits nothing', () => {
    addJob('J', {});
    round('J', [begun, used(10 ** 9)], 10 ** 9);
    expect([told('J'), mail('J')]).toEqual([[], []]);
  });

  verifies('A-76').test('used up by the last usage of a kept turn asks before the next one', () => {
    storage.addJob('J', { budget: { tokens: 1000 }, keep: true });
    round('J', [begun, used(1200), over('done')]);
    expect({ asked: asked('J').length, mail: mail('J'), status: record('J').job.status }).toEqual({
      asked: 1,
      mail: [],
      status: 'awaiting_input',
    });
  });

  test('used up in the last turn of a job that ends anyway asks nobody', () => {
    addJob('J', { tokens: 1000 });
    round('J', [begun, used(1200), over('done')]);
    expect({ asked: asked('J'), mail: mail('J'), status: record('J').job.status }).toEqual({
      asked: [],
      mail: [],
      status: 'running',
    });
  });
});

describe('the person asked about a budget', () => {
  function useUp(id: string): void {
    round(id, [begun, used(1000)]);
    round(id, [over('interrupted')]);
    storage.store.commit(() => storage.store.outbox.move(`${id}:budget:1:tokens:1000`, 'delivered'));
  }
  const message = (id: string, text: string) => ({
    kind: 'message',
    messageId: `${id}:reef:budget:1:tokens:1000#0:go`,
    text,
    by: 'reef:budget',
    isTask: true,
  });

  verifies('A-76').test('may raise it: it doubles and the agent goes on', () => {
    addJob('J', { tokens: 1000, turns: 9 });
    useUp('J');
    answer('J', 'Raise');
    const { job, runtime } = record('J');
    expect({
      budget: job.budget,
      spent: runtime.spent,
      ending: runtime.ending,
      mail: mail('J'),
      status: job.status,
    }).toEqual({
      budget: { tokens: 2000, turns: 9 },
      spent: null,
      ending: null,
      mail: [message('J', 'Continue.')],
      status: 'running',
    });
    expect(events('J').at(-1)).toEqual({
      type: 'input_sent',
      payload: {
        messageId: 'J:reef:budget:1:tokens:1000#0',
        questionId: 'reef:budget:1:tokens:1000#0',
        option: ['Raise'],
        by: 'me',
      },
    });
  });

  verifies('A-76').test('may let it finish with a fifth more', () => {
    addJob('J', { tokens: 1000 });
    useUp('J');
    answer('J', 'Finish');
    expect([record('J').job.budget, mail('J')]).toEqual([
      { tokens: 1200 },
      [message('J', 'Your budget is nearly used up: finish now with what you have.')],
    ]);
  });

  verifies('A-76').test('may stop it: it ends in budget_exhausted', () => {
    addJob('J', { tokens: 1000 });
    useUp('J');
    answer('J', 'Stop');
    expect([record('J').runtime.ending, record('J').job.budget, mail('J')]).toEqual([
      { why: 'failure', fails: { code: 'budget_exhausted', message: 'the budget of 1000 tokens is used up' } },
      { tokens: 1000 },
      [],
    ]);
  });

  verifies('A-76').test('is asked again when the raised budget is used up', () => {
    addJob('J', { tokens: 1000 });
    useUp('J');
    answer('J', 'Raise');
    round('J', [begun, used(1000)]);
    round('J', [over('interrupted')]);
    expect(asked('J').map(({ requestId }) => requestId)).toEqual([
      'reef:budget:1:tokens:1000',
      'reef:budget:1:tokens:2000',
    ]);
  });

  verifies('A-76').test('by a child raises the budget of the root, and leaves the root where it was', () => {
    addJob('R', { tokens: 1000 });
    addJob('Z', {});
    child('C');
    for (const id of ['R', 'Z']) storage.tell(id, ends());
    useUp('C');
    answer('C', 'Raise');
    const ended = storage.store.jobs.lastEnded(20).map(({ job }) => [job.id, job.status]);
    expect({ budgets: [record('R').job.budget, record('C').job.budget], ended }).toEqual({
      budgets: [{ tokens: 2000 }, {}],
      ended: [
        ['Z', 'completed'],
        ['R', 'completed'],
      ],
    });
  });
});
