import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { leftovers, QUICK, RunsRig, type Steps } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** Two tasks change the same lines, or what one changes breaks the other: the merge says so, and the agent mends it. */

const FILES = {
  'package.json': '{"type":"module","scripts":{"test":"node check.mjs"}}\n',
  '.reef/workflows.yaml': QUICK,
  '.gitignore': 'ready\n',
  'list.txt': 'one\ntwo\nthree\n',
  'limit.txt': '4\n',
  // Needs the set-up; the list may have as many lines as the limit says, and no marks.
  'check.mjs': [
    "import { existsSync, readFileSync } from 'node:fs';",
    "if (!existsSync('ready')) throw new Error('not set up');",
    "const lines = readFileSync('list.txt', 'utf8').trim().split('\\n');",
    "if (lines.some((line) => line.startsWith('<<<<'))) throw new Error('marks');",
    "if (lines.length > Number(readFileSync('limit.txt', 'utf8'))) throw new Error('too many lines: ' + lines.length);\n",
  ].join('\n'),
};

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig(FILES);
  rig.write({ '.reef/config.yaml': 'worktree: { setup: [touch, ready] }\n' });
  await rig.trust();
});
afterAll(() => rig.close());

const list = (folder = rig.world.repository) => readFileSync(join(folder, 'list.txt'), 'utf8').trim().split('\n');
const shell = (script: string) => ({ shell: ['sh', '-c', script] });
const SAID = { say: 'Done.\nSIGNAL:SUCCESS' };
/** Does its work, and what `later` says when the prompt holds the words. */
function agent(name: string, script: string, ...later: { when: string; steps: Steps }[]): string {
  const steps = [{ choose: [...later, { steps: [shell(script), SAID] }] }];
  return rig.world.script(name, { steps, onResume: steps });
}
const run = (task: string, by: string, ...more: string[]) => rig.reef('run', 'Quick', task, '--agent', by, ...more);
const replaceLast = (word: string) => `sed -i 's/three/${word}/' list.txt`;
const RESOLVES = { when: 'Resolve every one', steps: [shell("sed -i '/^[<=>]\\{7\\}/d' list.txt"), SAID] };

verifies('J-31').test(
  'update marks a conflict for a person, whose edits are then accepted, uncommitted work included',
  async () => {
    const right = agent('one', replaceLast('mine'));
    expect((await run('Mine', right, '--follow')).code).toBe(0);
    const { worktree, path } = (await rig.settled('@last')).run;
    writeFileSync(join(path ?? '', 'note.txt'), 'not committed\n');
    rig.commit({ 'list.txt': 'one\ntwo\ntheirs\n' }, 'theirs');
    const refused = await rig.reef('worktree', 'accept', worktree);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(/^merge_conflict: Not merged: both sides changed list\.txt\./),
    ]);
    for (const command of [`reef worktree update ${worktree} --agent claude`, `reef worktree update ${worktree},`])
      expect(refused.err).toContain(command);
    const marked = await rig.reef('worktree', 'update', worktree);
    expect([marked.code, marked.err, marked.out]).toEqual([
      1,
      '',
      expect.stringContaining('Both sides changed: list.txt'),
    ]);
    expect(list(path ?? '')).toEqual([
      'one',
      'two',
      expect.stringMatching(/^<{7}/),
      'mine',
      '=======',
      'theirs',
      expect.stringMatching(/^>{7}/),
    ]);
    const still = await rig.reef('worktree', 'accept', worktree);
    expect([still.code, still.err]).toEqual([
      1,
      expect.stringMatching(/^merge_conflict: Still marked in .*: list\.txt/),
    ]);
    writeFileSync(join(path ?? '', 'list.txt'), 'one\ntwo\nmine\ntheirs\n');
    const accepted = await rig.reef('worktree', 'accept', worktree);
    expect([accepted.err, accepted.code, list(), rig.git('show', 'main:note.txt')]).toEqual([
      '',
      0,
      ['one', 'two', 'mine', 'theirs'],
      'not committed',
    ]);
    expect(leftovers(rig)).toEqual([]);
  },
  240_000,
);

verifies('J-31').test(
  'an agent resolves the conflict, the gates judge, and accept works; without a conflict update only brings the target in',
  async () => {
    rig.commit({ 'list.txt': 'one\ntwo\nthree\n' }, 'back');
    const resolver = agent('resolves', replaceLast('mine'), RESOLVES);
    expect((await run('Mine', resolver, '--follow')).code).toBe(0);
    const { worktree, path } = (await rig.settled('@last')).run;
    rig.commit({ 'other.txt': 'other\n' }, 'other');
    const clean = await rig.reef('worktree', 'update', worktree);
    expect([clean.code, clean.err, clean.out]).toEqual([
      0,
      '',
      expect.stringMatching(/^main was brought in\.\n(.*\n)*test {2}passed/),
    ]);
    expect((await rig.reef('worktree', 'update', worktree)).out).toContain('has everything of main already');
    rig.commit({ 'list.txt': 'one\ntwo\ntheirs\n' }, 'theirs');
    const resolved = await rig.reef('worktree', 'update', worktree, '--agent', resolver);
    expect([resolved.err, resolved.code, list(path ?? '')]).toEqual(['', 0, ['one', 'two', 'mine', 'theirs']]);
    const accepted = await rig.reef('worktree', 'accept', worktree);
    expect([accepted.err, accepted.code, list()]).toEqual(['', 0, ['one', 'two', 'mine', 'theirs']]);
    expect(leftovers(rig)).toEqual([]);
  },
  240_000,
);

verifies('J-32').test(
  'tasks that are to be merged come in one by one; what conflicts or fails together goes back to its agent, and all of it arrives',
  async () => {
    rig.commit({ 'list.txt': 'one\ntwo\nthree\n' }, 'back');
    const first = agent('first', replaceLast('first'), RESOLVES);
    const second = agent('second', replaceLast('second'), RESOLVES);
    // It begins with the others and ends after them: its limit is too small for what they made of the list.
    const waits = `for n in $(seq 1200); do test -e '${rig.world.root}/go' && break; sleep 0.1; done; echo 3 > limit.txt`;
    const mends = { when: 'fails together with main', steps: [shell('echo 9 > limit.txt'), SAID] };
    const late = run('Third', agent('third', waits, mends), '--accept', '--follow');
    const both = await Promise.all([
      run('First', first, '--accept', '--follow'),
      run('Second', second, '--accept', '--follow'),
    ]);
    writeFileSync(join(rig.world.root, 'go'), '');
    const done = [...both, await late];
    expect(done.map(({ code, out }) => [code, /success, merged/.test(out)])).toEqual([
      [0, true],
      [0, true],
      [0, true],
    ]);
    expect(done[2]?.err).toContain('went back to its agent');
    expect(rig.git('log', '--format=%s', '-3').split('\n').sort()).toEqual(['First', 'Second', 'Third']);
    expect(list()).toEqual(expect.arrayContaining(['one', 'two', 'first', 'second']));
    expect(leftovers(rig)).toEqual([]);
  },
  300_000,
);

verifies('J-32').test(
  'a daemon killed in the middle merges nothing twice and loses nothing',
  async () => {
    rig.commit({ 'list.txt': 'one\ntwo\nthree\n', 'limit.txt': '20\n' }, 'back');
    const started = [];
    for (const word of ['red', 'green', 'blue']) {
      const by = agent(word, replaceLast(word), RESOLVES);
      started.push(await rig.start({ task: word, workflow: 'Quick', agent: by, accept: true }));
    }
    const merged = () =>
      rig
        .git('log', '--format=%s', '-12')
        .split('\n')
        .filter((each) => ['red', 'green', 'blue'].includes(each));
    for (let kills = 0; kills < 4 && merged().length < 3; kills++) {
      await rig.until(started[kills % 3]?.runId ?? '', () => true);
      await rig.world.killDaemon();
    }
    await expect
      .poll(async () => (await rig.look('@last')) && merged().length, { timeout: 120_000, interval: 300 })
      .toBe(3);
    expect([...merged()].sort()).toEqual(['blue', 'green', 'red']);
    expect(list()).toEqual(expect.arrayContaining(['one', 'two', 'red', 'green', 'blue']));
    await expect.poll(() => leftovers(rig), { timeout: 60_000 }).toEqual([]);
  },
  300_000,
);
