import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Scripts } from '../model-server/script.ts';
import { startModelServer } from '../model-server/server.ts';
import { initRepository } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { converse, drivers } from './drivers.ts';
import { LineProcess } from './line-process.ts';
import { type AgentName, agentNames, makeAgentHome, realAgent } from './real-agents.ts';

/** Real agent and scripted model, and nothing of Reef between them: when an adapter's test fails, this says whose fault it is. */

const scripts: Scripts = {
  text: [{ thinking: 'A word of thought.', text: 'Hello from the script.' }],
  permission: [
    { tools: [{ shell: 'echo yes > approved.txt', escalate: 'May I create approved.txt?' }] },
    { text: 'The file is there.' },
  ],
  files: [
    { tools: [{ write: 'notes/list.txt', content: 'one\ntwo\n' }] },
    { tools: [{ read: 'notes/list.txt' }] },
    { if: 'one\\s', tools: [{ edit: 'notes/list.txt', old: 'two', new: 'three' }] },
    { text: 'Written, read and edited.' },
  ],
  ask: [
    { tools: [{ ask: [{ question: 'Which database?', header: 'Database', options: ['PostgreSQL', 'SQLite'] }] }] },
    { if: 'SQLite', text: 'SQLite it is.' },
  ],
};

const TIMEOUT_MS = 120_000;

async function run(name: AgentName, script: string, wrapper: string[] = []) {
  const agent = realAgent(name);
  const server = await startModelServer({ scripts });
  const home = makeAgentHome();
  const cwd = temporaryFolder();
  initRepository(cwd);
  const [file = agent.file, ...args] = [...wrapper, agent.file, ...drivers[name].args];
  const child = new LineProcess([file, ...args], { cwd, env: agent.env(server.runUrl(script), home) });
  onTestFinished(async () => {
    await child.stop();
    await server.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
  await drivers[name].begin(child, cwd);
  return { cwd, ...(await converse(child, drivers[name])) };
}

/** What each agent asks before it runs the command, and before it writes a file and edits it. */
const expected: Record<AgentName, { command: string[]; files: string[] }> = {
  claude: { command: ['Bash'], files: ['Write', 'Edit'] },
  codex: { command: ['item/commandExecution/requestApproval'], files: [] },
  gemini: { command: ['execute'], files: ['edit', 'edit'] },
  opencode: { command: ['execute'], files: ['edit', 'edit'] },
};

const strace = ['/usr/bin/strace', '/bin/strace'].find((file) => existsSync(file));

/** The addresses a trace of system calls shows, except this machine's own. */
function addressesOutside(trace: string): string[] {
  const found = trace.matchAll(/inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"/g);
  const addresses = [...found].map(([, v4, v6]) => v4 ?? v6 ?? '');
  return addresses.filter((address) => !/^(127\.|0\.0\.0\.0$|::1$|::$|::ffff:127\.)/.test(address));
}

for (const name of agentNames) {
  const { available, why = '' } = realAgent(name);
  const proving = verifies('A-130', 'A-131', 'A-132').needs(available, `${name}: ${why}`);

  proving.test(
    `${name} says what the script says`,
    async () => {
      expect(await run(name, 'text')).toMatchObject({ asked: [], said: 'Hello from the script.' });
    },
    TIMEOUT_MS,
  );

  proving.test(
    `${name} asks before a command and runs it once allowed`,
    async () => {
      const { cwd, ...turn } = await run(name, 'permission');
      expect(turn).toEqual({ asked: expected[name].command, said: 'The file is there.' });
      expect(readFileSync(join(cwd, 'approved.txt'), 'utf8')).toBe('yes\n');
    },
    TIMEOUT_MS,
  );

  proving.test(
    `${name} writes, reads and edits a file by the same script as the others`,
    async () => {
      const { cwd, ...turn } = await run(name, 'files');
      expect(turn).toEqual({ asked: expected[name].files, said: 'Written, read and edited.' });
      expect(readFileSync(join(cwd, 'notes', 'list.txt'), 'utf8')).toBe('one\nthree\n');
    },
    TIMEOUT_MS,
  );

  proving.needs(strace !== undefined, 'strace is not installed').test(
    `${name} connects to nothing beyond loopback`,
    async () => {
      const folder = temporaryFolder();
      const file = join(folder, 'trace');
      const calls = 'trace=connect,sendto,sendmsg,sendmmsg';
      const turn = await run(name, 'permission', [strace ?? '', '-f', '-qq', '-e', calls, '-o', file]);
      expect(turn.said).toBe('The file is there.');
      expect(addressesOutside(readFileSync(file, 'utf8'))).toEqual([]);
    },
    TIMEOUT_MS,
  );
}

for (const name of ['claude', 'codex'] as const) {
  const { available, why = '' } = realAgent(name);
  verifies('A-130', 'A-131', 'A-132')
    .needs(available, `${name}: ${why}`)
    .test(
      `${name} takes the answer to a question back to the model`,
      async () => {
        const asked = { claude: 'AskUserQuestion', codex: 'item/tool/requestUserInput' }[name];
        expect(await run(name, 'ask')).toMatchObject({ asked: [asked], said: 'SQLite it is.' });
      },
      TIMEOUT_MS,
    );
}
