import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { Chat, TMUX } from './chat-rig.ts';
import { makeUser, type User } from './runtime-rig.ts';

// Several programs one after the other.
vi.setConfig({ testTimeout: 120_000 });

/** Where answers come from besides the model: real MCP servers, and documents. */
const SERVER = join(
  import.meta.dirname,
  '../agents/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
);
const hasServer = existsSync(SERVER);

function enableServer(user: User): void {
  const servers = { files: { command: process.execPath, args: [SERVER, user.cwd] } };
  user.write('home/.config/reef/functions/mcp.json', JSON.stringify({ mcpServers: servers }));
  user.write('home/.config/reef/.env', 'REEF_ENABLED_MCP_SERVERS=files\n');
}

/** Ours are gone with whoever started them; the terminal's own shell names the root too. */
function serversLeft(user: User): string[] {
  const all = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return all.filter((line) => line.includes('server-filesystem') && line.includes(user.root));
}

verifies('R-35', 'R-36', 'R-92')
  .needs(hasServer, 'npm run agents:install has not been run')
  .test('a question reaches a real MCP server through the meta-tools, and none is left', async () => {
    const user = makeUser();
    enableServer(user);
    user.write('work/coral.txt', 'pink\n');
    const { stdout, code } = await user.reef(['ask', '--yes', '--json', 'look into the files']);
    const outcome = JSON.parse(stdout);
    expect([code, outcome.final_message, outcome.tool_call_count, serversLeft(user)]).toEqual([
      0,
      'The file says what it says.',
      2,
      [],
    ]);
  });

verifies('R-35', 'R-139')
  .needs(hasServer && TMUX !== undefined, 'the real server or tmux is not installed')
  .test('a chat shows its servers, keeps them over a role, and leaves none behind', async () => {
    const user = makeUser();
    enableServer(user);
    await using chat = await Chat.open(user);
    await chat.step({ line: '.info mcp', shows: /^files +pid \d+ +\d+ tools\nstarted 1, shared 0, revived 0\n>$/m });
    await chat.step({ line: '.role explain', shows: /explain>$/ });
    await chat.step({ line: '.info mcp', shows: /started 1, shared 1/ });
    await chat.step({ line: '.set enabled_mcp_servers none-such', shows: /there is no MCP server none-such/ });
    await chat.step({ line: '.info mcp', shows: /none-such +unavailable: there is no MCP server/ });
    chat.keys('C-d');
    await chat.until(/\[ended 0\]/);
    expect(serversLeft(user)).toEqual([]);
  });

verifies('R-35').test('a server that does not start is a warning, and the question is answered', async () => {
  const user = makeUser();
  enableServer(user);
  user.write('home/.config/reef/functions/mcp.json', '{"mcpServers": {"files": {"command": "/no/such/server"}}}');
  const { stdout, stderr, code } = await user.reef(['ask', 'hello']);
  expect([code, stdout, stderr]).toEqual([
    0,
    'Hello! What shall we do?\n',
    expect.stringMatching(/^warning: .*mcp\.json: MCP server files did not start/),
  ]);
});

verifies('R-43', 'R-44', 'R-45').test(
  'documents are built once, found though misspelt, and put into the question',
  async () => {
    const user = makeUser();
    user.write('work/docs/keys.md', '# Keys\n\nKeys are rotated every month by hand.\n');
    user.write('work/docs/fish.md', '# Fish\n\nThere are many fish.\n');
    expect(await user.reef(['rag', 'build', 'docs', './docs'])).toMatchObject({
      stdout: '2 new or changed, 0 unchanged, 0 removed\n',
      code: 0,
    });
    user.write('work/docs/fish.md', '# Fish\n\nThere are few fish.\n');
    expect(await user.reef(['rag', 'build', 'docs'])).toMatchObject({
      stdout: '1 new or changed, 1 unchanged, 0 removed\n',
      code: 0,
    });
    const asked = await user.reef(['ask', '--rag', 'docs', '--dry-run', 'how are keys rotatd?']);
    expect([asked.code, asked.stdout]).toEqual([
      0,
      expect.stringMatching(/rotated every month by hand[\s\S]*docs\/keys\.md[\s\S]*how are keys rotatd\?/),
    ]);
    expect(asked.stderr).toMatch(/^source: <root>\/work\/docs\/keys\.md, chunk 1$/m);
    const found = await user.reef(['rag', 'search', 'docs', 'how are keys rotatd?', '--json']);
    expect(JSON.parse(found.stdout).hits[0]).toMatchObject({ source: '<root>/work/docs/keys.md', chunk: 1 });
    expect((await user.reef(['ask', '--rag', 'none', 'x'])).code).toBe(4);
  },
);
