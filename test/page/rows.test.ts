import fc from 'fast-check';
import { expect } from 'vitest';
import type { AgentEvent } from '../../src/protocol/events.ts';
import { type Row, Rows } from '../../web/src/screens/job/rows.ts';
import { verifies } from '../support/verifies.ts';

const id = fc.constantFrom('a', 'b', 'c');
const word = fc.constantFrom('one', 'two');
const parent = fc.constantFrom({}, {}, { parent: 'x' });
const progress = (payload: fc.Arbitrary<object>) => payload.map((each) => ({ type: 'progress', payload: each }));
const body = fc.oneof(
  progress(
    fc
      .tuple(word, fc.boolean(), parent)
      .map(([text, delta, more]) => ({ kind: 'text', text, ...(delta && { delta }), ...more })),
  ),
  progress(word.map((text) => ({ kind: 'thinking', text }))),
  progress(fc.tuple(id, word).map(([each, text]) => ({ kind: 'tool_result', id: each, ok: true, text }))),
  progress(fc.constant({ kind: 'usage', input: 1, output: 1 })),
  id.map((each) => ({ type: 'tool_call', payload: { id: each, name: 'bash', tool: 'shell', title: each, input: {} } })),
  word.map((result) => ({ type: 'completed', payload: { scope: 'job', outcome: 'done', durationMs: 1, result } })),
);
const events = fc
  .array(body, { maxLength: 40 })
  .map((all) =>
    all.map((each, at) => ({ ...each, seq: at + 1, timestamp: '', agentId: 'J' }) as unknown as AgentEvent),
  );

verifies('U-32').test(
  'a job that is read from its tail, page by page, has the rows of one that is read from its beginning',
  () => {
    fc.assert(
      fc.property(events, fc.integer({ min: 1, max: 9 }), (all, size) => {
        const inOrder = new Rows();
        for (const event of all) inOrder.add(event);
        const fromTail = new Rows();
        for (const event of all.slice(-size)) fromTail.add(event);
        for (let end = all.length - size; end > 0; end -= size)
          fromTail.prepend(all.slice(Math.max(0, end - size), end));
        expect(bare(fromTail.all)).toEqual(bare(inOrder.all));
        // What comes next is joined to the same rows.
        const next = {
          seq: 99,
          timestamp: '',
          agentId: 'J',
          type: 'progress',
          payload: { kind: 'tool_result', id: 'a', ok: true, text: 'x' },
        };
        for (const rows of [inOrder, fromTail]) rows.add(next as unknown as AgentEvent);
        expect(bare(fromTail.all)).toEqual(bare(inOrder.all));
      }),
      { numRuns: 3_000 },
    );
  },
);

/** Where a row begins, and what it shows. */
const bare = (rows: readonly Row[]) => rows.map((row) => JSON.parse(JSON.stringify(row)) as unknown);
