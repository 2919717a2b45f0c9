import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Json } from '../adapter.ts';
import { claudeAdapter } from './adapter.ts';

const start = claudeAdapter.initial(
  { jobId: 'J', cwd: '/repo', freshSessionId: 'fresh', prompt: '', clientVersion: '0' },
  { command: ['/bin/claude'], version: '2.1.325', agentSandbox: true, settings: {} },
);

/** As Claude Code 2.1.325 passes on what an MCP server asks. */
const form = (properties: Json): { [key: string]: Json } => ({
  type: 'control_request',
  request_id: 'f',
  request: {
    subtype: 'elicitation',
    mcp_server_name: 'clock',
    message: 'How many workers?',
    mode: 'form',
    requested_schema: { type: 'object', properties, required: ['workers'] },
  },
});

verifies('A-90', 'A-171').test('a form of an MCP server is asked field by field, and checked before it is sent', () => {
  const line = form({
    workers: { type: 'integer', minimum: 1, maximum: 8 },
    mode: { type: 'string', enum: ['fast', 'safe'] },
  });
  const { state, effects } = claudeAdapter.parse(start, { stream: 'out', json: line, skeleton: false });
  const field = { name: 'workers', type: 'integer', required: true, minimum: 1, maximum: 8 };
  const questions = [
    { kind: 'text', question: 'How many workers?\nworkers', field, freeText: true },
    expect.objectContaining({ kind: 'choice', question: 'How many workers?\nmode' }),
  ];
  expect(effects).toEqual([{ do: 'ask', requestId: '"f"', questions }]);
  const answered = (text: string) =>
    claudeAdapter.encode(state, {
      kind: 'answer',
      requestId: '"f"',
      requestLine: JSON.stringify(line),
      answers: [
        { kind: 'text', text },
        { kind: 'choice', ids: ['safe'], labels: ['safe'] },
      ],
    });
  expect(answered('12')).toEqual({ refuse: 'bad_option', message: 'workers: give a number of 8 or less' });
  const response = { action: 'accept', content: { workers: 4, mode: 'safe' } };
  expect(answered('4')).toMatchObject({
    lines: [JSON.stringify({ type: 'control_response', response: { subtype: 'success', request_id: 'f', response } })],
  });
});

test('a form that cannot be read is told, and refused', () => {
  const json = { ...form({}), request: { subtype: 'elicitation' } };
  const { effects } = claudeAdapter.parse(start, { stream: 'out', json, skeleton: false });
  expect(effects.map((effect) => effect.do)).toEqual(['emit', 'write']);
});
