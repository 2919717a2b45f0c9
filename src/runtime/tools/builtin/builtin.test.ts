import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { bench, commands, folder } from '../../../../test/support/engine/workbench.ts';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { deadline } from '../../../../test/support/scale.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { pinnedGet } from '../../../app/runtime/http-requests.ts';
import { run } from '../../../process/run.ts';
import { createOutputCap, failureOutput, ToolFailure, toOutput } from '../output.ts';
import { AgentTodos } from './agent-todos.ts';
import { timeTool } from './all.ts';
import { executingTools } from './execute.ts';
import { fetchUrlTool } from './fetch-url.ts';
import { todoTools } from './todo.ts';
import { createUrlGuard } from './url-guard.ts';
import { userTools } from './user.ts';

const has = async (program: string) =>
  (
    await run({
      file: 'sh',
      args: ['-c', `command -v ${program}`],
      cwd: '/',
      env: { PATH: process.env.PATH ?? '' },
      timeoutMs: 60_000,
    })
  ).code === 0;
const hasPython = await has('python3');
const hasSqlite = await has('sqlite3');

const execution = async ({ timeoutMs = 120_000, ...more }: { dsn?: string; timeoutMs?: number } = {}) => {
  const start = await commands();
  return executingTools({ run: (spec) => start({ timeoutMs, ...spec }), shell: '/bin/sh', ...more });
};

describe('the tools that run programs', () => {
  verifies('R-90').test('show what a command wrote, and how it failed', async () => {
    const dir = folder({ 'a.txt': 'hello\n' });
    const { find, context } = bench(await execution(), dir);
    const use = (command: string) =>
      find('execute_command')
        .run({ command }, context)
        .catch((error: unknown) => JSON.parse(failureOutput(error).text));
    expect(await use('cat a.txt; pwd')).toBe(`hello\n${dir}\n`);
    expect(await use('true')).toBe('');
    expect(await use('echo out; echo err >&2; exit 3')).toEqual({
      tool_call_error: 'Exit code 3',
      stdout: 'out\n',
      stderr: 'err\n',
    });
    expect(await use('kill -9 $$')).toMatchObject({ tool_call_error: expect.stringMatching(/SIGKILL|137/) });
  });

  verifies('R-90').test('give a command the plain environment and no input', async () => {
    const env = { PATH: process.env.PATH, HOME: '/h', SECRET_TOKEN: 'x' };
    const { use } = bench(executingTools({ run: await commands(env), shell: '/bin/sh' }), folder());
    expect(await use('execute_command', { command: 'echo "$HOME,$SECRET_TOKEN"; cat' })).toBe('/h,\n');
  });

  test('run bash without the files of a login', async () => {
    const home = folder({ '.bashrc': 'echo from bashrc' });
    const env = { PATH: process.env.PATH, HOME: home };
    const { use } = bench(executingTools({ run: await commands(env), shell: 'bash' }), home);
    expect(await use('execute_command', { command: 'bash -c "echo inner"' })).toBe('inner\n');
  });

  verifies('R-73').test('end a cancelled command with its whole tree within 2 s', async () => {
    const dir = folder();
    const { find, context } = bench(await execution(), dir);
    const mark = `61${process.pid}${Math.floor(Math.random() * 1_000)}`;
    const abort = new AbortController();
    const command = `sleep ${mark} & (setsid sleep ${mark} &) ; sleep ${mark}`;
    const done = find('execute_command')
      .run({ command }, { ...context, signal: abort.signal })
      .catch((error: unknown) => error);
    await vi.waitUntil(async () => (await sleepers(mark)) >= 3, { timeout: 20_000 });
    const startedAt = performance.now();
    abort.abort();
    expect(await done).toMatchObject({ code: 'cancelled' });
    expect([performance.now() - startedAt < deadline(2_000), await sleepers(mark)]).toEqual([true, 0]);
  });

  verifies('R-90').test('end a command that takes too long, and what it leaves in the background', async () => {
    const { find, context } = bench(await execution({ timeoutMs: 5_000 }), folder());
    const mark = `62${process.pid}${Math.floor(Math.random() * 1_000)}`;
    const slow = await find('execute_command')
      .run({ command: `echo begun; sleep ${mark}` }, context)
      .catch((error: unknown) => error);
    expect(JSON.parse(failureOutput(slow).text)).toEqual({
      tool_call_error: 'It took too long and was ended',
      stdout: 'begun\n',
      stderr: '',
    });
    const { use } = bench(await execution(), folder());
    expect(await use('execute_command', { command: `sleep ${mark} & echo ok` })).toBe('ok\n');
    expect(await sleepers(mark)).toBe(0);
  });

  verifies('R-90')
    .needs(hasPython, 'python3')
    .test('run Python', async () => {
      const { use, find, context } = bench(await execution(), folder());
      expect(await use('execute_py_code', { code: 'print(sum(range(5)))' })).toBe('10\n');
      const failed = await find('execute_py_code')
        .run({ code: 'raise ValueError("no")' }, context)
        .catch((error: unknown) => error);
      expect(JSON.parse(failureOutput(failed).text)).toMatchObject({
        tool_call_error: 'Exit code 1',
        stderr: expect.stringContaining('ValueError: no'),
      });
    });

  verifies('R-90')
    .needs(hasSqlite, 'sqlite3')
    .test('run SQL on the configured database, and nothing but SQL', async () => {
      const dir = folder();
      const { use } = bench(await execution({ dsn: 'sqlite:data.db' }), dir);
      await use('execute_sql_code', { code: 'create table t (a, b); insert into t values (1, 2);' });
      expect(await use('execute_sql_code', { code: 'select * from t;' })).toBe('a,b\r\n1,2\r\n'.replaceAll('\r', ''));
      expect(await use('execute_sql_code', { code: '.shell touch hacked' })).toContain('!');
      expect(await use('execute_sql_code', { code: 'selec' })).toContain('! Exit code');
      const none = bench(await execution(), dir);
      expect(await none.use('execute_sql_code', { code: 'select 1' })).toContain('! No database is configured');
    });
});

async function sleepers(mark: string): Promise<number> {
  const ps = await run({
    file: 'ps',
    args: ['-eo', 'args'],
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    timeoutMs: 60_000,
  });
  return ps.stdout
    .toString()
    .split('\n')
    .filter((line) => line === `sleep ${mark}`).length;
}

describe('fetching an address', () => {
  async function site(answer: (path: string, out: ServerResponse) => void) {
    const server = createServer((request, out) => answer(request.url ?? '', out));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const tool = (allowed: string[]) =>
    fetchUrlTool({
      addressesOf: createUrlGuard({
        lookup: async (host) => (host === 'sneaky.test' ? ['10.0.0.1'] : ['93.184.216.34']),
        allowed,
      }),
      get: pinnedGet,
    });

  verifies('R-90').test('gives its text, follows where it leads, and says how it failed', async () => {
    const moves: Record<string, string> = {
      '/moved': '/text',
      '/loop': '/loop',
      '/inside': 'http://169.254.169.254/latest',
      '/file': 'file:///etc/passwd',
    };
    const host = await site((path, out) => {
      const location = moves[path];
      if (location !== undefined) out.writeHead(302, { location }).end();
      else out.writeHead(path === '/none' ? 404 : 200).end(path === '/none' ? 'not here' : 'some text');
    });
    const { use } = bench([tool([host])], '/');
    const get = (path: string) => use('fetch_url_via_curl', { url: `http://${host}${path}` });
    expect([await get('/text'), await get('/moved')]).toEqual(['some text', 'some text']);
    expect(await get('/none')).toContain('answered 404: not here');
    expect(await get('/loop')).toContain('redirects more than 5 times');
    expect(await get('/inside')).toContain('169.254.169.254 belongs to this machine or its network');
    expect(await get('/file')).toContain('Only http and https addresses are fetched');
    expect(await use('fetch_url_via_curl', { url: 'http://127.0.0.1:1/' })).toContain('belongs to this machine');
  });

  verifies('X-68').test('is read to its limit, and says so', async () => {
    const host = await site((_, out) => out.end('a'.repeat(2 ** 22 + 10)));
    const { use } = bench([tool([host])], '/');
    const text = String(await use('fetch_url_via_curl', { url: `http://${host}/` }));
    expect(text.slice(2 ** 22)).toBe('\n[Only the first 4 MiB were read]');
  });

  test('that cannot be reached says why', async () => {
    const { use } = bench([tool(['127.0.0.1:1'])], '/');
    expect(await use('fetch_url_via_curl', { url: 'http://127.0.0.1:1/' })).toContain('could not be fetched: ');
    expect(await use('fetch_url_via_curl', { url: 'javascript:alert(1)' })).toContain('Only http and https');
  });

  verifies('R-73').test('is cancelled at once', async () => {
    const host = await site(() => {});
    const { find, context } = bench([tool([host])], '/');
    const abort = new AbortController();
    const fetching = find('fetch_url_via_curl').run({ url: `http://${host}/` }, { ...context, signal: abort.signal });
    setImmediate(() => abort.abort());
    await expect(fetching).rejects.toMatchObject({ code: 'cancelled' });
  });

  verifies('X-67', 'X-108', 'X-123').test('an address that two readers could read differently is refused', async () => {
    const asked: string[] = [];
    const lookup = async (host: string) => {
      asked.push(host);
      return ['10.0.0.1'];
    };
    const { use } = bench([fetchUrlTool({ addressesOf: createUrlGuard({ lookup }), get: pinnedGet })], '/');
    const unreadable = [
      'javascript:alert(1)',
      'file:///etc/passwd',
      '$(touch canary)',
      'http://good.test\0.evil.test/',
      'http://good.test\n.evil.test/',
      'http://good.test/\r\nHost: evil.test',
      'http://$(touch canary)/',
      'http://good.test:99999/',
    ];
    for (const url of unreadable)
      expect(await use('fetch_url_via_curl', { url })).toContain('Only http and https addresses');
    expect(asked).toEqual([]);
    // The user before the @ is no host, and neither is what follows a backslash.
    for (const url of ['http://good.test@evil.test/', 'http://evil.test\\@good.test/'])
      expect(await use('fetch_url_via_curl', { url })).toContain('evil.test belongs to this machine');
    expect(asked).toEqual(['evil.test', 'evil.test']);
  });

  verifies('X-67').test('a name is looked up once, and reached at the address that was judged', async () => {
    const [, port] = (await site((_, out) => out.setHeader('set-cookie', ['a=1', 'b=2']).end('pinned'))).split(':');
    // Whoever owns the name answers with something else the second time; no resolver of this machine knows it.
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    const lookup = async () => answers.shift() ?? [];
    const rebound = fetchUrlTool({
      addressesOf: createUrlGuard({ lookup, allowed: ['rebound.test'] }),
      get: pinnedGet,
    });
    const { use } = bench([rebound], '/');
    expect(await use('fetch_url_via_curl', { url: `http://rebound.test:${port}/` })).toBe('pinned');
    expect(answers).toEqual([['10.0.0.1']]);
  });

  verifies('X-67').test('refuses addresses of this machine and its network in every spelling', async () => {
    const guard = createUrlGuard({
      lookup: async (host) => (host === 'sneaky.test' ? ['8.8.8.8', '10.0.0.1'] : ['93.184.216.34']),
    });
    const isRefused = (url: string) =>
      guard(new URL(url)).then(
        () => false,
        () => true,
      );
    const local = [
      'localhost',
      'a.localhost',
      '127.0.0.1',
      '127.1',
      '0x7f000001',
      '2130706433',
      '0.0.0.0',
      '10.1.2.3',
      '172.31.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '[::1]',
      '[::]',
      '[fe80::1]',
      '[fd00::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:a00:1]',
      '[64:ff9b::7f00:1]',
      'printer.local',
      'sneaky.test',
      '224.0.0.1',
      '255.255.255.255',
    ];
    const remote = ['example.com', '8.8.8.8', '172.32.0.1', '[2606:4700::1111]', '11.0.0.1'];
    expect(await Promise.all(local.map(async (host) => [host, await isRefused(`http://${host}/`)]))).toEqual(
      local.map((host) => [host, true]),
    );
    expect(await Promise.all(remote.map(async (host) => [host, await isRefused(`http://${host}/`)]))).toEqual(
      remote.map((host) => [host, false]),
    );
  });
});

describe('asking a person', () => {
  verifies('R-90').test('offers a choice of one’s own, and passes on what was said', async () => {
    const { use, asked } = bench(
      userTools(),
      '/',
      { kind: 'choice', choice: 'b' },
      { kind: 'choice', choice: 'Other (custom)' },
      { kind: 'input', text: 'mine' },
      { kind: 'choices', choices: ['a', 'Other (custom)'] },
      { kind: 'input', text: 'more' },
      { kind: 'confirm', confirmed: false },
      { kind: 'input', text: 'words' },
    );
    const options = ['a', 'b'];
    expect([
      await use('user__ask', { question: 'q?', options }),
      await use('user__ask', { question: 'q?', options }),
      await use('user__checkbox', { question: 'q?', options }),
      await use('user__confirm', { question: 'q?' }),
      await use('user__input', { question: 'q?' }),
    ]).toEqual([
      { answer: 'b' },
      { answer: 'mine' },
      { answers: ['a', 'more'] },
      { confirmed: false },
      { answer: 'words' },
    ]);
    expect(asked[0]).toEqual({ kind: 'choice', question: 'q?', options: ['a', 'b', 'Other (custom)'] });
  });

  verifies('R-90').test('that nobody answers leaves the decision to the model', async () => {
    const timeout = { kind: 'timeout' as const, waitedMs: 300_000 };
    const { use } = bench(userTools(), '/', timeout, timeout, timeout, { kind: 'choices', choices: ['a'] });
    const options = ['a', 'b'];
    expect([
      await use('user__ask', { question: 'q?', options }),
      await use('user__checkbox', { question: 'q?', options }),
    ]).toEqual(Array.from({ length: 2 }, () => expect.objectContaining({ error: 'Nobody answered within 300 s' })));
    expect(await use('user__confirm', { question: 'q?' })).toEqual({
      error: 'Nobody answered within 300 s',
      fallback: expect.stringContaining('Decide yourself'),
    });
    expect(await use('user__checkbox', { question: 'q?', options })).toEqual({ answers: ['a'] });
  });

  test('where nobody is ends the run with what a person has to do', async () => {
    const { find, context } = bench(userTools(), '/');
    await expect(find('user__ask').run({ question: 'q?', options: ['a'] }, context)).rejects.toMatchObject({
      code: 'needs_human',
      details: { needs_human: true, action: 'choice', question: 'q?', options: ['a', 'Other (custom)'] },
    });
  });
});

verifies('R-90').test('the list of things to do is kept by its tools', async () => {
  const list = new AgentTodos();
  const { use } = bench(todoTools(list), '/');
  await use('todo__init', { goal: 'ship' });
  expect([await use('todo__add', { task: 'a' }), await use('todo__add', { task: 'b' })]).toEqual([
    { id: 1 },
    { id: 2 },
  ]);
  expect(await use('todo__done', { id: '1' })).toBe('Goal: ship\nProgress: 1/2 completed\n✓ 1. a\n○ 2. b');
  expect(await use('todo__done', { id: 9 })).toContain('! There is no todo 9');
  expect(await use('todo__list')).toBe('Goal: ship\nProgress: 1/2 completed\n✓ 1. a\n○ 2. b');
  expect([await use('todo__clear'), list.todos]).toEqual([null, []]);
});

verifies('R-90').test('the time is the clock’s', async () => {
  const { use } = bench([timeTool(manualClock())], '/');
  expect(await use('get_current_time')).toContain('2026-01-01T00:00:00.000Z');
});

describe('what a tool gives', () => {
  verifies('R-90').test('is text, JSON, or DONE; a failure says why and what was written', () => {
    expect([null, undefined, '', 'text', { a: 1 }, 7].map((value) => toOutput(value).text)).toEqual([
      'DONE',
      'DONE',
      'DONE',
      'text',
      '{"a":1}',
      '7',
    ]);
    expect([
      failureOutput(new Error('no')),
      failureOutput(new ToolFailure('bad', { stdout: '', stderr: 'e' })),
      failureOutput('x'),
    ]).toEqual([
      { text: '{"tool_call_error":"no","stderr":""}', isError: true },
      { text: '{"tool_call_error":"bad","stderr":"e"}', isError: true },
      { text: '{"tool_call_error":"x","stderr":""}', isError: true },
    ]);
  });

  verifies('R-90').test('is cut above 64 KiB, and says where the rest is', async () => {
    const dir = folder();
    const outputs = createOutputCap(join(dir, 'outputs'), () => 'id');
    const text = 'é'.repeat(40_000);
    const capped = await outputs.cap({ text, isError: false }, 'fs/cat');
    const path = join(dir, 'outputs', 'fs_cat-id.txt');
    expect([Buffer.byteLength(capped.text) <= 65_536, capped.text.endsWith(`bytes; the rest: ${path}]`)]).toEqual([
      true,
      true,
    ]);
    const { readFileSync, statSync } = await import('node:fs');
    expect([readFileSync(path, 'utf8') === text, statSync(path).mode & 0o777]).toEqual([true, 0o600]);
    expect(await outputs.cap({ text: 'short', isError: true }, 'x')).toEqual({ text: 'short', isError: true });
  });
});
