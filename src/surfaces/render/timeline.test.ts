import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NOW, sampleEvent, sampleQuestion } from '../../../test/support/surfaces/samples.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createStyle } from './style.ts';
import { eventLine, type LoggedEvent, renderEvent, renderEvents } from './timeline.ts';

const style = {
  ...createStyle({ colour: false, width: 80, now: NOW }),
  clock: (time: Date) => time.toISOString().slice(11, 19),
};
const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0, costUsd: 0.5, partial: false };
const progress = (payload: object) => sampleEvent('progress', payload as Record<string, unknown>);

const cases: [LoggedEvent, string][] = [
  [
    sampleEvent('started', { agent: 'claude', cwd: '/repo', sandbox: 'bubblewrap', resumed: false }),
    '▶ claude started in /repo, in a sandbox',
  ],
  [
    sampleEvent('started', { agent: 'codex', cwd: '/r', sandbox: 'none', resumed: true }),
    '▶ codex resumed in /r, without a sandbox',
  ],
  [progress({ kind: 'text', text: 'two\nlines' }), '  two\n           lines'],
  [progress({ kind: 'thinking', text: 'hm', parent: 'x' }), '·   hm'],
  [progress({ kind: 'tool_result', id: '1', ok: true, text: 'fine' }), '✓ fine'],
  [progress({ kind: 'tool_result', id: '1', ok: true, text: '' }), '✓ done'],
  [progress({ kind: 'tool_result', id: '1', ok: false, exitCode: 2, text: 'no' }), '✗ exit 2\n           no'],
  [progress({ kind: 'tool_result', id: '1', ok: false, text: '', closedBy: 'interrupt' }), '✗ ended by interrupt'],
  [progress({ kind: 'session', sessionId: 's', model: 'm', agentVersion: '1.0' }), '· session s m 1.0'],
  [progress({ kind: 'queued', position: 3 }), '· waits for a free slot, number 3 in the queue'],
  [progress({ kind: 'turn', n: 2 }), '· turn 2'],
  [
    progress({ kind: 'retry', attempt: 1, max: 3, delayMs: 2_000, message: 'overloaded' }),
    '! retry 1 of 3 in 2s overloaded',
  ],
  [progress({ kind: 'rate_limit', resumeAt: 'noon' }), '! rate limit until noon'],
  [progress({ kind: 'usage', usage }), '· 10 tokens in, 5 out, $0.50'],
  [progress({ kind: 'budget', what: 'tokens', used: 80, limit: 100 }), '! 80 of 100 tokens used'],
  [
    progress({
      kind: 'plan',
      entries: [{ text: 'a', status: 'completed' }, { text: 'b', status: 'in_progress' }, { text: 'c' }],
    }),
    '☰ ☑ a\n           ▸ b\n           ☐ c',
  ],
  [progress({ kind: 'subagent', id: '7', state: 'running', text: 'looks' }), '· sub-agent 7 running looks'],
  [progress({ kind: 'withdrawn', questionId: '0#0', by: 'agent' }), '· the question was withdrawn (agent)'],
  [progress({ kind: 'auto_answered', questionId: '0#0', grant: '--yes' }), '✓ Reef allowed it (--yes)'],
  [progress({ kind: 'auto_answered', questionId: '0#0', grant: 'readonly' }), '✗ Reef denied it (readonly)'],
  [progress({ kind: 'warning', message: 'careful', count: 3 }), '! careful (3 times)'],
  [progress({ kind: 'raw', name: 'new_thing', ref: 'out:12' }), '· unknown message new_thing out:12'],
  [progress({ kind: 'of a newer Reef', n: 1 }), '· {"kind":"of a newer Reef","n":1}'],
  [sampleEvent('tool_call', { name: 'Bash', tool: 'shell', title: 'x', input: { command: 'npm test' } }), '$ npm test'],
  [sampleEvent('tool_call', { name: 'Bash', tool: 'shell', title: 'run it', input: {} }), '→ run it'],
  [sampleEvent('tool_call', { name: 'Read', tool: 'read', title: 'Read a.ts', input: {} }), '→ Read a.ts'],
  [
    sampleEvent('file_edit', { kind: 'update', path: 'a.ts', diff: '-a\n+b' }),
    '± update a.ts\n           -a\n           +b',
  ],
  [
    sampleEvent('file_edit', { kind: 'rename', from: 'a', path: '/etc/b', outside: true }),
    '± rename a → /etc/b (outside the working folder)',
  ],
  [sampleEvent('needs_input', sampleQuestion({ input: { command: 'ls' } })), '? Allow Bash?\n           $ ls'],
  [
    sampleEvent('needs_input', { kind: 'choice', question: 'Which?', options: ['A', 'B'] }),
    '? Which?\n             1  A\n             2  B',
  ],
  [sampleEvent('input_sent', { by: 'uid:1', decision: 'allow_once' }), '‹ you: allow_once'],
  [sampleEvent('input_sent', { by: 'uid:1', option: ['A', 'B'] }), '‹ you: A, B'],
  [sampleEvent('input_sent', { by: 'uid:1', text: 'hi', maybe_repeated: true }), '‹ you: hi (perhaps a second time)'],
  [
    sampleEvent('error', { code: 'agent_exit', message: 'exit 1', fatal: true, stderrTail: 'boom\n' }),
    '✗ agent_exit: exit 1\n           boom',
  ],
  [sampleEvent('error', { code: 'bad_line', message: 'what', fatal: false, count: 20 }), '✗ bad_line: what (20 times)'],
  [sampleEvent('completed', { scope: 'turn', outcome: 'done', usage }), '· turn done, 10 tokens in, 5 out, $0.50'],
  [
    sampleEvent('completed', { scope: 'process', outcome: 'done', result: 'All green.', durationMs: 65_000 }),
    '■ done after 1m05s\n           All green.',
  ],
];

test('each type and kind of event has its words', () => {
  for (const [event, words] of cases) expect(renderEvent(event, undefined, style)).toBe(`12:00:01 ${words}`);
});

test('text that goes on is shown without a second time', () => {
  const piece = (text: string, parent?: string) => progress({ kind: 'text', text, ...(parent ? { parent } : {}) });
  const events = [
    piece('one'),
    piece('two'),
    piece('other', 'p'),
    sampleEvent('tool_call', { title: 't' }),
    piece('three'),
  ];
  expect(
    renderEvents(events, style)
      .split('\n')
      .map((line) => line.slice(0, 8).trim()),
  ).toEqual(['12:00:01', '', '12:00:01', '12:00:01', '12:00:01']);
});

test('long results and diffs are cut, and the cut is counted', () => {
  const text = Array.from({ length: 50 }, (_, index) => `line ${index}`).join('\n');
  const result = renderEvent(progress({ kind: 'tool_result', ok: true, text }), undefined, style).split('\n');
  expect([result.length, result.at(-1)?.trim()]).toEqual([9, '… 42 more lines']);
  const diff = renderEvent(sampleEvent('file_edit', { kind: 'add', path: 'a', diff: text }), undefined, style).split(
    '\n',
  );
  expect([diff.length, diff.at(-1)?.trim()]).toEqual([21, '… 31 more lines']);
});

verifies('X-51').test('no event, of whatever shape, sends a control character to the terminal', () => {
  const types = [
    'started',
    'progress',
    'tool_call',
    'file_edit',
    'needs_input',
    'input_sent',
    'error',
    'completed',
  ] as const;
  const kinds = cases.map(([event]) => event.payload.kind).filter((kind) => typeof kind === 'string');
  const keys = [...new Set(cases.flatMap(([event]) => Object.keys(event.payload)))];
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constant('\u001b]52;c;AAAA\u0007'),
    fc.constant('\u202eevil'),
    fc.constantFrom(null, 7, true, {}, [null, 'a'], { text: 5 }),
  );
  const payload = fc
    .dictionary(fc.constantFrom(...keys), hostile)
    .chain((fields) => fc.constantFrom(...kinds).map((kind) => ({ ...fields, kind })));
  fc.assert(
    fc.property(fc.constantFrom(...types), payload, (type, fields) => {
      const text = renderEvent(sampleEvent(type, fields), undefined, style);
      expect(text).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}]/u);
    }),
    { numRuns: 100 },
  );
});

test('a diff is coloured by its signs', () => {
  const coloured = { ...createStyle({ colour: true, width: 80, now: NOW }), clock: style.clock };
  const text = renderEvent(
    sampleEvent('file_edit', { kind: 'update', path: 'a', diff: '-a\n+b\n c' }),
    undefined,
    coloured,
  );
  expect(text).toContain('\u001b[31m-a\u001b[39m');
  expect(text).toContain('\u001b[32m+b\u001b[39m');
});

verifies('A-173').test('a series of retries is one line, and the end does not repeat the error', () => {
  const retry = (attempt: number) => progress({ kind: 'retry', attempt, max: 3, message: 'overloaded' });
  const error = { code: 'agent_error', message: 'overloaded', fatal: false, scope: 'turn', retryable: true };
  const end = sampleEvent('error', { ...error, fatal: true, scope: 'process', repeats: true });
  const events = [retry(1), retry(2), retry(3), sampleEvent('error', error), end];
  const shown = renderEvents(events, style).split('\n');
  expect(shown.map((line) => line.slice('12:34:56 '.length))).toEqual([
    '! retry 3 of 3 overloaded',
    '✗ agent_error: overloaded',
    '✗ agent_error: the agent ended with this error',
  ]);
  expect(events.flatMap((event, index) => eventLine(event, events[index - 1])?.text ?? [])).toHaveLength(3);
});
