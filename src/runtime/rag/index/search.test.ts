import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { evaluate, readQuestions } from '../../../../bench/runtime/evaluation.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { fillTemplate } from '../rag.ts';
import { hashDocument } from './embedder.ts';
import { fuse } from './search.ts';
import { normalised, packVector, VectorBlock } from './vectors.ts';

verifies('R-155', 'R-44').test(
  'on the evaluation set, words and vectors together find at least what either finds alone',
  async () => {
    const evaluation = await evaluate(join(temporaryFolder(), 'index.sqlite'));
    const [words, vectors, hybrid] = (['words', 'vectors', 'hybrid'] as const).map(
      (method) => evaluation.quality(method).recall,
    ) as [number, number, number];
    const [ranked, plain] = [evaluation.quality('words').rank, evaluation.quality('BM25').rank];
    const misspelt = evaluation.quality('hybrid', 'misspelt').recall;
    expect({
      questions: readQuestions().length,
      notLess: hybrid >= words && hybrid >= vectors,
      isGood: hybrid >= 0.95,
      notWorseThanBm25: ranked >= plain && words >= evaluation.quality('BM25').recall,
      misspelt,
    }).toEqual({
      questions: 60,
      notLess: true,
      isGood: true,
      notWorseThanBm25: true,
      misspelt: 1,
    });
  },
);

verifies('R-43').test('ranks are fused by their reciprocals, weighted', () => {
  const fused = fuse(
    [
      { ids: [1, 2, 3], weight: 1.125 },
      { ids: [3, 4], weight: 1 },
    ],
    10,
  );
  expect(fused.map(({ id, score }) => [id, score.toFixed(6)])).toEqual([
    [3, (1.125 / 13 + 1 / 11).toFixed(6)],
    [1, (1.125 / 11).toFixed(6)],
    [2, (1.125 / 12).toFixed(6)],
    [4, (1 / 12).toFixed(6)],
  ]);
});

test('packed vectors are ranked as the exact ones', () => {
  const vector = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 16, maxLength: 16 });
  fc.assert(
    fc.property(fc.array(vector, { minLength: 1, maxLength: 30 }), vector, (list, query) => {
      const exact = normalised(Float32Array.from(query));
      const block = new VectorBlock(16, 1);
      const scores = new Map<number, number>();
      for (const [id, values] of list.entries()) {
        const each = normalised(Float32Array.from(values));
        block.add(id, packVector(each));
        scores.set(
          id,
          each.reduce((sum, value, index) => sum + value * (exact[index] ?? 0), 0),
        );
      }
      const [best] = block.nearest(exact, 1);
      const greatest = Math.max(...scores.values());
      if (best === undefined) expect(greatest).toBeLessThan(0.05);
      else expect(scores.get(best) ?? -1).toBeGreaterThan(greatest - 0.05);
    }),
  );
});

test('vectors of another model are left out', () => {
  const block = new VectorBlock(512, 1);
  block.add(1, packVector(Float32Array.of(1, 2, 3)));
  block.add(2, packVector(hashDocument('pelicans fish')));
  expect(block.nearest(hashDocument('pelicans'), 5)).toEqual([2]);
});

verifies('R-47').test('what is put into a template is not looked at again', () => {
  const values = { context: 'C __INPUT__ $& $1', sources: '__CONTEXT__', input: '__SOURCES__' };
  expect({
    own: fillTemplate('<__CONTEXT__|__SOURCES__|__INPUT__|__OTHER__>', values),
    ours: fillTemplate(null, { context: 'passage', sources: 'a.md', input: 'why?' }),
  }).toEqual({
    own: '<C __INPUT__ $& $1|__CONTEXT__|__SOURCES__|__OTHER__>',
    ours: expect.stringMatching(/<context>\npassage\n<\/context>[\s\S]*a\.md[\s\S]*why\?/),
  });
});
