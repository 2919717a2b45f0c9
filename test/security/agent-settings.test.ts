import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { installed, openRig, type RealJob, type ReefAgent, type Rig, SLOW_MS } from '../e2e/real.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

/** What a repository has real agents do: its settings carry commands that leave a file, its instructions a word. */

let rig: Rig;
beforeAll(async () => {
  rig = await openRig({}, '/var/tmp');
});
afterAll(() => rig.close());

const server = (canary: string) => ({ command: 'sh', args: ['-c', `touch ${canary}`] });
const hooks = (canary: string) => ({
  hooks: { SessionStart: [{ hooks: [{ type: 'command', command: `touch ${canary}` }] }] },
});

/** Files of the repository, given where a command shall leave its trace. */
const repositories: Record<
  'claude' | 'codex' | 'acp:gemini' | 'acp:opencode',
  (canary: string) => Record<string, string>
> = {
  claude: (canary) => ({
    '.claude/settings.json': JSON.stringify(hooks(`${canary}-hook`)),
    '.mcp.json': JSON.stringify({ mcpServers: { canary: server(canary) } }),
    'CLAUDE.md': 'The word is heron.',
  }),
  codex: (canary) => ({
    '.codex/config.toml': `[mcp_servers.canary]\ncommand = "sh"\nargs = ["-c", "touch ${canary}"]\n`,
    'AGENTS.md': 'The word is heron.',
  }),
  'acp:gemini': (canary) => ({
    '.gemini/settings.json': JSON.stringify({ mcpServers: { canary: server(canary) } }),
    'GEMINI.md': 'The word is heron.',
  }),
  'acp:opencode': (canary) => ({
    'opencode.json': JSON.stringify({ mcp: { canary: { type: 'local', command: ['sh', '-c', `touch ${canary}`] } } }),
    'AGENTS.md': 'The word is heron.',
  }),
};

async function work(agent: ReefAgent, script: string): Promise<RealJob> {
  // Servers start beside the first question to the model, which need not wait for them.
  rig.scripts[script] = [{ tools: [{ shell: 'echo hello' }] }, { text: 'Done.', delayMs: 3_000 }];
  const job = await rig.spawn({ agent, script, cwd: rig.world.repository, yes: true, unsafe: true, sandbox: false });
  const isOver = ({ activity }: { activity: string }) => activity === 'ended';
  expect(await rig.world.until(job.id, isOver, 2 * SLOW_MS)).toMatchObject({ status: 'completed' });
  return job;
}

const heard = (job: RealJob) => JSON.stringify(job.requests().map(({ body }) => body)).includes('The word is heron.');

for (const agent of ['claude', 'codex', 'acp:opencode', 'acp:gemini'] as const) {
  verifies('X-132', 'J-14', 'X-116')
    .needs(...installed(agent))
    .test(
      `${agent} gets the instructions of an untrusted repository and none of its settings, and both once it is trusted`,
      async () => {
        const { repository, root, client } = rig.world;
        const canary = join(root, `canary-${agent.replace(':', '-')}`);
        const files = repositories[agent](canary);
        for (const [name, text] of Object.entries(files)) {
          mkdirSync(dirname(join(repository, name)), { recursive: true });
          writeFileSync(join(repository, name), text);
        }
        const settings = Object.keys(files).filter((name) => !name.endsWith('.md'));

        const before = await work(agent, `before-${agent.replace(':', '-')}`);
        const [warning] = await before.progress('warning');
        for (const name of settings) expect(warning?.message).toContain(name);
        expect(warning?.message).toContain('reef trust');
        expect([existsSync(canary), existsSync(`${canary}-hook`)]).toEqual([false, false]);
        expect(heard(before)).toBe(true);

        const { items } = await client.call('trust', {});
        const shown = items.filter(({ name }) => settings.includes(name));
        expect(shown.map(({ name, content }) => [name, content])).toEqual(settings.map((name) => [name, files[name]]));
        await client.call('trust', { hashes: shown.map(({ hash }) => hash) });

        const after = await work(agent, `after-${agent.replace(':', '-')}`);
        expect(await after.progress('warning')).not.toContainEqual(
          expect.objectContaining({ message: warning?.message }),
        );
        await eventually(
          () => existsSync(canary),
          (isThere) => isThere,
        );
        expect(existsSync(`${canary}-hook`)).toBe(agent === 'claude');
        expect(heard(after)).toBe(true);
        if (agent === 'codex') {
          for (const { home } of [before, after]) {
            expect(readFileSync(join(home, 'codex', 'config.toml'), 'utf8')).not.toContain('trust_level');
          }
        }
        for (const name of Object.keys(files)) rmSync(join(repository, name));
      },
      5 * SLOW_MS,
    );
}
