import { randomInt } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { Chat, seatIn, TMUX } from '../e2e/chat-rig.ts';
import { ADDS, byBlock, done, PROJECT, RunsRig, writes } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';

/** `reef init` runs the gates on what is committed, and a run knows from it what failed before. */

let rig: RunsRig;
afterEach(() => rig.close());

const OLD = [
  "import { fail } from 'node:assert/strict';",
  "import { test } from 'node:test';",
  "import 'weather';",
  "test('the weather is fine', () => fail('rain'));\n",
].join('\n');
/** A dependency that only the set-up brings. */
const SETUP =
  'mkdir -p node_modules/weather; echo > node_modules/weather/index.js; echo set-up >> "$REEF_ROOT/ran.txt"';

const inRepository = (name: string) => join(rig.world.repository, name);
/** Whether a program with this command line runs on the machine. */
const runs = (words: string) =>
  readdirSync('/proc').some((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').endsWith(`${words.replaceAll(' ', '\0')}\0`)
      );
    } catch {
      return false; // it has ended
    }
  });
const ran = () =>
  existsSync(inRepository('ran.txt')) ? readFileSync(inRepository('ran.txt'), 'utf8').split('\n').filter(Boolean) : [];

verifies('J-10').test(
  'each gate runs once on what is committed after the set-up, not before it is trusted, and a run compares with it',
  async () => {
    rig = new RunsRig({ ...PROJECT, 'old.test.mjs': OLD, 'sum.mjs': ADDS, '.gitignore': 'ran.txt\nnode_modules/\n' });
    const { repository } = rig.world;
    const said = ['--setup', `sh -c '${SETUP}'`, '--test', `sh -c 'echo test >> ${repository}/ran.txt; npm test'`];
    const untrusted = await rig.reef('init', ...said, '--check');
    expect([untrusted.code, untrusted.out, ran()]).toEqual([
      0,
      expect.stringContaining('The gates were not run: that takes a gate, a commit, and your trust'),
      [],
    ]);
    // Without a person there it is not done unasked.
    expect((await rig.reef('init', ...said, '--yes')).out).not.toContain('on what is committed');
    const checked = await rig.reef('init', ...said, '--check');
    expect([checked.code, checked.out]).toEqual([0, expect.stringMatching(/^ {2}set-up +done, \d+s$/m)]);
    expect(checked.out).toMatch(/^ {2}test {4}already failing: the weather is fine, \d+s$/m);
    expect(checked.out).toContain('is not taken for the fault of an agent');
    expect(ran()).toEqual(['set-up', 'test']);
    expect(rig.git('worktree', 'list').split('\n')).toHaveLength(1);

    const again = await rig.json('init', ...said, '--check');
    expect(again.base.gates).toEqual([expect.objectContaining({ result: 'failed', reused: true })]);
    const steps = { Feature_Implement__GenerateCode: [writes('notes.txt', 'noted\n'), done('Written.')] };
    const agent = rig.world.script('notes', byBlock(steps));
    const followed = await rig.reef('run', 'test-fix', 'take a note', '--agent', agent, '--follow');
    expect([followed.code, followed.out]).toEqual([
      0,
      expect.stringContaining('RunTests  failed (already failing before the change: the weather is fine)'),
    ]);
    // The worktree and its checkout for gates were set up; the gate judged the change, and not the base a second time.
    expect(ran().filter((line) => line === 'test')).toHaveLength(2);
  },
  120_000,
);

verifies('J-10').test('a gate that hangs ends at its limit, and a set-up that fails is shown', async () => {
  rig = new RunsRig();
  rig.write({ '.reef/config.yaml': 'reef:\n  gates:\n    test: { command: sleep 1000, timeout: 1 }\n' });
  const hung = await rig.reef('init', '--yes', '--check');
  expect([hung.code, hung.out]).toEqual([0, expect.stringMatching(/^ {2}test {4}already failing, /m)]);
  for (const told of ['reef: ended after 1 s, its limit', 'so a run takes it for the fault of its agent'])
    expect(hung.out).toContain(told);

  const failed = await rig.reef('init', '--force', '--setup', 'sh -c "echo no network; exit 3"', '--yes', '--check');
  expect(failed.out).toMatch(/set-up {2}failed, so no gate could run:\n {4}sh ended with 3: no network\n/);
});

verifies('J-10', 'J-05')
  .needs(TMUX !== undefined && existsSync('/proc'), 'tmux and /proc')
  .test('at a terminal it says what runs and for how long, and Ctrl-C skips it', async () => {
    rig = new RunsRig();
    const words = `sleep ${randomInt(100_000, 1_000_000)}`;
    rig.write({ '.reef/config.yaml': `reef:\n  gates:\n    test: ${words}\n` });
    await using terminal = Chat.start(seatIn(rig.world), ['init']);
    await terminal.until(/Trust these 2 items\? \[y\/N\]/);
    terminal.type('y');
    terminal.keys('Enter');
    await terminal.until(/test \(1 of 1\): sleep \d+ … \d+s/);
    await until('the gate runs', () => runs(words));
    terminal.keys('C-c');
    const screen = await terminal.until(/\[ended \d+\]/);
    expect(screen).toMatch(/skipped: a run compares with what is committed[\s\S]*Next[\s\S]*\[ended 0\]/);
    await until('the gate has ended', () => !runs(words));
    await until('its checkout has gone', () => rig.git('worktree', 'list').split('\n').length === 1);
  });
