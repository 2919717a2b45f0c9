import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { OutputLog } from './bound-gates.ts';

verifies('W-17').test('a log keeps its beginning and its end, and says what is missing between', () => {
  const logOf = (chunks: string[]) => {
    const log = new OutputLog(4);
    for (const chunk of chunks) log.push(Buffer.from(chunk));
    return log.bytes().toString();
  };
  expect([logOf(['ab', 'cdef', 'gh']), logOf(['abcd']), logOf(['abcdefghijkl']), logOf([...'abcdefghijkl'])]).toEqual([
    'abcdefgh',
    'abcd',
    'abcd\n…[cut 4 bytes]…\nijkl',
    'abcd\n…[cut 4 bytes]…\nijkl',
  ]);
});
