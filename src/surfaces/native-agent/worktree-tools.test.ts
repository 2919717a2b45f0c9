import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { loadTokenCounter } from '../../base/tokens.ts';
import { createFunctions } from '../../runtime/tools/tool.ts';
import type { Call } from './patient-call.ts';
import { worktreeTools } from './worktree-tools.ts';

const context = { cwd: '/', signal: new AbortController().signal, ask: async () => ({ kind: 'needs_human' as const }) };

verifies('R-90', 'U-16').test(
  'an agent of our own asks about its own worktree and no other, in few tokens, and is answered in words',
  async () => {
    const asked: unknown[] = [];
    const page = { id: 'a:1', text: 'the needle', offset: 0, total: 99, nextOffset: 10 };
    const call = (async (...args: unknown[]) => asked.push(args.slice(0, 2)) && page) as unknown as Call;
    const functions = createFunctions(worktreeTools(call));
    const read = functions.find('artifact_read');
    expect(await read?.run({ id: 'a:1', grep: 'needle' }, context)).toBe('the needle\n[continue with offset 10 of 99]');
    await expect(read?.run({ id: 'a:1', job: 'j-1' }, context)).rejects.toMatchObject({ code: 'bad_request' });
    await expect(
      functions.find('get_symbol')?.run({ name: 'a', worktree: '/elsewhere' }, context),
    ).rejects.toMatchObject({ code: 'bad_request' });
    expect(asked).toEqual([['artifact_read', { id: 'a:1', grep: 'needle' }]]);
    const tokens = (await loadTokenCounter()).count(JSON.stringify(functions.declarations()));
    expect([functions.tools.length, tokens < 1_500]).toEqual([13, true]);
  },
);

verifies('R-90').test('what is cut points to a smaller question: there is no structured result beside it', async () => {
  const call = (async () => ({ text: 'x'.repeat(30_000) })) as unknown as Call;
  const said = await createFunctions(worktreeTools(call)).find('repo_state')?.run({}, context);
  expect(said).toMatch(/x…\[cut \d+ bytes; the rest: a narrower question, or a smaller limit\]$/);
});
