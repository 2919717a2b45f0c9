/** node --expose-gc bench/runtime/answer-memory.ts LINES: megabytes that an answer of so many lines keeps while it is shown. */
import { AnswerText } from '../../src/surfaces/render/answer/answer-text.ts';
import { DARK } from '../../src/surfaces/render/answer/theme.ts';
import { AnswerView } from '../../src/surfaces/terminal/answer/answer-view.ts';

const LINES = [
  (n: number) => `- item ${n} of a **long** list, with \`code\``,
  (n: number) => `| row ${n} | of a table |`,
  (n: number) => `export const line${n} = "of code that is \${coloured}";`,
  (n: number) => `Line ${n} of a paragraph that never ends.`,
];
const HEADS = ['', '\n| a | b |\n|---|---|\n', '\n```ts\n', '```\n\n'];

const count = Number(process.argv[2]);
const look = { theme: DARK, wrap: 'auto', wrapCode: false } as const;
const view = new AnswerView(async (columns) => new AnswerText(look, columns), {
  write: () => undefined,
  size: () => ({ columns: 80, rows: 24 }),
});
for (const [kind, line] of LINES.entries()) {
  await view.part(HEADS[kind] ?? '');
  for (let n = 0; n < count / LINES.length; n++) await view.part(`${line(n)}\n`);
}
globalThis.gc?.();
console.log(process.memoryUsage().heapUsed / 1e6);
await view.end();
