import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { AT, block, follow, manifest, node, segmentOf, startAt, to } from '../../../test/support/workflow/walk.ts';
import type { WorkflowManifest } from '../../protocol/workflow.ts';
import type { VisitOrder } from './outcomes.ts';
import { Walk } from './walk.ts';

const simple = (blocks: Parameters<typeof node>[0]) => manifest({ N: node(blocks) });
const END = 'SUCCESS>RETURN';
const reasons = (trail: ReturnType<typeof follow>) =>
  trail.halts.map(({ reason, block: at, visit }) => `${reason} ${at}#${visit}`);

describe('limits', () => {
  const loop = (more: object, ...others: string[]) =>
    simple({ A: block(['SUCCESS>JUMP:N__A', 'FAILURE>RETURN', ...others], more), B: block([END]) });

  verifies('W-35').test('a block is visited ten times, or as often as it says', () => {
    const ten = follow(loop({}), startAt('N'));
    const two = follow(loop({ max_visits: 2 }), startAt('N'));
    expect([ten.visits.length, reasons(ten), reasons(two)]).toEqual([
      10,
      ['visits_exhausted N__A#11'],
      ['visits_exhausted N__A#3'],
    ]);
  });

  verifies('W-35').test('beyond it SIGNAL:VISITS_EXHAUSTED is taken without running the block', () => {
    const trail = follow(loop({ max_visits: 2 }, 'VISITS_EXHAUSTED>JUMP:N__B'), startAt('N'));
    expect(trail.visits).toEqual(['N__A#1', 'N__A#2', 'N__B#1']);
  });

  verifies('W-35').test('a human retry grants one more, and only one', () => {
    const trail = follow(loop({ max_visits: 1 }), startAt('N'), {
      answer: (_, nth) => (nth < 3 ? { verb: 'retry' } : undefined),
    });
    expect([trail.visits, reasons(trail)]).toEqual([
      ['N__A#1', 'N__A#2', 'N__A#3'],
      ['visits_exhausted N__A#2', 'visits_exhausted N__A#3', 'visits_exhausted N__A#4'],
    ]);
  });

  verifies('F-35').test(
    'a visit whose host is lost is made once more with a new job, and the second time a person is asked',
    () => {
      const walk = new Walk(
        { manifest: loop({ max_visits: 2 }), blobs: { get: () => Buffer.alloc(0) }, autoResume: false },
        startAt('N'),
      );
      const orders: unknown[] = [];
      for (let n = 0; n < 2 && walk.command.do === 'visit'; n++) {
        const { key, visit, jobId } = walk.command.order;
        orders.push({ key, visit, jobId });
        const spent = { tokens: 5, turns: 1, seconds: 1, usd: null };
        walk.takeVisit({ kind: 'lost', message: 'gone', at: AT, segments: [], jobId: 'J', spent });
      }
      expect(orders).toEqual([
        { key: 'main/N__A#1', visit: 1, jobId: undefined },
        { key: 'main/N__A#1~2', visit: 1, jobId: undefined },
      ]);
      expect(walk.command).toMatchObject({ do: 'ask', halt: { reason: 'host_lost', visit: 1 } });
      walk.takeAnswer({ verb: 'abort', at: AT });
      expect(walk.command).toMatchObject({ do: 'end', end: { spent: { tokens: 10 } } });
    },
  );

  const gates = simple({
    T: block(['FAILURE>JUMP:N__F', END], { worker: 'Internal:TestRunner' }),
    F: block(['SUCCESS>JUMP:N__T']),
  });
  const gate = { command: ['t'], code: 1, signal: null, timedOut: false };
  const failOn = (trees: string[]) => (order: VisitOrder) =>
    (order.block === 'N__T' ? { signal: 'SIGNAL:FAILURE', tree: trees[order.visit - 1], gate } : undefined) as never;

  verifies('W-35').test('the same gate failing twice in a row on one tree is no progress', () => {
    const trail = follow(gates, startAt('N'), { visit: failOn(['t1', 't1']) });
    expect([trail.visits, reasons(trail)]).toEqual([['N__T#1', 'N__F#1', 'N__T#2'], ['no_progress N__T#2']]);
  });

  verifies('W-35').test('another tree between is progress, and a person between begins anew', () => {
    const changed = follow(gates, startAt('N'), { visit: failOn(['t1', 't2', 't1', 't3']) });
    expect(reasons(changed)).toEqual(['visits_exhausted N__T#11']);
    const asked = follow(gates, startAt('N'), {
      visit: failOn(['t1', 't1', 't1', 't1']),
      answer: (_, nth) => (nth === 1 ? { verb: 'resume' } : undefined),
    });
    // Resume goes where the failure led; the next failure is the first again.
    expect([asked.visits, reasons(asked)]).toEqual([
      ['N__T#1', 'N__F#1', 'N__T#2', 'N__F#2', 'N__T#3', 'N__F#3', 'N__T#4'],
      ['no_progress N__T#2', 'no_progress N__T#4'],
    ]);
  });

  verifies('W-36').test('an interrupted visit raises SIGNAL:BUDGET_EXHAUSTED, else halts', () => {
    const nodes = simple({ A: block([END]), B: block([END]) });
    const handled = simple({ A: block(['BUDGET_EXHAUSTED>JUMP:N__B', END]), B: block([END]) });
    const visit = (order: VisitOrder) =>
      (order.block === 'N__A' && order.visit === 1 ? { kind: 'interrupted', what: 'tokens' } : undefined) as never;
    const grants: unknown[] = [];
    const halted = follow(nodes, startAt('N'), {
      visit: (order) => {
        grants.push(order.grants);
        return visit(order);
      },
      answer: () => ({ verb: 'retry' }),
    });
    expect([halted.visits, reasons(halted), grants, follow(handled, startAt('N'), { visit }).visits]).toEqual([
      ['N__A#1', 'N__A#2'],
      ['budget_exhausted N__A#1'],
      [
        { run: 0, block: 0 },
        { run: 0, block: 1 },
      ],
      ['N__A#1', 'N__B#1'],
    ]);
  });

  verifies('W-36').test('a used-up budget of the run stops before the next block; a person grants it once more', () => {
    const nodes = simple({ A: block(['SUCCESS>JUMP:N__B']), B: block(['SUCCESS>JUMP:N__C']), C: block([END]) });
    const grants: number[] = [];
    const trail = follow(nodes, startAt('N'), {
      visit: (order) => {
        grants.push(order.grants.run);
        return (order.block === 'N__A' ? { exhausted: 'tokens' } : undefined) as never;
      },
      answer: () => ({ verb: 'resume' }),
    });
    expect([trail.visits, reasons(trail), grants]).toEqual([
      ['N__A#1', 'N__B#1', 'N__C#1'],
      ['budget_exhausted N__B#1'],
      [0, 1, 1],
    ]);
  });

  verifies('W-37').test('a rate limit parks the run: no failure, no visit, the same job goes on', () => {
    const orders: VisitOrder[] = [];
    const script = {
      visit: (order: VisitOrder) => {
        orders.push(order);
        return (order.part === 1 ? { kind: 'parked', message: 'wait', resumeAt: AT, jobId: 'j1' } : undefined) as never;
      },
    };
    const waits = follow(simple({ A: block([END], { max_visits: 1 }) }), startAt('N'), {
      ...script,
      answer: () => ({ verb: 'resume' }),
    });
    expect([
      waits.visits,
      waits.halts.map(({ reason, resumeAt }) => [reason, resumeAt]),
      orders[1]?.jobId,
      waits.end?.visits,
    ]).toEqual([['N__A#1', 'N__A#1~2'], [['rate_limit', AT]], 'j1', { N__A: 1 }]);
    const goesOn = follow(simple({ A: block([END]) }), startAt('N'), {
      ...script,
      autoResume: true,
      answer: () => null,
    });
    expect([goesOn.visits, goesOn.end?.outcome]).toEqual([['N__A#1', 'N__A#1~2'], 'success']);
    const retried = follow(simple({ A: block([END]) }), startAt('N'), {
      ...script,
      answer: (_, nth) => (nth === 1 ? { verb: 'retry' } : { verb: 'resume' }),
    });
    expect(retried.visits).toEqual(['N__A#1', 'N__A#2', 'N__A#2~2']);
  });

  verifies('W-37').test('going on by itself is opt-in', () => {
    const until = (autoResume: boolean) => {
      const walk = new Walk(
        { manifest: simple({ A: block([END]) }), blobs: { get: () => Buffer.alloc(0) }, autoResume },
        startAt('N'),
      );
      walk.takeVisit({ kind: 'parked', message: 'wait', resumeAt: AT, at: AT, segments: [] });
      return walk.command.do === 'ask' ? walk.command.until : 'none';
    };
    expect([until(false), until(true)]).toEqual([undefined, AT]);
  });

  test('blocks that only pass on to each other in a circle halt', () => {
    const nodes = simple({
      A: block(['SUCCESS>JUMP:N__B', 'VISITS_EXHAUSTED>JUMP:N__B'], { max_visits: 1 }),
      B: block(['SUCCESS>JUMP:N__A', 'VISITS_EXHAUSTED>JUMP:N__A'], { max_visits: 1 }),
    });
    const trail = follow(nodes, startAt('N'));
    expect([trail.visits, trail.halts.map(({ reason }) => reason)]).toEqual([['N__A#1', 'N__B#1'], ['no_progress']]);
  });
});

describe('forks', () => {
  const forked = (more: object = {}, ...others: string[]) =>
    manifest({
      N: node({ A: block([to('SUCCESS>FORK:P,Q:N__End', more), ...others]), End: block([END]) }),
      P: node({ p: block([END, 'FAILURE>RETURN']) }),
      Q: node({ q: block(['SUCCESS>CALL:R', 'FAILURE>RETURN', 'RETURNED>RETURN']) }),
      R: node({ r: block([END]) }),
    });
  const say = (order: VisitOrder) => ({ segments: [segmentOf(order, 'AGENT_OUTPUT', order.block)] });

  verifies('W-25').test(
    'branches have the payload so far and an empty stack; their segments come in declared order',
    () => {
      const seen: Record<string, unknown> = {};
      const trail = follow(forked(), startAt('N'), {
        visit: (order, walk) => {
          seen[order.block] = [walk.seen().segments.map(({ content }) => content), walk.returnStack];
          return say(order);
        },
      });
      expect(trail.end?.segments.map(({ type, content, branch }) => [type, content, branch])).toEqual([
        ['AGENT_OUTPUT', 'N__A', 'main'],
        ['AGENT_OUTPUT', 'P__p', 'main.1'],
        ['FORK_RESULT', { node: 'P', signal: 'SIGNAL:SUCCESS' }, 'main'],
        ['AGENT_OUTPUT', 'Q__q', 'main.2'],
        ['AGENT_OUTPUT', 'R__r', 'main.2'],
        ['FORK_RESULT', { node: 'Q', signal: 'SIGNAL:SUCCESS' }, 'main'],
        ['AGENT_OUTPUT', 'N__End', 'main'],
      ]);
      expect(seen).toEqual({
        N__A: [[], []],
        P__p: [['N__A'], []],
        Q__q: [['N__A'], []],
        R__r: [['N__A', 'Q__q'], ['Q__q']],
        N__End: [
          [
            'N__A',
            'P__p',
            { node: 'P', signal: 'SIGNAL:SUCCESS' },
            'Q__q',
            'R__r',
            { node: 'Q', signal: 'SIGNAL:SUCCESS' },
          ],
          [],
        ],
      });
    },
  );

  verifies('W-25').test('without a third field SIGNAL:JOINED leads on', () => {
    const nodes = manifest({
      N: node({ A: block(['SUCCESS>FORK:P,P', 'JOINED>JUMP:N__B']), B: block([END]) }),
      P: node({ p: block([END]) }),
    });
    const trail = follow(nodes, startAt('N'));
    expect([trail.visits, trail.end?.visits]).toEqual([
      ['N__A#1', 'main.1/P__p#1', 'main.2/P__p#1', 'N__B#1'],
      { N__A: 1, P__p: 2, N__B: 1 },
    ]);
  });

  const failing = (order: VisitOrder) => (order.block === 'P__p' ? 'SIGNAL:FAILURE' : undefined) as never;
  verifies('W-25').test('a branch without success is FORK_FAILED, else a halt', () => {
    const halted = follow(forked(), startAt('N'), { visit: failing });
    const led = follow(forked({}, 'FORK_FAILED>JUMP:N__End'), startAt('N'), { visit: failing });
    expect([reasons(halted), led.visits.at(-1)]).toEqual([['fork_failed N__A#1'], 'N__End#1']);
  });

  verifies('W-25').test('join: any is content with one success', () => {
    const trail = follow(forked({ join: 'any' }), startAt('N'), { visit: failing });
    expect([trail.visits.at(-1), trail.end?.outcome]).toEqual(['N__End#1', 'success']);
  });

  verifies('W-26', 'J-35').test(
    'a conflict halts with the files; resume joins again, skip goes on without the branch',
    () => {
      const walk = new Walk(
        { manifest: forked({ isolation: 'worktree' }), blobs: { get: () => Buffer.alloc(0) }, autoResume: false },
        startAt('N'),
      );
      walk.takeVisit({ kind: 'done', signal: 'SIGNAL:SUCCESS', at: AT, segments: [] });
      expect(walk.command).toMatchObject({
        do: 'fork',
        order: { isolation: 'worktree', key: 'main/N__A#1/fork-1', joinTo: 'N__End' },
      });
      walk.takeJoin({ at: AT, ends: [null, null], conflict: { branch: 'main.2', files: ['a.ts'] } });
      expect(walk.command).toMatchObject({ do: 'ask', halt: { reason: 'fork_conflict', files: ['a.ts'] } });
      walk.takeAnswer({ at: AT, verb: 'resume' });
      expect(walk.command).toMatchObject({ do: 'fork', order: { key: 'main/N__A#1/fork-1', again: 1 } });
      walk.takeJoin({ at: AT, ends: [null, null], conflict: { branch: 'main.2', files: ['a.ts'] } });
      walk.takeAnswer({ at: AT, verb: 'skip' });
      expect(walk.command).toMatchObject({ do: 'visit', order: { block: 'N__End' } });
    },
  );

  verifies('W-31').test('an abort in a branch aborts the run', () => {
    const nodes = forked();
    const halting: WorkflowManifest = {
      nodes: { ...nodes.nodes, P: { ...node({ p: block(['SUCCESS>HALT_AND_FLAG']) }), entry_block: 'P__p' } },
    };
    const trail = follow(halting, startAt('N'), { answer: () => ({ verb: 'abort' }) });
    expect([trail.end?.outcome, trail.visits.includes('N__End#1')]).toEqual(['aborted', false]);
  });
});
