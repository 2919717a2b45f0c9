import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect } from 'vitest';
import { installed, Rig } from '../e2e/real.ts';
import { ADDS, PROJECT, QUICK, RunsRig, SUBTRACTS } from '../e2e/runs-rig.ts';
import { type ModelServer, startModelServer } from '../model-server/server.ts';
import { verifies } from '../support/verifies.ts';

const scripts = {
  sums: [
    { tools: [{ write: 'sum.mjs', content: SUBTRACTS }] },
    { text: 'I wrote sum.mjs.\nSIGNAL:SUCCESS' },
    { tools: [{ write: 'sum.mjs', content: ADDS }] },
    { text: 'It adds now.\nSIGNAL:SUCCESS' },
  ],
};

/** Not below /tmp: its agents are in the sandbox that everybody gets. */
const runs = new RunsRig(PROJECT, '/var/tmp');
let model: ModelServer;
let rig: Rig;
beforeAll(async () => {
  runs.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
  await runs.trust();
  model = await startModelServer({ scripts });
  rig = new Rig({ world: runs.world, model, scripts, timings: { linger: 0 } });
  rig.configure({ claude: rig.settings('claude', model.runUrl('sums', 'r1')) });
});
afterAll(() => rig.close());

verifies('J-05', 'J-26')
  .needs(...installed('claude'))
  .test(
    'who follows a run sees its blocks, what the agent does, gates with their seconds and what failed, and again afterwards',
    async () => {
      const followed = await runs.reef('run', 'Quick', 'make it add', '--agent', 'claude', '--yes', '--follow');
      expect(followed.code).toBe(3);
      const [, id = ''] = /all of it: reef run log (\S+) Test/.exec(followed.out) ?? [];
      const story = [
        /· its worktree is being made and set up/,
        /▶ Write\n/,
        / {4}▶ claude started in .*sandbox/,
        / {4}→ Write.*sum\.mjs/,
        / {4}± add sum\.mjs/,
        / {4}I wrote sum\.mjs\.\n/,
        /✔ Write {2}success, [\d.]+ s/,
        /▶ Test\n✘ Test {2}failed, [\d.]+ s\n {4}all of it/,
      ];
      for (const line of story) expect(followed.out).toMatch(line);

      // Afterwards the same lines, and of a block everything it left.
      const afterwards = await runs.reef('run', 'log', '@last');
      expect(afterwards.code).toBe(0);
      for (const line of story.slice(1)) expect(afterwards.out).toMatch(line);
      const whole = await runs.reef('run', 'log', id, 'Test');
      expect(whole.out).toContain('two and three make five');
      const none = await runs.reef('run', 'log', id, 'Nothing');
      expect([none.code, none.err]).toEqual([2, expect.stringContaining(`reef run show ${id}`)]);

      const resumed = await runs.reef('run', 'resume', id, 'It must add');
      expect(resumed.code).toBe(0);
      const rest = await runs.reef('run', 'show', id, '--follow');
      expect([rest.code, rest.out]).toEqual([0, expect.stringMatching(/✔ Test#2 {2}passed, [\d.]+ s/)]);
      await slimOverMcp(id);
    },
    120_000,
  );

const HALF = expect.toSatisfy((share: number) => share < 0.5);

/** Bytes of what a tool returns to a model, beside the records of the same operation. */
async function slimOverMcp(id: string): Promise<void> {
  const { repository: cwd, env, client } = runs.world;
  const mcp = new Client({ name: 'user', version: '1' });
  const args = [fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url)), 'mcp'];
  await mcp.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd, env: env as Record<string, string> }),
  );
  try {
    const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
    const calls = { status: {}, wait: { ids: [id] }, output: { id }, run_status: { id } } as const;
    const sizes: Record<string, [before: number, after: number]> = {};
    for (const [name, input] of Object.entries(calls)) {
      const { structuredContent } = await mcp.callTool({ name, arguments: input });
      sizes[name] = [bytes(await client.call(name as 'status', input as object)), bytes(structuredContent)];
    }
    process.stdout.write(`bytes over MCP, before and after: ${JSON.stringify(sizes)}\n`);
    const shares = Object.fromEntries(Object.entries(sizes).map(([name, [before, after]]) => [name, after / before]));
    expect([Math.max(...Object.values(shares)) < 1, shares.status, shares.run_status]).toEqual([true, HALF, HALF]);
  } finally {
    await mcp.close();
  }
}
