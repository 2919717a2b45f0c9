import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, expect } from 'vitest';
import { type AgentName, realAgent } from '../agents/real-agents.ts';
import { installed } from '../e2e/real.ts';
import { PROJECT, RunsRig } from '../e2e/runs-rig.ts';
import { spoken } from '../support/surfaces/spoken.ts';
import { verifies } from '../support/verifies.ts';

const rig = new RunsRig(PROJECT, '/var/tmp');
afterAll(() => rig.close());

const home = join(rig.world.root, 'user');
const FILES = {
  claude: join(home, '.claude.json'),
  codex: join(home, '.codex', 'config.toml'),
  gemini: join(home, '.gemini', 'settings.json'),
  opencode: join(rig.world.root, 'config', 'opencode', 'opencode.json'),
};

/** What the program itself says of its servers. */
async function servers(name: AgentName): Promise<string> {
  const { repository: cwd, env } = rig.world;
  const run = promisify(execFile)(realAgent(name).file, ['mcp', 'list'], { cwd, env, timeout: 60_000 });
  run.child.stdin?.end();
  const { stdout, stderr } = await run;
  return stdout + stderr;
}

verifies('J-17')
  .needs(...installed('claude', 'codex', 'acp:gemini', 'acp:opencode'))
  .test(
    "reef mcp install shows the change to a client's own configuration, makes it after a y, and takes it back",
    async () => {
      const { repository: cwd, env } = rig.world;
      for (const [name, file] of Object.entries(FILES) as [AgentName, string][]) {
        const own =
          name === 'codex' ? 'model = "mine"\n\n[history]\npersistence = "none"\n' : '{\n  "theme": "dark"\n}\n';
        mkdirSync(dirname(file), { recursive: true });
        if (name !== 'opencode') writeFileSync(file, own);

        const unasked = await rig.reef('mcp', 'install', name);
        expect([unasked.code, unasked.err]).toEqual([3, expect.stringContaining(`reef mcp install ${name} --yes`)]);
        expect(unasked.err).toMatch(/\+.*reef\.cjs/);
        const person = (stdin: PassThrough, stderr: PassThrough) =>
          void stderr.on('data', (said: Buffer) => said.toString().includes('[y/N] ') && stdin.write('y\n'));
        const agreed = await spoken({ args: ['mcp', 'install', name], cwd, env, isTTY: true, person });
        expect([agreed.code, agreed.out]).toEqual([0, expect.stringContaining('knows Reef')]);
        expect(await servers(name)).toMatch(/reef.*reef\.cjs mcp|reef[\s\S]*reef\.cjs/);

        const again = await rig.reef('mcp', 'install', name);
        expect([again.code, again.out]).toEqual([0, expect.stringContaining('Nothing to change')]);
        const settings = readFileSync(file, 'utf8');
        expect((await rig.reef('mcp', 'install', name, '--remove', '--yes')).code).toBe(0);
        // Claude Code and opencode write there themselves.
        if (name === 'codex' || name === 'gemini') expect(readFileSync(file, 'utf8')).toBe(own);
        expect([settings.includes('reef.cjs'), readFileSync(file, 'utf8').includes('reef.cjs')]).toEqual([true, false]);
      }

      writeFileSync(FILES.gemini, '{ // mine\n}');
      const commented = await rig.reef('mcp', 'install', 'gemini', '--yes');
      expect([commented.code, commented.err]).toEqual([
        2,
        expect.stringMatching(/comments, perhaps[\s\S]*"mcpServers"/),
      ]);
      expect((await rig.reef('mcp', 'install', 'emacs')).err).toContain('expected claude, codex, gemini, opencode');
    },
    120_000,
  );
