import { expect, test } from 'vitest';
import { Engine } from './engine.ts';
import { unpackFacts } from './pack-facts.ts';
import { readTree } from './read-source.ts';

/** Pairs of surrogates stand at every place, so also across the ends of the pieces in which tree-sitter fetches the text. */
function sourceOf(functions: number): string {
  const one = (at: number) => `/* ${'🪸'.repeat(at % 17)}é */ function f${at}() { return '${'鯨'.repeat(at % 5)}'; }\n`;
  return Array.from({ length: functions }, (_, at) => one(at)).join('');
}

function namesIn(text: string) {
  return text.split('\n').flatMap((line, at) => {
    const column = line.indexOf(' f') + ' function '.length;
    const name = /function (\w+)/.exec(line)?.[1];
    return name === undefined ? [] : [{ name, line: at + 1, column }];
  });
}

test('a text of many pieces is parsed as it is, and the next one, shorter, without what the last one left', async () => {
  const engine = await Engine.start();
  const loaded = engine.load('javascript');
  for (const text of [sourceOf(4_000), sourceOf(3), '', sourceOf(700)]) {
    const answer = readTree(engine, loaded, { source: Buffer.from(text), language: 'javascript', parseMs: 60_000 });
    const facts = 'data' in answer ? unpackFacts(answer.data) : undefined;
    expect(facts?.partial).toBe(false);
    expect(facts?.definitions.map(({ name, line, column }) => ({ name, line, column }))).toEqual(namesIn(text));
  }
});
