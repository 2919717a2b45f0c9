import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { block, follow, manifest, node, segmentOf, startAt, to } from '../../../test/support/workflow/walk.ts';
import type { WorkflowManifest } from '../../protocol/workflow.ts';

const END = 'SUCCESS>RETURN';

describe('memory', () => {
  const seenAt = (nodes: WorkflowManifest, block: string) => {
    let found: unknown;
    follow(nodes, startAt('A'), {
      visit: (order, walk) => {
        const { segments, inherited } = walk.seen();
        if (order.block === block) found = { segments: segments.map(({ content }) => content), inherited };
        return { segments: [segmentOf(order, 'AGENT_OUTPUT', order.block)] };
      },
    });
    return found;
  };
  const nest = (b: object, c: object) =>
    manifest({
      A: node({ a: block(['SUCCESS>CALL:B:A__end']), end: block([END]) }, { static_memory: { a: 1, shared: 'A' } }),
      B: node(
        { b: block(['SUCCESS>CALL:C:B__end']), end: block([END]) },
        { static_memory: { b: 2, shared: 'B' }, ...b },
      ),
      C: node({ c: block([END]) }, { static_memory: { c: 3 }, ...c }),
    });

  verifies('W-13').test('context is gathered from the top frame down, the nearer key winning', () => {
    expect(seenAt(nest({}, {}), 'C__c')).toMatchObject({ inherited: { c: 3, b: 2, shared: 'B', a: 1 } });
  });

  verifies('W-13').test('down to and including the first boundary: RoboSmith looked only at the current node', () => {
    expect(seenAt(nest({ context_inheritance: false }, {}), 'C__c')).toMatchObject({
      inherited: { c: 3, b: 2, shared: 'B' },
    });
    expect(seenAt(nest({}, { context_inheritance: false }), 'C__c')).toMatchObject({ inherited: { c: 3 } });
  });

  verifies('W-13').test('a JUMP into another node replaces the node of the frame', () => {
    const nodes = manifest({
      A: node({ a: block(['SUCCESS>CALL:B']) }, { static_memory: { a: 1 } }),
      B: node({ b: block(['SUCCESS>JUMP:C']) }, { static_memory: { b: 2 }, context_inheritance: false }),
      C: node({ c: block([END]) }, { static_memory: { c: 3 } }),
    });
    expect(seenAt(nodes, 'C__c')).toMatchObject({ inherited: { c: 3, a: 1 } });
  });

  verifies('W-14').test('a boundary cuts inheritance, not what workers made', () => {
    expect(seenAt(nest({ context_inheritance: false }, { context_inheritance: false }), 'C__c')).toMatchObject({
      segments: ['A__a', 'B__b'],
    });
  });

  verifies('W-14').test('payload: args shows the callee its own segments only; the caller then sees them', () => {
    const nodes = nest({ payload: 'args' }, {});
    expect([
      seenAt(nodes, 'B__b'),
      seenAt(nodes, 'C__c'),
      seenAt(nodes, 'B__end'),
      seenAt(nodes, 'A__end'),
    ]).toMatchObject([
      { segments: [] },
      { segments: ['B__b'] },
      { segments: ['B__b', 'C__c'] },
      { segments: ['A__a', 'B__b', 'C__c', 'B__end'] },
    ]);
  });

  verifies('W-14').test('a branch born behind a boundary stays behind it, whatever it jumps to', () => {
    const nodes = manifest({
      A: node({ a: block(['SUCCESS>CALL:B']) }),
      B: node({ b: block(['SUCCESS>FORK:C,C:B__end']), end: block([END]) }, { payload: 'args' }),
      C: node({ c: block(['SUCCESS>JUMP:D']) }),
      D: node({ d: block([END]) }),
    });
    expect(seenAt(nodes, 'D__d')).toMatchObject({ segments: ['B__b', 'C__c'] });
  });

  verifies('W-23').test('a guard sees what its block may see', () => {
    const nodes = manifest({
      A: node({ a: block(['SUCCESS>CALL:B']) }),
      B: node(
        { b: block([to('SUCCESS>HALT_AND_FLAG', { guard: 'last(SECRET) != null' }), 'SUCCESS>RETURN']) },
        { payload: 'args' },
      ),
    });
    const trail = follow(nodes, startAt('A'), {
      visit: (order) =>
        (order.block === 'A__a' && order.visit === 1
          ? { segments: [segmentOf(order, 'SECRET', 'x')] }
          : undefined) as never,
      answer: () => undefined,
    });
    expect(trail.halts.map(({ reason }) => reason)).toEqual(['visits_exhausted']);
  });
});

/** Random programs of JUMP, CALL and RETURN over nodes with and without boundaries, against a model of what may be seen. */
describe('random walks', () => {
  const NODES = ['A', 'B', 'C', 'D'];
  const action = fc.oneof(
    fc.constantFrom(...NODES).map((name) => `JUMP:${name}`),
    fc.constantFrom(...NODES).map((name) => `CALL:${name}`),
    fc.constant('RETURN'),
  );
  const program = fc.record({
    boundaries: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    actions: fc.array(fc.array(action, { minLength: 3, maxLength: 3 }), { minLength: 4, maxLength: 4 }),
    signals: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 40 }),
  });

  const makeManifest = ({ boundaries, actions }: { boundaries: boolean[]; actions: string[][] }) =>
    manifest(
      Object.fromEntries(
        NODES.map((name, index) => [
          name,
          node(
            {
              x: block(
                (actions[index] ?? []).map((each, n) => `S${n}>${each}`),
                { max_visits: 1_000 },
              ),
            },
            { context_inheritance: !boundaries[index], static_memory: { [name]: `value of ${name}`, shared: name } },
          ),
        ]),
      ),
    );

  /** The stack of nodes, kept by the plainest means. */
  class Model {
    stack: string[] = ['A'];
    act(text: string): void {
      const [verb, target = ''] = text.split(':');
      if (verb === 'JUMP') this.stack[this.stack.length - 1] = target;
      else if (verb === 'CALL') this.stack.push(target);
      else this.stack.pop();
    }
    visible(boundaries: boolean[]): string[] {
      const seen: string[] = [];
      for (const name of [...this.stack].reverse()) {
        seen.push(name);
        if (boundaries[NODES.indexOf(name)]) break;
      }
      return [...new Set(seen)].sort();
    }
  }

  verifies('W-12', 'W-11').test(
    'over 1,000 of them nothing leaks through a boundary and the payload is what workers made',
    () => {
      let visits = 0;
      fc.assert(
        fc.property(program, (walkable) => {
          const model = new Model();
          let made = 0;
          const queue = [...walkable.signals];
          const trail = follow(makeManifest(walkable), startAt('A'), {
            visit: (order, walk) => {
              visits += 1;
              const { inherited, segments } = walk.seen();
              const { shared, ...keys } = inherited;
              expect([Object.keys(keys).sort(), shared]).toEqual([
                model.visible(walkable.boundaries),
                model.stack.at(-1),
              ]);
              expect(segments.length).toBe(made);
              const choice = queue.shift();
              if (choice === undefined) return { kind: 'crashed', message: 'enough', stack: '' } as never;
              made += 1;
              model.act(walkable.actions[NODES.indexOf(order.block[0] ?? '')]?.[choice] ?? 'RETURN');
              return { signal: `SIGNAL:S${choice}`, segments: [segmentOf(order, 'AGENT_OUTPUT', 'x')] } as never;
            },
          });
          expect(trail.walk.segmentCount).toBe(made);
        }),
        { numRuns: 1_000 },
      );
      expect(visits).toBeGreaterThan(2_000);
    },
  );
});
