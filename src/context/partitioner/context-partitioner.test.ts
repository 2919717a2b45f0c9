import { expect, onTestFinished, test } from 'vitest';
import { asText, at, BASIS, mocked, structured } from '../../../test/support/context/mocked-client.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { codeTools } from '../../protocol/code.ts';
import { McpQueryError, McpServerError } from '../client/mcp-server-error.ts';
import { ContextPartitionerService } from './context-partitioner.ts';

/** Every method with arguments of its own, the message it must send, and an answer. */
const METHODS = {
  getFileOutline: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.getFileOutline({ worktreePath, filePath: 'src/a.ts' }),
    sends: { name: 'get_file_outline', arguments: { file_path: 'src/a.ts' } },
    reply: { file_path: 'src/a.ts', language: 'ts', symbols: [], basis: BASIS },
  },
  getSymbolReferences: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.getSymbolReferences({ worktreePath, symbolName: 'total', limit: 5, require: 'complete' }),
    sends: {
      name: 'get_symbol_references',
      arguments: { name: 'total', limit: 5, require: 'complete' },
    },
    reply: { references: [], total_count: 0, basis: BASIS },
  },
  getDirectoryOutline: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.getDirectoryOutline({ worktreePath, args: { directory_path: 'src', includes: ['classes'], depth: 2 } }),
    sends: { name: 'get_directory_outline', arguments: { directory_path: 'src', includes: ['classes'], depth: 2 } },
    reply: { files: [], summary: '', basis: BASIS },
  },
  get_symbol: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.callTool('get_symbol', {
        worktreePath,
        args: { name: 'total', include_source: true, require: 'complete' },
      }),
    sends: { name: 'get_symbol', arguments: { name: 'total', include_source: true, require: 'complete' } },
    reply: { symbols: [], basis: BASIS },
  },
  find_symbols: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.callTool('find_symbols', { worktreePath, args: { query: 'tot', symbol_type: 'function', limit: 5 } }),
    sends: { name: 'find_symbols', arguments: { query: 'tot', symbol_type: 'function', limit: 5 } },
    reply: { symbols: [], basis: BASIS },
  },
  code_search: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.callTool('code_search', {
        worktreePath,
        args: { query: 'round price', limit: 3, context_lines: 1, glob: '**/*.ts' },
      }),
    sends: { name: 'code_search', arguments: { query: 'round price', limit: 3, context_lines: 1, glob: '**/*.ts' } },
    reply: { results: [], total_found: 0, basis: BASIS },
  },
  explore_code: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.callTool('explore_code', {
        worktreePath,
        args: { question: 'where?', budget_tokens: 600, files: ['a.ts'], paths: ['src'] },
      }),
    sends: {
      name: 'explore_code',
      arguments: { question: 'where?', budget_tokens: 600, files: ['a.ts'], paths: ['src'] },
    },
    reply: { slices: [], map: '', tokens: 0, left_out: [], basis: BASIS },
  },
  index_code: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.callTool('index_code', { worktreePath, args: { path: '/w', wait: 'complete' } }),
    sends: { name: 'index_code', arguments: { path: '/w', wait: 'complete' } },
    reply: {
      status: 'success',
      files_indexed: 1,
      symbols_found: 2,
      errors: [],
      duration_ms: 3,
      reused: 1,
      pending: 0,
      basis: BASIS,
    },
  },
  get_hops: {
    call: (s: ContextPartitionerService, worktreePath: string) =>
      s.callTool('get_hops', { worktreePath, args: { files: ['a.ts'], depth: 1 } }),
    sends: { name: 'get_hops', arguments: { files: ['a.ts'], depth: 1 } },
    reply: { files: 'unknown', basis: BASIS },
  },
};

for (const [name, { call, sends, reply }] of Object.entries(METHODS)) {
  verifies('C-081', 'C-083', 'C-085').test(
    `${name} calls getClientFor with its worktreePath and sends that client the exact tools/call message`,
    async () => {
      const { service, asked, sent } = mocked(structured(reply));
      await call(service, '/w');
      const timeoutMs = name === 'index_code' ? 600_000 : 20_000;
      expect([asked, sent]).toEqual([['/w'], [['tools/call', sends, { timeoutMs }]]]);
    },
  );

  verifies('C-082').test(`${name} rejects at once when the manager returns undefined`, async () => {
    const { service, sent } = mocked();
    const failure = await call(service, '/none').catch((error: unknown) => error);
    expect(String(failure)).toBe('McpServerError: No active analysis server for this worktree.');
    expect([failure instanceof McpServerError, failure, sent]).toEqual([
      true,
      expect.objectContaining({ code: 'no_active_server', worktreePath: '/none', retryable: true }),
      [],
    ]);
  });
}

verifies('C-084', 'C-080').test(
  'the content of a successful response is parsed and returned: a file outline, by kind',
  async () => {
    const symbol = (name: string, symbol_type: string, line: number) => {
      const signature = `${symbol_type} ${name}`;
      return { name, symbol_type, line, end_line: line + 1, signature };
    };
    const { service } = mocked(
      structured({
        file_path: 'src/a.ts',
        language: 'typescript',
        basis: BASIS,
        symbols: [
          symbol('total', 'function', 1),
          symbol('Cart', 'class', 3),
          { ...symbol('add', 'method', 4), container: 'Cart' },
          symbol('Point', 'struct', 9),
          symbol('Item', 'interface', 11),
          symbol('Size', 'enum', 13),
          symbol('Price', 'type', 15),
          symbol('TAX', 'constant', 17),
          symbol('cache', 'variable', 18),
        ],
      }),
    );
    expect(await service.getFileOutline({ worktreePath: '/w', filePath: 'src/a.ts' })).toEqual({
      functions: [{ name: 'total', signature: 'function total', line: 1 }],
      classes: [
        { name: 'Cart', line: 3 },
        { name: 'Point', line: 9 },
      ],
      methods: [{ name: 'add', signature: 'method add', line: 4, container: 'Cart' }],
      types: [
        { name: 'Item', kind: 'interface', line: 11 },
        { name: 'Size', kind: 'enum', line: 13 },
        { name: 'Price', kind: 'type', line: 15 },
      ],
      constants: [{ name: 'TAX', line: 17 }],
      basis: BASIS,
    });
  },
);

const reference = (file: string, line: number) => ({
  location: at(file, line),
  reference_type: 'Call',
  confidence: 'exact',
  line_text: `total(${line})`,
});

verifies('C-084').test(
  'references of all pages come as one list, equal to a list, that knows what it rests on',
  async () => {
    const { service, sent } = mocked(
      structured({
        references: [reference('a.ts', 1)],
        total_count: 2,
        next_cursor: 'c1',
        basis: { ...BASIS, complete: false },
      }),
      structured({ references: [reference('b.ts', 2)], total_count: 2, basis: BASIS }),
    );
    const found = await service.getSymbolReferences({ worktreePath: '/w', symbolName: 'total' });
    expect(found).toEqual([
      { filePath: 'a.ts', line: 1, column: 2, kind: 'Call', confidence: 'exact', lineText: 'total(1)' },
      { filePath: 'b.ts', line: 2, column: 2, kind: 'Call', confidence: 'exact', lineText: 'total(2)' },
    ]);
    expect([found.basis, Object.keys(found), sent.map(([, params]) => params)]).toEqual([
      BASIS,
      ['0', '1'],
      [
        { name: 'get_symbol_references', arguments: { name: 'total' } },
        { name: 'get_symbol_references', arguments: { name: 'total', cursor: 'c1' } },
      ],
    ]);
  },
);

test('a limit ends the paging', async () => {
  const { service, sent } = mocked(
    structured({
      references: [reference('a.ts', 1), reference('a.ts', 2)],
      total_count: 9,
      next_cursor: 'c1',
      basis: BASIS,
    }),
  );
  const found = await service.getSymbolReferences({ worktreePath: '/w', symbolName: 'total', limit: 2 });
  expect([found.length, sent.length]).toEqual([2, 1]);
});

test('a server whose pages never end is refused', async () => {
  const page = structured({ references: [], total_count: 0, next_cursor: 'again', basis: BASIS });
  const { service } = mocked(...Array.from({ length: 1_001 }, () => page));
  await expect(service.getSymbolReferences({ worktreePath: '/w', symbolName: 'x' })).rejects.toMatchObject({
    code: 'analysis_protocol',
  });
});

verifies('C-084').test('pages of a directory come as one answer', async () => {
  const file = (file_path: string) => ({
    file_path,
    symbols: [{ name: 'T', symbol_type: 'class', line: 1, end_line: 2, signature: 'class T' }],
  });
  const { service, sent } = mocked(
    structured({ files: [file('src/a.ts')], summary: '2 files', next_cursor: 'c1', basis: BASIS }),
    structured({ files: [file('src/b.ts')], summary: '2 files', basis: BASIS }),
  );
  expect(await service.getDirectoryOutline({ worktreePath: '/w', args: { directory_path: 'src' } })).toEqual({
    files: [file('src/a.ts'), file('src/b.ts')],
    summary: '2 files',
    basis: BASIS,
  });
  expect(sent.length).toBe(2);
});

verifies('C-084').test('what is no answer is refused with its first 200 characters', async () => {
  const long = `<html>${'x'.repeat(500)}`;
  const replies = [
    asText(long),
    asText('{"symbols": 3}'),
    structured({ symbols: 'no' }),
    {},
    null,
    'text',
    { content: [] },
  ];
  const { service } = mocked(...replies);
  const messages: string[] = [];
  for (const _ of replies) {
    const failure = await service.getFileOutline({ worktreePath: '/w', filePath: 'a.ts' }).catch((error) => error);
    expect(failure).toMatchObject({ name: 'McpServerError', code: 'analysis_protocol', retryable: false });
    messages.push(failure.message);
  }
  expect(messages[0]).toBe(`The answer to get_file_outline cannot be read: ${long.slice(0, 200)}`);
});

verifies('C-084').test('a refusal of the server is a query error under its own code where we know it', async () => {
  const refusals = [
    { isError: true, ...asText('something broke') },
    { isError: true, ...asText('file_not_found: There is no src/b.ts; src/a.ts is the nearest.') },
    {
      isError: true,
      ...structured({ error: { code: 'cursor_expired', message: 'The files changed.', details: { at: 'a.ts' } } }),
    },
    { isError: true, ...asText(JSON.stringify({ error: { code: 'no_such_code', message: 'New.' } })) },
    { isError: true },
  ];
  const { service } = mocked(...refusals);
  const shown: unknown[] = [];
  for (const _ of refusals) {
    const failure = await service.getFileOutline({ worktreePath: '/w', filePath: 'b.ts' }).catch((error) => error);
    expect(failure).toBeInstanceOf(McpQueryError);
    shown.push([failure.code, failure.message, failure.retryable]);
  }
  expect(shown).toEqual([
    ['mcp_query', 'something broke', false],
    ['file_not_found', 'There is no src/b.ts; src/a.ts is the nearest.', false],
    ['cursor_expired', 'The files changed.', true],
    ['mcp_query', 'New.', false],
    ['mcp_query', 'The analysis server refused without a reason.', false],
  ]);
});

verifies('C-004', 'X-40').test(
  'a path that leads out is refused before anything is sent; one named from the root is ours',
  async () => {
    const { service, sent } = mocked(structured(METHODS.getFileOutline.reply));
    for (const filePath of ['../b/a.ts', '/etc/passwd', '/w2/a.ts', 'src/../../a.ts', '.git/config', 'a\u0000b']) {
      await expect(service.getFileOutline({ worktreePath: '/w', filePath })).rejects.toMatchObject({
        code: 'path_outside_worktree',
      });
    }
    await expect(
      service.callTool('get_hops', { worktreePath: '/w', args: { files: ['a.ts', '../b.ts'] } }),
    ).rejects.toMatchObject({
      code: 'path_outside_worktree',
    });
    await service.getFileOutline({ worktreePath: '/w', filePath: '/w/src/a.ts' });
    expect(sent.map(([, params]) => params)).toEqual([
      { name: 'get_file_outline', arguments: { file_path: 'src/a.ts' } },
    ]);
  },
);

test('arguments a tool would refuse are refused here, naming the field', async () => {
  const { service, sent } = mocked();
  const failure = await service
    .callTool('find_symbols', { worktreePath: '/w', args: { query: 'x', limit: 51 } })
    .catch((error) => error);
  expect([failure.code, failure.details.field, sent]).toEqual(['bad_arguments', 'limit', []]);
});

verifies('C-085').test('a signal and a shorter time go with the question, and a death is not repeated', async () => {
  const died = new McpServerError('analysis_server_died', 'gone', { worktreePath: '/w' });
  const { service, sent } = mocked(died);
  const { signal } = new AbortController();
  const asked = service.callTool('get_symbol', { worktreePath: '/w', args: { name: 'x' } }, { timeoutMs: 5, signal });
  await expect(asked).rejects.toBe(died);
  expect(sent.map(([, , options]) => options)).toEqual([{ timeoutMs: 5, signal }]);
});

test('the accessor gives the service the app installed', () => {
  const { service } = mocked();
  expect(() => ContextPartitionerService.getInstance()).toThrow('No app runs');
  ContextPartitionerService.install(service);
  onTestFinished(() => ContextPartitionerService.install(undefined));
  expect(ContextPartitionerService.getInstance()).toBe(service);
});

verifies('C-084').test(
  'an answer of our own server is handed on whole: agents are promised every field of it',
  async () => {
    const symbol = { id: 'a.ts#f:3', name: 'f', symbol_type: 'function', location: at('a.ts', 3), namespace: null };
    const answers = {
      get_symbol: { symbols: [{ ...symbol, visibility: 'public', signature: 'f()', source: 'f() {}' }], basis: BASIS },
      get_symbol_references: {
        references: [
          {
            ...{ location: at('b.ts', 1), reference_type: 'Call', target_symbol: 'a.ts#f:3' },
            ...{ confidence: 'exact', line_text: 'f()' },
          },
        ],
        total_count: 1,
        basis: BASIS,
      },
      get_file_outline: { file_path: 'a.ts', language: 'typescript', symbols: [], basis: BASIS },
      code_search: {
        results: [{ score: 2, file_path: 'a.ts', language: null, line: 4, line_text: 'x', content_snippet: 'w\nx' }],
        total_found: 1,
        basis: BASIS,
      },
      explore_code: {
        slices: [{ file_path: 'a.ts', start_line: 1, end_line: 2, why: 'name', text: 't' }],
        map: 'a.ts',
        tokens: 9,
        left_out: ['b.ts'],
        basis: BASIS,
      },
      get_hops: { files: [{ file_path: 'a.ts', distance: 1, via: 'import' }], basis: BASIS },
      index_code: METHODS.index_code.reply,
    };
    const questions = {
      get_symbol: { name: 'f' },
      get_symbol_references: { name: 'f' },
      get_file_outline: { file_path: 'a.ts' },
      code_search: { query: 'x' },
      explore_code: { question: 'x' },
      get_hops: { files: ['b.ts'] },
      index_code: { path: '/w' },
    };
    for (const tool of Object.keys(questions) as (keyof typeof questions)[]) {
      const answer = codeTools[tool].output.parse(answers[tool]);
      const { service } = mocked(structured(answer));
      expect(await service.callTool(tool, { worktreePath: '/w', args: questions[tool] as never })).toEqual(answer);
    }
  },
);
