import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import type { InboxEntry } from '../../src/protocol/job-operations.ts';
import { shippedWorkflow } from '../../src/workflow/shipped/shipped.ts';
import type { Scripts, Turn } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { installed, openRig, type Rig, SLOW_MS } from './real.ts';

/** The shipped workflow with real agents and a real vitest: red, told why, mended, green, merged. */

const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const WRONG = 'export const sum = (a, b) => a - b;\n';
const RIGHT = 'export const sum = (a, b) => a + b;\n';

/** One script for the three agents of a run: each is a session of its own, and the model goes on where it was. */
const turns: Turn[] = [
  { tools: [{ shell: `printf '%s\\n' '${WRONG.trim()}' > sum.mjs`, escalate: 'May I write sum.mjs?' }] },
  {
    tools: [{ tool: 'mcp__reef__block_result', input: { signal: 'SIGNAL:SUCCESS', summary: 'Wrote sum.' } }],
    usage: { input: 500, output: 40 },
  },
  { text: 'It is handed in.' },
  // Passed over, and the run with it, unless the prompt holds the log of the failed test.
  { if: '^(?=[^]*expected -1 to be 5)[^]*two and three make five', tools: [{ read: 'sum.mjs' }] },
  { tools: [{ edit: 'sum.mjs', old: WRONG.trim(), new: RIGHT.trim() }] },
  { text: 'It subtracted.\n\nSIGNAL:SUCCESS' },
  { text: 'There is nothing to document.\n\n**SIGNAL:SUCCESS**' },
];
const scripts: Scripts = { claude: turns, codex: turns };

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
  write(
    'sum.test.mjs',
    "import { sum } from './sum.mjs';\ntest('two and three make five', () => expect(sum(2, 3)).toBe(5));\n",
  );
  write('.gitignore', 'node_modules\n'); // vitest keeps its results there, and what a gate writes is part of the tree it judged
  git('config', 'user.name', 'The User');
  git('config', 'user.email', 'user@example.invalid');
  git('add', '-A');
  git('commit', '-qm', 'a test');
  const command = [process.execPath, VITEST, 'run', '--globals', '--reporter=verbose', '--pool=threads'];
  const { text } = shippedWorkflow('test-fix');
  write(
    '.reef/workflows.yaml',
    text.replace(/^workers:\n/m, `workers:\n  TestRunner: { command: ${JSON.stringify(command)} }\n`),
  );
});
afterAll(() => rig.close());

const git = (...args: string[]) =>
  execFileSync('git', ['-C', rig.world.repository, ...args], { encoding: 'utf8', env: rig.world.env }).trimEnd();

function write(name: string, content: string): void {
  const path = join(rig.world.repository, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Allows whatever the agents of a run ask, as a person at the inbox does, until it is over or halts. */
async function overseen(runId: string) {
  const { client } = rig.world;
  const asked: InboxEntry[] = [];
  for (;;) {
    const { runs, view } = await client.call('run_status', { id: runId, waitMs: 30_000 });
    const [run] = runs;
    if (run?.status !== 'queued' && run?.status !== 'running' && run?.status !== 'awaiting_input')
      return { run, view, asked };
    const { questions } = await client.call('inbox', {});
    for (const question of questions.filter((each) => each.runId === runId)) {
      asked.push(question);
      const { questionId, fingerprint, jobId } = question;
      await client.call('send', { id: jobId, decision: 'allow_once', questionId, fingerprint });
    }
  }
}

for (const agent of ['claude', 'codex'] as const) {
  verifies('W-41', 'W-44', 'W-60', 'W-61', 'W-62', 'W-64', 'W-66', 'W-82', 'T-30')
    .needs(...installed(agent))
    .test(
      `${agent} is told why vitest fails, mends it, and what passed is merged`,
      async () => {
        const { client } = rig.world;
        const { items } = await client.call('trust', {});
        await client.call('trust', { hashes: items.map(({ hash }) => hash) });
        rig.configure({ [agent]: rig.settings(agent, rig.model.runUrl(agent, `flow-${agent}`)) });
        const { runId } = await client.call('run', { task: `Write sum with ${agent}`, agent });
        const { run, view, asked } = await overseen(runId);
        const visits = Object.values(view?.executionLog ?? {}).map(
          ({ block, visit, signal }) => `${block}#${visit} ${signal}`,
        );
        expect([run?.status, run?.because, visits]).toEqual([
          'success',
          undefined,
          [
            'Feature_Implement__GenerateCode#1 SIGNAL:SUCCESS',
            'Core_IO__WriteArtifacts#1 SIGNAL:SUCCESS',
            'Core_Validate__RunTests#1 SIGNAL:FAILURE',
            'Feature_Troubleshoot__FixCode#1 SIGNAL:SUCCESS',
            'Core_IO__WriteArtifacts#2 SIGNAL:SUCCESS',
            'Core_Validate__RunTests#2 SIGNAL:SUCCESS',
          ],
        ]);
        expect(asked.length).toBeGreaterThanOrEqual(1);
        expect(asked.map(({ kind }) => kind)).toEqual(asked.map(() => 'permission'));
        const { calls } = await client.call('calls', { run: runId });
        expect(calls.map(({ block, request }) => [block, request.provider]).reverse()).toEqual([
          ['Feature_Implement__GenerateCode', agent],
          ['Feature_Troubleshoot__FixCode', agent],
        ]);
        expect(calls.at(-1)?.response?.tokensUsed.input).toBeGreaterThanOrEqual(500);
        const accepted = await client.call('accept', { id: run?.worktree ?? '' });
        expect([accepted.status, readFileSync(join(rig.world.repository, 'sum.mjs'), 'utf8')]).toEqual([
          'merged',
          RIGHT,
        ]);
        expect(git('log', '-1', '--format=%s %an')).toBe(`Write sum with ${agent} The User`);
        git('reset', '-q', '--hard', 'HEAD~1');
      },
      SLOW_MS * 2,
    );
}
