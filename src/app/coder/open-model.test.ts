import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { loadConfig } from '../../runtime/config/load.ts';
import { userText } from '../../runtime/models/message.ts';
import { Vault } from '../../runtime/vault/vault.ts';
import { openModel } from './open-model.ts';

const PLAIN = 'plain-key-in-the-configuration';
const SEALED = 'sealed-key-of-the-vault';

const home = temporaryFolder();
let server: Server | undefined;
afterEach(() => server?.close());

function write(path: string, text: string): void {
  const file = join(home, '.config/reef', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o600 });
}

/** Whoever comes with this key is to come later; others are answered. */
async function provider(): Promise<string> {
  server = createServer((request, response) => {
    const isTired = request.headers.authorization?.includes(SEALED) === true;
    response.writeHead(isTired ? 429 : 200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: 'Yes.' };
    response.end(JSON.stringify(isTired ? {} : { choices: [{ message, finish_reason: 'stop' }] }));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

verifies('R-81', 'R-82', 'X-50').test(
  'a coder has the models as corrected by the user, hides its keys, and tells of one that was refused',
  async () => {
    write('password', 'a password\n');
    write('models-override.yaml', '- { provider: claude, models: [{ name: mine, max_input_tokens: 4321 }] }\n');
    write(
      'config.yaml',
      `model: local:small
vault_password_file: ${join(home, '.config/reef/password')}
clients:
  - { type: claude, api_key: ${PLAIN} }
  - type: openai-compatible
    name: local
    api_base: ${await provider()}
    api_key: ["{{KEY}}", ${PLAIN}]
    models: [{ name: small }]
`,
    );
    const configured = loadConfig({ env: {}, home, cwd: home });
    const vault = new Vault({ path: configured.paths.vaultFile(), password: async () => 'a password' });
    await vault.add('KEY', SEALED);
    const retries: unknown[] = [];
    const wanted = { home, clock: systemClock, onRetry: (retry: unknown) => retries.push(retry) };
    const chosen = openModel(configured, { ...wanted, model: 'claude:mine' });
    expect(chosen.model.data.max_input_tokens).toBe(4321);
    const { client, model, redact } = openModel(configured, { ...wanted, model: undefined });
    expect(model.id).toBe('local:small');
    const reply = await client.chat({ model, messages: [userText('hello')], stream: false });
    expect(reply.content).toMatchObject([{ type: 'text', text: 'Yes.' }]);
    expect(retries).toMatchObject([{ attempt: 1, message: expect.stringMatching(/^local: key \S+ gave /) }]);
    expect(redact(`one is ${PLAIN}, one ${SEALED}`)).toBe('one is [redacted], one [redacted]');
  },
);
