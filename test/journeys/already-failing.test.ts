import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { Chat, seatIn, TMUX } from '../e2e/chat-rig.ts';
import { ADDS, byBlock, done, PROJECT, RunsRig, SUBTRACTS, WRITES_IT_RIGHT, writes } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** A test that fails before the change is not the agent's fault: it is told so, and a person decides at the merge. */

const OLD = [
  "import { fail } from 'node:assert/strict';",
  "import { test } from 'node:test';",
  "test('the weather is fine', () => fail('rain'));\n",
].join('\n');

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig({ ...PROJECT, 'old.test.mjs': OLD, 'sum.mjs': ADDS, '.gitignore': 'ran.txt\n' });
  const test = `echo "$(cat sum.mjs | cksum)" >> ${rig.world.repository}/ran.txt; npm test`;
  rig.write({ 'ran.txt': '', '.reef/config.yaml': `gates: { test: ${JSON.stringify(test)} }\n` });
  await rig.trust();
});
afterAll(() => rig.close());

const ran = () => readFileSync(join(rig.world.repository, 'ran.txt'), 'utf8').trim().split('\n');

/** At a terminal one `y` is enough. */
async function mergeAllTheSame(): Promise<void> {
  if (TMUX === undefined) return void (await rig.reef('accept', '@last', '--yes'));
  await using terminal = Chat.start(seatIn(rig.world), ['accept', '@last']);
  await terminal.until(/already failing before the change[\s\S]*Merge it all the same\? \[y\/N\]/);
  terminal.type('y');
  terminal.keys('Enter');
  expect(await terminal.until(/\[ended \d+\]/)).toMatch(/merged as [0-9a-f]{12}[\s\S]*\[ended 0\]/);
}

async function promptOf(block: string): Promise<string> {
  const { view } = await rig.settled('@last');
  const { jobId = '' } = view.executionLog[block] ?? {};
  const { calls } = await rig.world.client.call('calls', { job: jobId });
  return JSON.stringify(calls.at(-1)?.request.prompt);
}

verifies('J-10').test(
  'what failed before the change is shown as that, stops no run, and is merged only with consent',
  async () => {
    const steps = { Feature_Implement__GenerateCode: [writes('notes.txt', 'noted\n'), done('Written.')] };
    const agent = rig.world.script('notes', byBlock(steps));
    const followed = await rig.reef('run', 'test-fix', 'take a note', '--agent', agent, '--follow');
    expect(followed.code).toBe(0);
    const words = 'failed (already failing before the change: the weather is fine)';
    expect(followed.out).toContain(`RunTests  ${words}`);
    expect(followed.out).toContain(`gates     test ${words}`);
    expect(await promptOf('Feature_Troubleshoot__FixCode#1')).toContain('fails only where it failed before the change');
    // Once on the change and once on what was there before; the agent left the files as they were.
    expect(ran()).toHaveLength(2);
    const judged = await rig.reef('worktree', 'gates', '@last');
    expect([judged.code, judged.out]).toEqual([0, expect.stringContaining(`test  ${words}`)]);
    const asked = await rig.reef('accept', '@last');
    expect([asked.code, asked.err]).toEqual([
      1,
      expect.stringContaining('already failing before the change: test: the weather is fine'),
    ]);
    await mergeAllTheSame();
    expect(rig.git('show', 'main:notes.txt')).toBe('noted');
  },
  120_000,
);

verifies('J-10').test(
  'what is new goes to the agent apart from what was there before',
  async () => {
    const steps = {
      Feature_Implement__GenerateCode: [writes('sum.mjs', SUBTRACTS), done('Written.')],
      Feature_Troubleshoot__FixCode: WRITES_IT_RIGHT.map((step) =>
        'edit' in step ? writes('sum.mjs', `${ADDS}// mended\n`) : step,
      ),
    };
    const agent = rig.world.script('breaks', byBlock(steps));
    const followed = await rig.reef('run', 'test-fix', 'rewrite sum', '--agent', agent, '--follow');
    expect(followed.out).toContain(
      'RunTests  failed (new: two and three make five; already failing before the change: the weather is fine)',
    );
    const prompt = await promptOf('Feature_Troubleshoot__FixCode#1');
    for (const told of ['mend that', 'two and three make five', 'is not your doing']) expect(prompt).toContain(told);
    expect((await rig.reef('discard', '@last')).code).toBe(0);
  },
  120_000,
);
