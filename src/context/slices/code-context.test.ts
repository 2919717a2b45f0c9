import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { BASIS, mocked, structured } from '../../../test/support/context/mocked-client.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createSafeDir } from '../../base/safe-dir.ts';
import { McpServerError } from '../client/mcp-server-error.ts';
import { createCodeContext } from './code-context.ts';
import { createSliceAsk } from './slice-ask.ts';

const count = (text: string) => text.length;
const symbols = (complete: boolean) => structured({ symbols: [], basis: { ...BASIS, complete } });
const failure = (code: 'index_incomplete' | 'analysis_timeout' | 'analysis_server_died' | 'no_active_server') =>
  new McpServerError(code, `${code} it is`, { worktreePath: '/w' });

function context(...replies: unknown[]) {
  const clock = manualClock();
  const { service, sent } = mocked(...replies);
  const ensured: string[] = [];
  const servers = {
    async ensureServer(path: string) {
      ensured.push(path);
      if (path === '/none') throw failure('no_active_server');
    },
  };
  const codeContext = createCodeContext({ service, servers, openDir: createSafeDir, count, clock });
  const requires = () => sent.map(([, params]) => (params as { arguments: { require?: string } }).arguments.require);
  const waits = () => sent.map(([, , options]) => options?.timeoutMs);
  return { codeContext, clock, ensured, sent, requires, waits };
}

const request = { slices: ['find:total'], worktreePath: '/w', task: 'mend it' };

verifies('C-104').test('a slice asks for a complete answer for up to ten seconds, then for what there is', async () => {
  const { codeContext, ensured, requires, waits } = context(failure('index_incomplete'), symbols(false));
  const { text, complete } = await codeContext(request);
  expect([text, complete]).toEqual(['#### find:total (stage 2, incomplete)\n0 definitions', false]);
  expect([ensured, requires(), waits()]).toEqual([['/w'], ['complete', undefined], [10_000, 20_000]]);
});

verifies('C-104').test('the ten seconds are those of all slices together', async () => {
  const clock = manualClock();
  const { service, sent } = mocked(symbols(true), symbols(true), symbols(false));
  const servers = { ensureServer: async () => {} };
  const readFile = () => Promise.reject(new Error('none'));
  const ask = createSliceAsk({ service, servers, worktreePath: '/w', readFile, clock });
  await ask.find('a');
  await clock.advance(4_000);
  await ask.find('b');
  await clock.advance(6_000);
  await ask.find('c');
  expect(sent.map(([, params, options]) => [(params as { arguments: unknown }).arguments, options])).toEqual([
    [{ query: 'a', require: 'complete' }, { timeoutMs: 10_000 }],
    [{ query: 'b', require: 'complete' }, { timeoutMs: 6_000 }],
    [{ query: 'c' }, { timeoutMs: 20_000 }],
  ]);
});

verifies('C-085').test('after a death the server is ensured and asked once more', async () => {
  const { codeContext, ensured, requires } = context(failure('analysis_server_died'), symbols(true));
  const { text, complete, degraded } = await codeContext(request);
  expect([text, complete, degraded]).toEqual(['#### find:total (stage 2, complete)\n0 definitions', true, []]);
  expect([ensured, requires()]).toEqual([
    ['/w', '/w'],
    ['complete', 'complete'],
  ]);
});

verifies('C-103', 'C-085').test(
  'a second death, or no server at all, leaves the slice out with its reason',
  async () => {
    const twice = context(failure('analysis_server_died'), failure('analysis_server_died'));
    const none = context();
    expect([await twice.codeContext(request), await none.codeContext({ ...request, worktreePath: '/none' })]).toEqual([
      {
        text: '#### find:total\n(not available: analysis_server_died it is)',
        tokens: expect.any(Number),
        complete: false,
        degraded: [{ slice: 'find:total', code: 'analysis_server_died', message: 'analysis_server_died it is' }],
      },
      expect.objectContaining({
        degraded: [{ slice: 'find:total', code: 'no_active_server', message: 'no_active_server it is' }],
      }),
    ]);
  },
);

verifies('C-100').test(
  'a file is read from the worktree at each visit, without a server; one outside is not',
  async () => {
    const dir = temporaryFolder();
    const { codeContext, ensured } = context();
    const visit = () =>
      codeContext({
        ...request,
        worktreePath: dir,
        slices: ['file:a.txt lines=1-2', 'file:{args.x}'],
        args: { x: '../y' },
      });
    writeFileSync(join(dir, 'a.txt'), 'one\r\ntwo\nthree\n');
    const first = await visit();
    writeFileSync(join(dir, 'a.txt'), 'uno\n');
    const second = await visit();
    const outside = '#### file:../y\n(not available: The path "../y" contains "..".)';
    expect([first.text, second.text, ensured]).toEqual([
      `#### file:a.txt lines=1-2\none\ntwo\n\n${outside}`,
      `#### file:a.txt lines=1-2\nuno\n\n${outside}`,
      [],
    ]);
  },
);

verifies('C-103').test('an item that is no slice is told and the rest is shown', async () => {
  const { codeContext } = context(symbols(true));
  const { text, complete, degraded } = await codeContext({ ...request, slices: ['nonsense', 'find:total'] });
  expect([text, complete, degraded]).toEqual([
    '#### find:total (stage 2, complete)\n0 definitions',
    false,
    [{ slice: '', code: 'wf_context', message: expect.stringContaining('has no kind') }],
  ]);
});
