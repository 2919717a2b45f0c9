import { expect, test } from 'vitest';
import { commandFrom } from './command-line.ts';

test.each<[string, string[]]>([
  ['npm test', ['npm', 'test']],
  ['  make   CC=clang  ', ['make', 'CC=clang']],
  ['./run-tests --all', ['./run-tests', '--all']],
  ['CI=1 npm test', ['sh', '-c', 'CI=1 npm test']],
  ['tsc && vitest', ['sh', '-c', 'tsc && vitest']],
  ["echo 'a b'", ['sh', '-c', "echo 'a b'"]],
])('%s', (text, words) => {
  expect(commandFrom(text)).toEqual(words);
});
