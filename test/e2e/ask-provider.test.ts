import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeUser, REEF } from './runtime-rig.ts';

// Several programs one after the other.
vi.setConfig({ testTimeout: 120_000 });

/** A provider of the OpenAI wire format that says the same to everybody, in two pieces. */
async function openProvider() {
  const requests: { authorization: string | undefined; agent: string | undefined; body: Record<string, unknown> }[] =
    [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { authorization, 'user-agent': agent } = request.headers;
    requests.push({ authorization, agent, body: JSON.parse(Buffer.concat(chunks).toString()) });
    if (requests.length > 1) {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error": {"message": "wrong key"}}');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const piece = (delta: object, more = {}) =>
      response.write(`data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta }], ...more })}\n\n`);
    piece({ role: 'assistant', content: 'From over ' });
    piece({ content: 'the wire.' });
    const end = { index: 0, delta: {}, finish_reason: 'stop' };
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    response.write(`data: ${JSON.stringify({ id: 'x', choices: [end], usage })}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { requests, url: `http://127.0.0.1:${port}/v1`, [Symbol.dispose]: () => void server.close() };
}

verifies('R-17', 'R-80', 'R-82', 'U-02').test(
  'a provider is asked with the key of the vault, and the key is nowhere else',
  async () => {
    using provider = await openProvider();
    const user = makeUser({ fixture: null });
    const client = `{ type: openai-compatible, name: far, api_base: "${provider.url}", api_key: "{{FAR_KEY}}", models: [{ name: m }] }`;
    user.write(
      'home/.config/reef/config.yaml',
      `model: far:m\ntemperature: 0.5\nuser_agent: auto\nvault_password_file: password\nclients: [${client}]\n`,
    );
    expect(await user.reef(['ask', 'hello'])).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^secret_missing/),
    });
    await user.reef(['vault', 'add', 'FAR_KEY'], { input: 'sk-of-the-vault\n' });
    const answered = await user.reef(['ask', '--json', '--prompt', 'Be brief.', 'hello']);
    const refused = await user.reef(['ask', 'hello']);
    const outcome = JSON.parse(answered.stdout);
    expect([outcome.final_message, outcome.usage]).toEqual([
      'From over the wire.',
      { input: 7, output: 3, cached: 0, reasoning: 0 },
    ]);
    expect(provider.requests[0]).toMatchObject({
      authorization: 'Bearer sk-of-the-vault',
      agent: expect.stringMatching(/^reef\/\d/),
      body: {
        model: 'm',
        temperature: 0.5,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'hello' },
        ],
      },
    });
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([2, '', expect.stringMatching(/^provider_auth: /)]);
    const log = readFileSync(join(user.root, 'home/.cache/reef/reef.log'), 'utf8');
    expect(log).toContain('"outcome":"ok"');
    expect(JSON.stringify([answered, refused, log])).not.toContain('sk-of-the-vault');
  },
);

test('a dry run reads no SDK, no MCP code, no database and no vocabulary', async () => {
  const user = makeUser();
  const hook = `import { registerHooks } from 'node:module';
    registerHooks({ load: (url, context, next) => { process.stderr.write(url + '\\n'); return next(url, context); } });`;
  const register = `data:text/javascript,${encodeURIComponent(hook)}`;
  const child = spawn(process.execPath, ['--import', register, REEF, 'ask', '--dry-run', 'hello'], {
    cwd: user.cwd,
    env: user.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let loaded = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    loaded += text;
  });
  const [code] = await once(child, 'close');
  const packages = [...loaded.matchAll(/node_modules\/((?:@[^/\n]+\/)?[^/\n]+)/g)].map(([, name]) => name);
  expect([code, [...new Set(packages)].sort()]).toEqual([0, ['commander', 'fastest-levenshtein', 'yaml', 'zod']]);
});
