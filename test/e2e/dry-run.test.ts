import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeUser } from './runtime-rig.ts';

// Several programs one after the other.
vi.setConfig({ testTimeout: 180_000 });

const AGENT = `model: near:talk
dynamic_instructions: true
instructions: You are {{who}}. {{__tools__}}
variables: [{ name: who, default: Ann }]
mcp_servers: [near]
global_tools: [listed.sh, probe.py, module.ts]
documents: [notes.odd, keys.md]
`;

/** A user whose every setting starts something: each program that runs leaves a file, and each request is counted. */
async function startingUser() {
  const user = makeUser({ fixture: null });
  const started = join(user.root, 'started');
  mkdirSync(started);
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(400).end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const at = (path: string) => `home/.config/reef/${path}`;
  const leaves = (name: string) => `#!/bin/sh\ntouch ${started}/${name}\n`;
  const program = (path: string, text: string) => chmodSync(user.write(path, text), 0o755);
  const model = `{ name: talk, supports_function_calling: true }, { name: emb, type: embedding }, { name: sort, type: reranker }`;
  user.write(
    at('config.yaml'),
    `model: near:talk
rag_embedding_model: near:emb
rag_reranker_model: near:sort
document_loaders: { odd: "${user.root}/bin/loader $1" }
clients: [{ type: openai-compatible, name: near, api_base: "http://127.0.0.1:${port}/v1", api_key: k, models: [${model}] }]
`,
  );
  program('bin/loader', `${leaves('loader')}echo loaded\n`);
  program('bin/server', leaves('server'));
  program('bin/python3', `${leaves('python')}exec /usr/bin/env -i PATH=/usr/bin:/bin python3 "$@"\n`);
  user.env.PATH = `${user.root}/bin:${user.env.PATH}`;
  user.write(
    at('functions/mcp.json'),
    JSON.stringify({ mcpServers: { near: { command: `${user.root}/bin/server` } } }),
  );
  user.write(at('functions/tools/listed.sh'), '#!/bin/sh\n# @describe A tool known by its text\ntrue\n');
  user.write(at('functions/tools/probe.py'), 'def run():\n    """A tool in Python."""\n');
  user.write(
    at('functions/tools/module.ts'),
    `import { writeFileSync } from 'node:fs';\nwriteFileSync('${started}/module', '');\nexport function run() {}\n`,
  );
  user.write(at('agents/a/config.yaml'), AGENT);
  user.write(at('agents/a/tools.sh'), `${leaves('instructions')}# @cmd Makes them\n_instructions() { echo made; }\n`);
  user.write(at('agents/a/notes.odd'), 'odd');
  user.write(at('agents/a/keys.md'), 'Keys are rotated on Mondays.');
  return { user, requests, started: () => readdirSync(started).sort() };
}

verifies('R-166').test('a dry run starts no server, no tool, no loader and asks no model', async () => {
  const { user, requests, started } = await startingUser();
  const dry = await user.reef(['ask', '--dry-run', '-a', 'a', 'hello']);
  expect(dry).toMatchObject({ code: 0, stdout: 'You are Ann. - listed: A tool known by its text\n\nhello\n' });
  expect(dry.stderr).toMatch(/its documents are not indexed yet: a dry run leaves them out/);
  expect(dry.stderr).toMatch(/a program makes its instructions: a dry run leaves them out/);
  const rebuilt = await user.reef(['ask', '--dry-run', '-a', 'a', '--rebuild-rag', 'hello']);
  expect([rebuilt.code, rebuilt.stdout]).toEqual([expect.not.stringMatching(/^0$/), '']);
  expect([started(), requests, existsSync(join(user.config, 'agents/a/rag.yaml'))]).toEqual([[], [], false]);

  // The same question, asked in earnest, starts all of it.
  await user.reef(['ask', '-a', 'a', 'hello']);
  expect(started()).toEqual(expect.arrayContaining(['instructions', 'loader', 'module', 'python', 'server']));
  expect(requests).not.toEqual([]);
});

verifies('R-166').test(
  'a dry run shows what an index has, found by words alone, and rag search shows the text',
  async () => {
    const { user, requests } = await startingUser();
    user.write('home/.config/reef/config.yaml', 'rag_reranker_model: near:sort\n');
    user.write('work/docs/keys.md', '# Keys\n\nKeys are rotated on Mondays.\n');
    await user.reef(['rag', 'build', 'docs', './docs']);
    const found = await user.reef(['rag', 'search', 'docs', 'keys']);
    expect(found.stdout).toMatch(
      /^\S+keys\.md {2}chunk 1 {2}\d\.\d{4}\n {2}# Keys\n\n {2}Keys are rotated on Mondays\.\n$/,
    );
    const dry = await user.reef([
      'ask',
      '--dry-run',
      '--model',
      'scripted:demo',
      '--rag',
      'docs',
      'when are keys rotated?',
    ]);
    expect(dry.stdout).toMatch(/Keys are rotated on Mondays\./);
    expect(requests).toEqual([]);
  },
);
