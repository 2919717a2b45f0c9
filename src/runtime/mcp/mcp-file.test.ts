import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { readMcpFile, readServerStarts } from './mcp-file.ts';

async function read(content: unknown, fill?: (tree: unknown) => unknown) {
  const folder = temporaryFolder();
  const path = join(folder, 'mcp.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return await readMcpFile({ path, cwd: '/project', ...(fill && { fill }) });
}

const shared = { required: false, share: true };

verifies('R-37').test('a file names programs and remote servers, and its values may be flags and numbers', async () => {
  const specs = await read({
    mcpServers: {
      files: { command: 'npx', args: ['-y', 'server-files', '.'], env: { DEBUG: true, PORT: 8080, NAME: 'x' } },
      inside: { type: 'stdio', command: './run', cwd: 'tools', reef: { required: true } },
      web: { type: 'http', url: 'https://example.org/mcp', headers: { Authorization: 'Bearer t', 'X-Depth': 3 } },
      old: { type: 'sse', url: 'http://localhost:1/sse', reef: { share: false, idle_timeout_seconds: 0 } },
      short: { url: 'https://example.org/', disabled: false },
    },
    inputs: [],
  });
  expect([...specs.values()].map(({ start: _, ...spec }) => spec)).toEqual([
    {
      name: 'files',
      type: 'stdio',
      command: 'npx',
      args: ['-y', 'server-files', '.'],
      env: { DEBUG: 'true', PORT: '8080', NAME: 'x' },
      cwd: '/project',
      ...shared,
    },
    {
      name: 'inside',
      type: 'stdio',
      command: './run',
      args: [],
      env: {},
      cwd: '/project/tools',
      required: true,
      share: true,
    },
    {
      name: 'web',
      type: 'http',
      url: 'https://example.org/mcp',
      headers: { Authorization: 'Bearer t', 'X-Depth': '3' },
      ...shared,
    },
    {
      name: 'old',
      type: 'sse',
      url: 'http://localhost:1/sse',
      headers: {},
      required: false,
      share: false,
      idle_timeout_seconds: 0,
    },
    { name: 'short', type: 'http', url: 'https://example.org/', headers: {}, ...shared },
  ]);
});

verifies('X-65').test(
  'what a person approves of a server is how it is started as it is written, and no secret',
  async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'server.js'), '');
    const path = join(folder, 'mcp.json');
    const mcpServers = {
      files: { command: 'npx', args: ['-y', '{{PACKAGE}}', 'no-file'], env: { TOKEN: '{{TOKEN}}', DEBUG: true } },
      mine: { command: 'node', args: ['server.js'], cwd: 'sub/..' },
      inside: { command: './run' },
      web: { url: 'https://example.org/mcp', headers: { Authorization: '{{TOKEN}}' } },
    };
    writeFileSync(path, JSON.stringify({ mcpServers }));
    const fill = (tree: unknown) => JSON.parse(JSON.stringify(tree).replaceAll(/{{(\w+)}}/g, 'secret of $1'));
    const specs = await readMcpFile({ path, cwd: folder, fill });
    const starts = readServerStarts({ path, cwd: folder });
    expect([[...specs].map(([name, { start }]) => [name, start]), specs.get('files')]).toEqual([
      [...starts],
      expect.objectContaining({ args: ['-y', 'secret of PACKAGE', 'no-file'] }),
    ]);
    expect(Object.fromEntries(starts)).toEqual({
      files: {
        type: 'stdio',
        command: 'npx',
        args: ['-y', '{{PACKAGE}}', 'no-file'],
        env: ['DEBUG', 'TOKEN'],
        cwd: '.',
      },
      // What they run is a file of the folder: in another folder it is another program.
      mine: { type: 'stdio', command: 'node', args: ['server.js'], env: [], cwd: 'sub/..', folder },
      inside: { type: 'stdio', command: './run', args: [], env: [], cwd: '.', folder },
      web: { type: 'http', url: 'https://example.org/mcp', headers: ['Authorization'] },
    });
  },
);

test('all mistakes of a file come in one error, each with its place', async () => {
  const failure = await read({
    mcpServers: {
      a: { command: '', env: { X: 1.5 } },
      b: { url: 'ftp://x' },
      c: 7,
      d: { command: 'ok', reef: { shared: 1 } },
    },
  }).catch((error) => error);
  const places = failure.details.problems.map(({ path }: { path: string }) => path);
  expect({ code: failure.code, places }).toEqual({
    code: 'mcp_config_invalid',
    places: ['mcpServers.a.command', 'mcpServers.a.env.X', 'mcpServers.b.url', 'mcpServers.c', 'mcpServers.d.reef'],
  });
});

test('a file that is no JSON is named', async () => {
  expect(await read('{').catch((error) => error.code)).toBe('mcp_config_invalid');
});

test('no file is no server', async () => {
  expect(await readMcpFile({ path: '/nowhere/mcp.json', cwd: '/' })).toEqual(new Map());
});

test('secrets are put in after parsing', async () => {
  const fill = (tree: unknown) => JSON.parse(JSON.stringify(tree), (_, leaf) => (leaf === '{{T}}' ? 'quo"te' : leaf));
  const specs = await read({ mcpServers: { a: { command: 'x', env: { TOKEN: '{{T}}' } } } }, fill);
  expect(specs.get('a')).toEqual(expect.objectContaining({ env: { TOKEN: 'quo"te' } }));
});
