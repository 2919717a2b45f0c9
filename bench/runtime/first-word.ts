/** node bench/runtime/first-word.ts: milliseconds until the first word of an answer is written, rendered and raw, in a new process. */
import { enableCompileCache } from 'node:module';
import { plainAnswer } from '../../src/runtime/engine/emitter.ts';

enableCompileCache();
const timed = async (work: (write: () => void) => Promise<void>): Promise<number> => {
  const begun = performance.now();
  let took = Number.NaN;
  await work(() => {
    took = performance.now() - begun;
  });
  return took;
};
const raw = await timed(async (write) => plainAnswer(write).part('First'));
const rendered = await timed(async (write) => {
  const { AnswerView } = await import('../../src/surfaces/terminal/answer/answer-view.ts');
  const open = () => Promise.reject(new Error('no line is complete'));
  await new AnswerView(open, { write, size: () => ({ columns: 80, rows: 24 }) }).part('First');
});
console.log(JSON.stringify({ raw, rendered }));
