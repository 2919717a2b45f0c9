import { expect, test } from 'vitest';
import { parseScripts } from './script.ts';

test('a script alone is called main', () => {
  expect(parseScripts([{ text: 'Hello' }])).toEqual({ main: [{ text: 'Hello' }] });
});

test('a script may use every field', () => {
  const all = {
    if: 'yes|no',
    text: 't',
    thinking: 't',
    tools: [
      { write: 'a', content: 'x' },
      { edit: 'a', old: 'x', new: 'y' },
      { read: 'a' },
      { shell: 'ls' },
      { shell: 'ls', escalate: 'why' },
      { ask: [{ question: 'q', options: ['a'], header: 'h', multi: true }] },
      { plan: 'p' },
      { tool: 't', input: {} },
    ],
    usage: { input: 1, output: 2, cached: 0 },
    stop: 'length',
    bigText: 1,
    times: 2,
    delayMs: 0,
    chunkMs: 1,
  };
  const faults = { status: 529, retryAfter: 1, streamError: 'e', cutAfter: 0, hang: true };
  expect(parseScripts({ all: [all, faults] })).toEqual({ all: [all, faults] });
});

test.each([
  ['text', 'a script is an array of turns, or an object of such arrays by name'],
  [{ a: 1 }, 'a: a script is an array of turns'],
  [{ 'a/b': [] }, '"a/b": a name is made of letters, digits, ".", "_", "-"'],
  [[1], 'main[0]: a turn is an object'],
  [[{ txt: 'x' }], 'main[0]: unknown field "txt"'],
  [[{}, { text: 1 }], 'main[1]: bad value of "text": 1'],
  [[{ status: 200 }], 'main[0]: bad value of "status": 200'],
  [[{ usage: { in: 1 } }], 'main[0]: bad value of "usage": {"in":1}'],
  [[{ if: '(' }], 'main[0]: "if" is no regular expression'],
  [[{ tools: ['ls'] }], 'main[0].tools[0]: an action is an object'],
  [[{ tools: [{ run: 'ls' }] }], 'main[0].tools[0]: an action has one of write, edit, read, shell, ask, plan, tool'],
  [[{ tools: [{ write: 'a' }] }], 'main[0].tools[0]: "content" is missing'],
  [[{ tools: [{ shell: 'ls', why: 'x' }] }], 'main[0].tools[0]: unknown field "why"'],
  [[{ tools: [{ ask: [{ question: 'q' }] }] }], 'main[0].tools[0]: bad value of "ask": [{"question":"q"}]'],
])('%j is refused with its place', (value, message) => {
  expect(() => parseScripts(value)).toThrow(message);
});
