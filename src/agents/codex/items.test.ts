import { expect, test } from 'vitest';
import type { Json } from '../adapter.ts';
import { execTools } from './exec-adapter.ts';
import { contentText, toolItems } from './items.ts';

const base = { id: 'i' };

const appServer: [type: string, item: Record<string, Json>, read: object][] = [
  [
    'commandExecution',
    { command: 'ls', cwd: null, status: 'completed', aggregatedOutput: 'a\n', exitCode: 0 },
    {
      call: { name: 'exec_command', tool: 'shell', title: 'ls', input: { command: 'ls' } },
      result: { ok: true, text: 'a\n', exitCode: 0 },
    },
  ],
  [
    'mcpToolCall',
    { server: 's', tool: 't', status: 'failed', arguments: { a: 1 }, result: null, error: { message: 'no' } },
    { call: { name: 's.t', tool: 'mcp', title: 's: t', input: { a: 1 } }, result: { ok: false, text: 'no' } },
  ],
  [
    'dynamicToolCall',
    { tool: 't', status: 'completed' },
    { call: { name: 't', tool: 'other', title: 't', input: null }, result: { ok: true, text: '' } },
  ],
  [
    'collabAgentToolCall',
    { tool: 'wait', status: 'interrupted', prompt: null, receiverThreadIds: ['a', 'b'] },
    {
      call: { name: 'wait', tool: 'agent', title: 'wait', input: { prompt: null } },
      result: { ok: false, text: 'a, b' },
    },
  ],
  [
    'webSearch',
    { query: '' },
    {
      call: { name: 'web_search', tool: 'search', title: 'Search the web', input: { query: '' } },
      result: { ok: true, text: '' },
    },
  ],
  [
    'imageView',
    { path: '/repo/a.png' },
    {
      call: { name: 'view_image', tool: 'read', title: '/repo/a.png', input: { path: '/repo/a.png' } },
      result: { ok: true, text: '' },
    },
  ],
  [
    'imageGeneration',
    { status: 'failed', savedPath: null },
    {
      call: { name: 'image_generation', tool: 'other', title: 'Generate an image', input: {} },
      result: { ok: false, text: '' },
    },
  ],
];

test.each(appServer)('a %s of the app-server reads as a tool', (type, item, read) => {
  expect(toolItems.get(type)?.({ type, ...base, ...item })).toEqual({ ...base, ...read });
});

const exec: typeof appServer = [
  [
    'mcp_tool_call',
    { server: 's', tool: 't', status: 'failed', result: null, error: { message: 'no' } },
    { call: { name: 's.t', tool: 'mcp', title: 's: t', input: null }, result: { ok: false, text: 'no' } },
  ],
  [
    'collab_tool_call',
    { tool: 'spawn_agent', prompt: 'help', status: 'completed' },
    {
      call: { name: 'spawn_agent', tool: 'agent', title: 'help', input: { prompt: 'help' } },
      result: { ok: true, text: '' },
    },
  ],
  [
    'web_search',
    { query: 'reef' },
    {
      call: { name: 'web_search', tool: 'search', title: 'reef', input: { query: 'reef' } },
      result: { ok: true, text: 'reef' },
    },
  ],
];

test.each(exec)('a %s of exec reads as a tool', (type, item, read) => {
  expect(execTools.get(type)?.({ type, ...base, ...item })).toEqual({ ...base, ...read });
});

test('a tool item that does not fit its schema is none', () => {
  expect([toolItems.get('fileChange')?.({ id: 'i' }), execTools.get('file_change')?.(null)]).toEqual([
    undefined,
    undefined,
  ]);
});

test('content without text is named by its type', () => {
  expect(contentText([{ type: 'text', text: 'a' }, { type: 'image', data: '…' }, {}, 'b', null])).toBe(
    'a\n[image]\n[content]\nb\nnull',
  );
});
