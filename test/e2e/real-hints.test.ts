import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { installed, openRig, type RealJob, type Rig, SLOW_MS } from './real.ts';

/** Tools of MCP servers: those that only read are not asked about, where a person put their server in effect. */

const SERVER = join(import.meta.dirname, '../support/agents/hinting-server.ts');
const server = { command: process.execPath, args: [SERVER] };
const call = (tool: string) => ({ tools: [{ tool: `mcp__${tool}`, input: {} }] });

let rig: Rig;
beforeAll(async () => {
  // The servers are ready before the first call of a tool.
  const first = { ...call('records__look_up'), delayMs: 2_000 };
  const rest = [call('records__change'), { text: 'Done.' }];
  rig = await openRig({ calls: [first, call('reef__look__look_up'), ...rest], codex: [first, ...rest] });
});
afterAll(() => rig.close());

async function askedOf(job: RealJob): Promise<string[]> {
  const asked: string[] = [];
  for (;;) {
    const { questions, activity } = await job.until((now) => now.questions.length > 0 || now.activity === 'ended');
    if (activity === 'ended') return asked;
    for (const { questionId, fingerprint, question } of questions) {
      asked.push(question);
      await job.send({ decision: 'allow_once', questionId, fingerprint });
    }
  }
}

verifies('J-20')
  .needs(...installed('claude'))
  .test(
    'a tool that only reads is not asked about once its repository is trusted; one whose name begins like those of Reef is',
    async () => {
      const { repository, client } = rig.world;
      const text = JSON.stringify({ mcpServers: { records: server, reef__look: server } });
      writeFileSync(join(repository, '.mcp.json'), text);
      const { items } = await client.call('trust', {});
      await client.call('trust', { hashes: items.map(({ hash }) => hash) });
      const job = await rig.spawn({ agent: 'claude', script: 'calls', cwd: repository, sandbox: false });
      expect(await askedOf(job)).toEqual([expect.stringMatching(/\bchange\b|__change/)]);
      const answered = await job.progress('auto_answered');
      expect(answered.map(({ grant }) => grant)).toEqual(['read_only_tool', 'read_only_tool']);
      expect(await job.view()).toMatchObject({ status: 'completed', lastOutput: 'Done.' });
    },
    SLOW_MS,
  );

verifies('J-20')
  .needs(...installed('codex'))
  .test(
    'codex does not ask about a tool that only reads',
    async () => {
      const { repository, client } = rig.world;
      mkdirSync(join(repository, '.codex'));
      const args = `["${SERVER}"]`;
      writeFileSync(
        join(repository, '.codex/config.toml'),
        `[mcp_servers.records]\ncommand = "${process.execPath}"\nargs = ${args}\n`,
      );
      const { items } = await client.call('trust', {});
      await client.call('trust', { hashes: items.map(({ hash }) => hash) });
      const job = await rig.spawn({ agent: 'codex', script: 'codex', cwd: repository, sandbox: false });
      expect(await askedOf(job)).toEqual([expect.stringMatching(/\bchange\b|__change/)]);
      expect(await job.view()).toMatchObject({ status: 'completed', lastOutput: 'Done.' });
    },
    SLOW_MS,
  );
