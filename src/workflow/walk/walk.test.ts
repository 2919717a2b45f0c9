import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { AT, block, follow, manifest, node, segmentOf, startAt, to } from '../../../test/support/workflow/walk.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { VisitOrder } from './outcomes.ts';
import { Walk } from './walk.ts';

const simple = (blocks: Parameters<typeof node>[0]) => manifest({ N: node(blocks) });
const END = 'SUCCESS>RETURN';
const reasons = (trail: ReturnType<typeof follow>) =>
  trail.halts.map(({ reason, block: at, visit }) => `${reason} ${at}#${visit}`);

describe('actions', () => {
  verifies('W-20').test('JUMP goes at once to a block, or to the entry block of a node', () => {
    const nodes = manifest({
      N: node({ A: block(['SUCCESS>JUMP:N__C']), B: block([END]), C: block(['SUCCESS>JUMP:M']) }),
      M: node({ X: block(['SUCCESS>JUMP:N__B']) }),
    });
    expect(follow(nodes, startAt('N')).visits).toEqual(['N__A#1', 'N__C#1', 'M__X#1', 'N__B#1']);
  });

  const fix = { Fix: node({ Go: block([END]) }) };
  const tests = (first: string, more: object = {}, others: Parameters<typeof node>[0] = {}) =>
    manifest({ T: node({ Run: block([to(`FAILURE>${first}`), 'SUCCESS>RETURN'], more), ...others }), ...fix });
  const failOnce = {
    visit: (order: VisitOrder) =>
      (order.block === 'T__Run' && order.visit === 1 ? 'SIGNAL:FAILURE' : undefined) as never,
  };

  verifies('W-21').test('CALL comes back to the calling block: tests fail, CALL:Fix, test again', () => {
    const trail = follow(tests('CALL:Fix'), startAt('T'), failOnce);
    expect([trail.visits, trail.end?.outcome]).toEqual([['T__Run#1', 'Fix__Go#1', 'T__Run#2'], 'success']);
  });

  verifies('W-21').test('CALL with a third field comes back there, whatever else is said', () => {
    const others = { Next: block([END]), Other: block([END]) };
    const trail = follow(tests('CALL:Fix:T__Next', { returns_to: 'T__Other' }, others), startAt('T'), failOnce);
    expect(trail.visits).toEqual(['T__Run#1', 'Fix__Go#1', 'T__Next#1']);
  });

  verifies('W-21').test('CALL without one comes back to returns_to', () => {
    const trail = follow(
      tests('CALL:Fix', { returns_to: 'T__Other' }, { Other: block([END]) }),
      startAt('T'),
      failOnce,
    );
    expect(trail.visits).toEqual(['T__Run#1', 'Fix__Go#1', 'T__Other#1']);
  });

  verifies('W-21').test('CALL without either takes SIGNAL:RETURNED, without running the worker', () => {
    const run = block(['FAILURE>CALL:Fix', 'RETURNED>JUMP:T__After', END]);
    const nodes = manifest({ T: node({ Run: run, After: block([END]) }), ...fix });
    expect(follow(nodes, startAt('T'), failOnce).visits).toEqual(['T__Run#1', 'Fix__Go#1', 'T__After#1']);
  });

  verifies('W-21').test('a guarded SIGNAL:RETURNED that does not hold runs the block again', () => {
    const run = block(['FAILURE>CALL:Fix', to('RETURNED>JUMP:T__After', { guard: 'visits > 5' }), END]);
    const nodes = manifest({ T: node({ Run: run, After: block([END]) }), ...fix });
    expect(follow(nodes, startAt('T'), failOnce).visits).toEqual(['T__Run#1', 'Fix__Go#1', 'T__Run#2']);
  });

  verifies('W-22').test('RETURN pops the last address first', () => {
    const nodes = manifest({
      A: node({ a: block(['SUCCESS>CALL:B:A__end']), end: block([END]) }),
      B: node({ b: block(['SUCCESS>CALL:C:B__end']), end: block([END]) }),
      C: node({ c: block([END]) }),
    });
    const stacks: string[][] = [];
    const trail = follow(nodes, startAt('A'), { visit: (_, walk) => void stacks.push(walk.returnStack) as never });
    expect([trail.visits, stacks]).toEqual([
      ['A__a#1', 'B__b#1', 'C__c#1', 'B__end#1', 'A__end#1'],
      [[], ['A__end'], ['A__end', 'B__end'], ['A__end'], []],
    ]);
  });

  verifies('W-22').test(
    'on an empty stack RETURN ends the run, with success only if the last worker said SUCCESS',
    () => {
      const nodes = simple({ A: block(['SUCCESS>RETURN', 'FAILURE>RETURN', 'PARTLY>RETURN']) });
      const ends = ['SIGNAL:SUCCESS', 'SIGNAL:FAILURE', 'SIGNAL:PARTLY'].map(
        (signal) => follow(nodes, startAt('N'), { visit: () => signal as never }).end,
      );
      expect(ends.map((end) => [end?.outcome, end?.signal])).toEqual([
        ['success', 'SIGNAL:SUCCESS'],
        ['failure', 'SIGNAL:FAILURE'],
        ['failure', 'SIGNAL:PARTLY'],
      ]);
    },
  );

  verifies('W-22').test('calls more than 32 deep halt', () => {
    const nodes = simple({ A: block(['SUCCESS>CALL:N'], { max_visits: 100 }) });
    const trail = follow(nodes, startAt('N'));
    expect([trail.visits.length, reasons(trail), trail.walk.returnStack.length]).toEqual([
      33,
      ['stack_overflow N__A#33'],
      32,
    ]);
  });
});

describe('signals', () => {
  verifies('W-19').test('the first transition with the signal and a true guard is taken', () => {
    const nodes = simple({
      A: block([
        to('SUCCESS>JUMP:N__B', { guard: 'visits > 1' }),
        to('SUCCESS>JUMP:N__C', { guard: 'visits == 1' }),
        'SUCCESS>JUMP:N__D',
      ]),
      B: block([END]),
      C: block([END]),
      D: block([END]),
    });
    expect(follow(nodes, startAt('N')).visits).toEqual(['N__A#1', 'N__C#1']);
  });

  verifies('W-19').test('else the default, which may be guarded too', () => {
    const nodes = simple({
      A: block(['OTHER>RETURN', to('FAIL_DEFAULT>JUMP:N__B', { guard: 'false' }), 'FAIL_DEFAULT>JUMP:N__C']),
      B: block([END]),
      C: block([END]),
    });
    expect(follow(nodes, startAt('N')).visits).toEqual(['N__A#1', 'N__C#1']);
  });

  verifies('W-19').test('else the run halts: RoboSmith ended it as if it had succeeded', () => {
    const trail = follow(simple({ A: block(['OTHER>RETURN']) }), startAt('N'));
    expect([reasons(trail), trail.end]).toEqual([['unmatched_signal N__A#1'], undefined]);
    expect(trail.halts[0]).toEqual({
      key: 'main/halt-1',
      reason: 'unmatched_signal',
      block: 'N__A',
      visit: 1,
      branch: 'main',
      message: 'A ended with SIGNAL:SUCCESS, and the workflow does not say what follows.',
      options: ['resume', 'retry', 'skip', 'abort'],
    });
  });

  verifies('W-18', 'W-19').test(
    'VALIDATION_FAIL and NO_CHANGES fall to the default, the engine’s other signals do not',
    () => {
      const nodes = simple({
        A: block(['FAIL_DEFAULT>JUMP:N__B'], { max_visits: 1 }),
        B: block(['SUCCESS>JUMP:N__A']),
      });
      const raised = (signal: string) =>
        follow(nodes, startAt('N'), { visit: ({ block: at }) => (at === 'N__A' ? signal : undefined) as never });
      expect(raised('SIGNAL:VALIDATION_FAIL').visits).toEqual(['N__A#1', 'N__B#1']);
      // The second visit of A is over its limit: its default does not take that.
      expect(reasons(raised('SIGNAL:NO_CHANGES'))).toEqual(['visits_exhausted N__A#2']);
    },
  );
});

describe('arguments', () => {
  const say = (content: Json) => (order: VisitOrder) => ({ segments: [segmentOf(order, 'AGENT_OUTPUT', content)] });

  verifies('W-24').test(
    'CALL and JUMP bind into the frame entered, through any boundary, and RETURN into the caller',
    () => {
      const bind = (target: string, from: string) => ({ bind_args: [{ to: target, from }] });
      const nodes = manifest({
        A: node({
          a: block([to('SUCCESS>CALL:B:A__end', bind('said', 'last(AGENT_OUTPUT).content.x'))]),
          end: block([to('SUCCESS>RETURN', { guard: 'returned.answer == "ok"' }), 'SUCCESS>HALT_AND_FLAG']),
        }),
        B: node(
          {
            b: block([to('SUCCESS>JUMP:B__c', bind('more', 'args.said'))]),
            c: block([to('SUCCESS>RETURN', bind('answer', '"ok"'))]),
          },
          { context_inheritance: false, payload: 'args' },
        ),
      });
      const seen: Record<string, unknown> = {};
      const trail = follow(nodes, startAt('A'), {
        visit: (order, walk) => {
          const { args, returned } = walk.seen();
          seen[order.block] = { args: { ...args }, returned: { ...returned } };
          return say({ x: 7 })(order);
        },
      });
      expect([seen, trail.end?.outcome]).toEqual([
        {
          A__a: { args: {}, returned: {} },
          B__b: { args: { said: 7 }, returned: {} },
          B__c: { args: { said: 7, more: 7 }, returned: {} },
          A__end: { args: {}, returned: { answer: 'ok' } },
        },
        'success',
      ]);
    },
  );

  verifies('W-24').test('an argument without a value halts', () => {
    const nodes = simple({ A: block([to('SUCCESS>RETURN', { bind_args: [{ to: 'x', from: 'last(NOTHING)' }] })]) });
    const trail = follow(nodes, startAt('N'));
    expect([reasons(trail), trail.halts[0]?.message]).toEqual([
      ['bind_missing N__A#1'],
      'The argument "x" has no value: last(NOTHING) is null.',
    ]);
  });
});

describe('halts', () => {
  const halting = simple({ A: block(['SUCCESS>JUMP:N__B']), B: block(['FAILURE>HALT_AND_FLAG', END]) });
  const failing = (order: VisitOrder) =>
    (order.block === 'N__B' && order.visit === 1 ? 'SIGNAL:FAILURE' : undefined) as never;

  verifies('W-30').test('HALT_AND_FLAG stops the walk and asks, with the end of what failed', () => {
    const trail = follow(halting, startAt('N'), {
      visit: (order) =>
        (order.block === 'N__B'
          ? { signal: 'SIGNAL:FAILURE', segments: [segmentOf(order, 'TEST_RESULT', `${'x'.repeat(5_000)}the end`)] }
          : undefined) as never,
    });
    expect([
      trail.visits,
      trail.halts.map(({ reason, excerpt }) => [reason, excerpt?.length, excerpt?.endsWith('the end')]),
    ]).toEqual([['N__A#1', 'N__B#1'], [['halted_by_workflow', 2_000, true]]]);
  });

  verifies('W-31').test('resume runs the block again, or takes SIGNAL:RESUMED', () => {
    const resumed = simple({
      A: block(['SUCCESS>JUMP:N__B']),
      B: block(['FAILURE>HALT_AND_FLAG', 'RESUMED>JUMP:N__C', END]),
      C: block([END]),
    });
    const answer = () => ({ verb: 'resume' as const });
    expect(follow(halting, startAt('N'), { visit: failing, answer }).visits).toEqual(['N__A#1', 'N__B#1', 'N__B#2']);
    expect(follow(resumed, startAt('N'), { visit: failing, answer }).visits).toEqual(['N__A#1', 'N__B#1', 'N__C#1']);
  });

  verifies('W-31').test('retry runs the same block again, whatever SIGNAL:RESUMED says', () => {
    const nodes = simple({
      A: block(['SUCCESS>JUMP:N__B']),
      B: block(['FAILURE>HALT_AND_FLAG', 'RESUMED>RETURN', END]),
    });
    expect(follow(nodes, startAt('N'), { visit: failing, answer: () => ({ verb: 'retry' }) }).visits).toEqual([
      'N__A#1',
      'N__B#1',
      'N__B#2',
    ]);
  });

  verifies('W-31').test('skip counts as a signal, SUCCESS unless told', () => {
    const nodes = simple({ A: block(['SUCCESS>RETURN', 'FAILURE>HALT_AND_FLAG', 'LATER>JUMP:N__B']), B: block([END]) });
    const skip = (signal?: string) =>
      follow(nodes, startAt('N'), {
        visit: ({ block: at }) => (at === 'N__A' ? 'SIGNAL:FAILURE' : undefined) as never,
        answer: () => ({ verb: 'skip', ...(signal !== undefined && { signal }) }),
      });
    expect([skip().end?.outcome, skip().visits, skip('SIGNAL:LATER').visits]).toEqual([
      'success',
      ['N__A#1'],
      ['N__A#1', 'N__B#1'],
    ]);
  });

  verifies('W-31').test('abort ends the run', () => {
    const trail = follow(halting, startAt('N'), { visit: failing, answer: () => ({ verb: 'abort' }) });
    expect([trail.visits, trail.end?.outcome]).toEqual([['N__A#1', 'N__B#1'], 'aborted']);
  });

  verifies('W-31').test('guidance is memory for the blocks that follow', () => {
    const trail = follow(halting, startAt('N'), {
      visit: failing,
      answer: () => ({ verb: 'retry', guidance: 'look at line 3' }),
    });
    expect(trail.end?.segments).toEqual([
      {
        id: 'main/halt-1/guidance',
        type: 'HUMAN_GUIDANCE',
        content: 'look at line 3',
        timestamp: AT,
        block: 'N__B',
        visit: 1,
        branch: 'main',
      },
    ]);
  });

  verifies('W-33').test('a worker that throws halts with its stack', () => {
    const trail = follow(simple({ A: block([END]) }), startAt('N'), {
      visit: (order) =>
        (order.visit === 1 ? { kind: 'crashed', message: 'boom', stack: 'Error: boom\n  at x' } : undefined) as never,
      answer: () => ({ verb: 'resume' }),
    });
    expect([reasons(trail), trail.halts[0]?.excerpt, trail.end?.outcome]).toEqual([
      ['worker_crashed N__A#1'],
      'Error: boom\n  at x',
      'success',
    ]);
  });

  verifies('W-64').test('a lost or killed job halts; nothing is run again in silence', () => {
    for (const reason of ['job_stale', 'job_killed'] as const) {
      const trail = follow(simple({ A: block([END]) }), startAt('N'), {
        visit: () => ({ kind: 'stopped', reason, message: 'gone' }) as never,
      });
      expect([trail.visits, reasons(trail)]).toEqual([['N__A#1'], [`${reason} N__A#1`]]);
    }
  });
});

describe('stepping', () => {
  const nodes = simple({ A: block(['SUCCESS>JUMP:N__B']), B: block(['SUCCESS>JUMP:N__C']), C: block([END]) });

  verifies('W-34').test('halts before every block, the first included: RoboSmith ran the first unasked', () => {
    const trail = follow(nodes, startAt('N', { stepping: true }), { answer: () => ({ verb: 'approve' }) });
    expect([trail.visits, reasons(trail), trail.halts[0]?.options]).toEqual([
      ['N__A#1', 'N__B#1', 'N__C#1'],
      ['awaiting_approval N__A#1', 'awaiting_approval N__B#1', 'awaiting_approval N__C#1'],
      ['approve', 'skip', 'abort'],
    ]);
  });

  verifies('W-34').test('the mode changes with an answer, or with what a visit found it to be', () => {
    const off = follow(nodes, startAt('N', { stepping: true }), { answer: () => ({ verb: 'approve', step: false }) });
    const on = follow(nodes, startAt('N'), {
      visit: (order) => ({ stepping: order.block === 'N__A' }),
      answer: () => ({ verb: 'approve' }),
    });
    expect([reasons(off), reasons(on)]).toEqual([['awaiting_approval N__A#1'], ['awaiting_approval N__B#1']]);
  });

  verifies('W-34').test('approve: true asks for one block; a skipped one is not run', () => {
    const guarded = simple({ A: block(['SUCCESS>JUMP:N__B']), B: block([END], { approve: true }) });
    const approved = follow(guarded, startAt('N'), { answer: () => ({ verb: 'approve' }) });
    const skipped = follow(guarded, startAt('N'), { answer: () => ({ verb: 'skip' }) });
    expect([approved.visits, reasons(approved), skipped.visits, skipped.end?.visits]).toEqual([
      ['N__A#1', 'N__B#1'],
      ['awaiting_approval N__B#1'],
      ['N__A#1'],
      { N__A: 1, N__B: 1 },
    ]);
  });
});

test('a walk refuses what it did not ask for', () => {
  const walk = new Walk(
    { manifest: simple({ A: block([END]) }), blobs: { get: () => Buffer.alloc(0) }, autoResume: false },
    startAt('N'),
  );
  expect(() => walk.takeAnswer(undefined)).toThrow('no question is open');
  expect(() => walk.takeJoin({ at: AT, ends: [] })).toThrow('no fork is under way');
  walk.takeVisit({ kind: 'done', signal: 'SIGNAL:SUCCESS', at: AT, segments: [] });
  expect(() => walk.takeVisit({ kind: 'done', signal: 'SIGNAL:SUCCESS', at: AT, segments: [] })).toThrow('no visit');
});
