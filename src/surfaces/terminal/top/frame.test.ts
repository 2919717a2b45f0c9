import { expect, test } from 'vitest';
import { Frame } from './frame.ts';

function recorded(takes: () => boolean) {
  const written: string[] = [];
  const frame = new Frame((text) => {
    written.push(text);
    return takes();
  });
  written.length = 0;
  return { frame, written };
}

test('only lines that changed are written', () => {
  const { frame, written } = recorded(() => true);
  frame.draw(['one', 'two', 'three']);
  frame.draw(['one', 'TWO', 'three']);
  frame.draw(['one', 'TWO', 'three']);
  expect(written).toHaveLength(2);
  expect(written[1]).toContain('\u001b[2;1HTWO');
  expect(written[1]).not.toMatch(/one|three/);
});

test('a terminal that takes nothing gets no more frames, and the newest one when it does', () => {
  let takes = false;
  const { frame, written } = recorded(() => takes);
  frame.draw(['1']);
  for (const line of ['2', '3', '4']) frame.draw([line]);
  expect(written).toHaveLength(1);
  takes = true;
  frame.drained();
  frame.draw(['5']);
  expect(written).toHaveLength(2);
  expect(written[1]).toContain('5');
});

test('after a change of the size everything is drawn again', () => {
  const { frame, written } = recorded(() => true);
  frame.draw(['same']);
  frame.forget();
  frame.draw(['same']);
  expect(written.filter((text) => text.includes('same'))).toHaveLength(2);
});
