import { readFileSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { TASK_STATES, type TaskState } from '../../src/surfaces/render/next-steps.ts';
import {
  ADDS,
  byBlock,
  done,
  QUICK,
  RunsRig,
  type Spoken,
  WRITES_IT_RIGHT,
  WRITES_IT_WRONG,
  writes,
} from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

const rig = new RunsRig();
const marker = () => join(rig.world.root, 'prepared');
beforeAll(async () => {
  // What the set-up misses lies outside its worktree, where a sandbox would show nothing.
  rig.world.configure({ reef: { timings: { linger: 0 }, sandbox: 'off' } });
  rig.commit(
    {
      '.reef/workflows.yaml': QUICK,
      '.reef/config.yaml': `worktree:\n  setup: [sh, -c, "test -f '${marker()}' || { echo no registry today; exit 7; }"]\n`,
    },
    'workflow',
  );
  await rig.trust();
});
afterAll(() => rig.close());

/** The message names every command of the state, about this task. */
function shows(state: TaskState, { out, err }: Spoken, id: string, blocker = ''): void {
  for (const { type } of TASK_STATES[state].steps)
    expect(out + err).toContain(type.replace('ID', id).replace('BLOCKER', blocker));
}

/** Types what the state says, as it is written there. */
async function types(state: TaskState, command: string, id: string, agent = 'claude'): Promise<Spoken> {
  const steps: readonly { type: string }[] = TASK_STATES[state].steps;
  expect(steps.map(({ type }) => type)).toContain(command);
  const words = command.replace('ID', id).split(' ').slice(1);
  const said: Record<string, string> = { '"…"': 'Go on, please', claude: agent };
  return rig.reef(...words.map((word) => said[word] ?? word));
}

const run = (task: string, blocks: Parameters<typeof byBlock>[0], ...flags: string[]) =>
  rig.reef('run', 'Quick', task, '--agent', rig.world.script(task.replaceAll(' ', '-'), byBlock(blocks)), ...flags);
const lastRun = async (): Promise<string> => (await rig.json('runs')).runs[0].runId;

verifies('J-01', 'J-02').test(
  'a set-up that failed is called so, and retrying it takes the run to its merge',
  async () => {
    await rm(marker(), { force: true });
    const failed = await run('Add up', { Quick__Write: WRITES_IT_RIGHT }, '--follow');
    const id = await lastRun();
    expect([failed.code, failed.out]).toEqual([
      3,
      expect.stringMatching(/^set-up failed, after .*no registry today/ms),
    ]);
    shows('setup_failed', failed, id);
    const again = await types('setup_failed', 'reef run retry ID', id);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining(`reef run retry ${id}`)]);
    await writeFile(marker(), '');
    expect((await types('setup_failed', 'reef run retry ID', id)).code).toBe(0);
    const ended = await rig.reef('run', 'show', id, '--wait');
    expect([ended.code, ended.out]).toEqual([0, expect.stringMatching(/^success, after/m)]);
    shows('success', ended, id);
    expect((await types('success', 'reef diff ID', id)).out).toContain('A sum.mjs');
    expect((await types('success', 'reef accept ID', id)).out).toMatch(/^merged as/m);
    shows('merged', await rig.reef('status', id), id);
  },
  120_000,
);

verifies('J-01', 'J-02').test(
  'a halted run says why in plain words, and each of its answers works',
  async () => {
    await writeFile(marker(), '');
    const halted = await run('Turn it round', { Quick__Write: WRITES_IT_WRONG }, '--follow');
    const id = await lastRun();
    expect([halted.code, halted.out]).toEqual([3, expect.stringMatching(/^Test failed\. {2}Test$/m)]);
    expect(halted.out).not.toMatch(/SIGNAL|halted_by_workflow/);
    shows('halted', halted, id);
    for (const verb of ['resume', 'retry'] as const) {
      expect((await types('halted', `reef run ${verb} ID`, id)).code).toBe(0);
      expect((await rig.reef('run', 'show', id, '--wait')).code).toBe(3);
    }
    expect((await types('halted', 'reef run abort ID', id)).code).toBe(0);
    const aborted = await rig.reef('run', 'show', id);
    shows('aborted', aborted, id);
    const refused = await types('aborted', 'reef accept ID', id);
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/^gates_failed: /)]);
    expect((await types('aborted', 'reef discard ID', id)).out).toContain('kept on');
    shows('put_aside', await rig.reef('status', id), id);
    expect((await types('put_aside', 'reef worktree restore ID', id)).code).toBe(0);
    expect((await rig.reef('diff', id)).out).toContain('M sum.mjs');
    expect((await rig.reef('discard', id)).code).toBe(0);
  },
  150_000,
);

verifies('J-23').test(
  'a halt after corrections that failed shows what was wrong first, also when files changed',
  async () => {
    await writeFile(marker(), '');
    const reports = (json: string) => ({ say: `\`\`\`reef-result\n${json}\n\`\`\`` });
    const later = [reports('{"signal":"SIGNAL:SUCCESS"}')];
    const first = reports('{"signal":"SIGNAL:NEVER","summary":"Half."}');
    const scripted = { steps: [writes('sum.mjs', 'half'), first], onResume: later, onMessage: later };
    const agent = rig.world.script('unusable', scripted);
    const halted = await rig.reef('run', 'Quick', 'Say it badly', '--agent', agent, '--follow');

    expect([halted.code, halted.out]).toEqual([
      3,
      expect.stringMatching(/never reported a usable result for Write\. Its first answer: .*signal: .*\. Continue\?/),
    ]);
    shows('halted', halted, await lastRun());
    // One that changed files and said nothing at all goes on to the gates.
    const silent = rig.world.script('silent', {
      steps: [writes('sum.mjs', `${ADDS}// silent\n`), { say: 'Written.' }],
      onMessage: [],
    });
    expect((await rig.reef('run', 'Quick', 'Say nothing', '--agent', silent, '--follow')).code).toBe(0);
  },
  120_000,
);

verifies('J-01').test(
  'a job that asked, ended, was lost or was killed says what to type, and that works',
  async () => {
    const agent = rig.world.script('speaks', { steps: [{ say: 'Done.' }], onMessage: [{ say: 'And more.' }] });
    const ended = await rig.reef('spawn', agent, 'Speak', '--wait');
    const id: string = (await rig.json('status', 'speak')).jobs[0].id;
    shows('job_ended', ended, id);
    expect((await types('job_ended', 'reef output ID', id)).out).toContain('Done.');

    const kept = await rig.reef('spawn', agent, 'Stay', '--keep', '--wait');
    const stays: string = (await rig.json('status', 'stay')).jobs[0].id;
    shows('job_paused', kept, stays);
    expect((await types('job_paused', 'reef resume ID "…"', stays)).code).toBe(0);
    expect((await rig.reef('wait', stays, '--until', 'idle')).code).toBe(0);
    expect((await types('job_paused', 'reef kill ID', stays)).code).toBe(0);
    shows('job_killed', await rig.reef('status', stays), stays);

    // The daemon is gone: the next command starts another, and nothing is lost.
    await rig.world.killDaemon();
    expect((await rig.reef('output', id)).out).toContain('Done.');
    const broken = await rig.reef('spawn', rig.world.script('breaks', [{ exit: 3 }]), 'Break', '--wait');
    shows('job_failed', broken, (await rig.json('status', 'break')).jobs[0].id);
  },
  120_000,
);

verifies('J-01').test(
  'a run that would clash says what it waits for, and goes on once that is merged or dropped',
  async () => {
    await writeFile(marker(), '');
    const go = join(rig.world.root, 'go');
    const waits = { shell: ['sh', '-c', `until test -f '${go}'; do sleep 0.1; done`] };
    await run('Left', { Quick__Write: [writes('left.txt', 'l\n'), waits, done('Done.')] }, '--plan', 'left.txt');
    const left = await lastRun();
    await run('Right', { Quick__Write: WRITES_IT_RIGHT }, '--plan', 'left.txt');
    const right = await lastRun();
    shows('queued', await rig.reef('status', right), right);
    await writeFile(go, '');
    const behind = await rig.reef('run', 'show', right, '--wait');
    const { worktree } = (await rig.json('run', 'show', left)).runs[0];
    expect(behind.code).toBe(3);
    shows('behind', behind, right, worktree);
    expect((await rig.reef('discard', left)).code).toBe(0);
    expect((await rig.reef('wait', right)).code).toBe(0);
  },
  90_000,
);

/** Commits to the checkout of the target, as somebody else would meanwhile; an agent of a sandbox could not. */
const elsewhere = (script: string) => {
  const { repository } = rig.world;
  return {
    shell: [
      'sh',
      '-c',
      `cd '${repository}' && { ${script}
} && git add -A && git commit -qm elsewhere`,
    ],
  };
};

verifies('J-01').test(
  'work that conflicts again and again says so, and the target can be brought in by an agent or by hand',
  async () => {
    await writeFile(marker(), '');
    rig.commit({ 'list.txt': 'one\n' }, 'list');
    // Each time it is given back, the target has moved on once more.
    const moves = [
      { shell: ['sh', '-c', "sed -i '/^[<=>]\\{7\\}/d' list.txt; echo mine >> list.txt"] },
      elsewhere('printf \'one\\n%s\\n\' "$(date +%s%N)" > list.txt'),
      done('Done.'),
    ];
    const blocks = { Quick__Write: [...WRITES_IT_RIGHT.slice(0, 1), ...moves] };
    const agent = rig.world.script('moves', { steps: byBlock(blocks), onResume: byBlock(blocks) });
    const refused = await rig.reef('run', 'Quick', 'Conflict', '--agent', agent, '--accept', '--follow');
    const id = await lastRun();
    expect([refused.code, refused.out]).toEqual([1, expect.stringMatching(/^success, not merged.*list\.txt/ms)]);
    shows('conflict', refused, id);
    expect((await types('conflict', 'reef diff ID', id)).out).toContain('list.txt');
    const marked = await types('conflict', 'reef worktree update ID', id);
    expect([marked.code, marked.out]).toEqual([1, expect.stringContaining('Both sides changed: list.txt')]);
    const resolver = rig.world.script('resolver', {
      steps: [{ shell: ['sh', '-c', "sed -i '/^[<=>]\\{7\\}/d' list.txt"] }, done('Resolved.')],
    });
    const resolved = await types('conflict', 'reef worktree update ID --agent claude', id, resolver);
    expect([resolved.code, resolved.err]).toEqual([0, '']);
    const [newest] = (await rig.json('runs')).runs;
    expect((await rig.reef('run', 'show', newest.runId, '--wait')).code).toBe(0);
    expect((await types('conflict', 'reef accept ID', id)).out).toMatch(/^merged as/m);
  },
  180_000,
);

verifies('J-01').test(
  'a gate that fails on what would be merged says so, and mending it by hand leads to the merge',
  async () => {
    await writeFile(marker(), '');
    // Each time, the target forbids just what the agent has written, of which the agent knows nothing.
    const moves = [
      writes('sum.mjs', ADDS),
      { shell: ['sh', '-c', 'date +%s%N > mark.txt'] },
      elsewhere(
        [
          'mark=$(cat "$OLDPWD/mark.txt"); cat > "no-$mark.test.mjs" <<END',
          "import { ok } from 'node:assert/strict'; import { existsSync, readFileSync } from 'node:fs'; import { test } from 'node:test';",
          "test('no $mark', () => ok(!existsSync('mark.txt') || !readFileSync('mark.txt', 'utf8').includes('$mark')));",
          'END',
        ].join('\n'),
      ),
      done('Done.'),
    ];
    const blocks = { Quick__Write: moves };
    const agent = rig.world.script('wants', { steps: byBlock(blocks), onResume: byBlock(blocks) });
    const refused = await rig.reef('run', 'Quick', 'Break it', '--agent', agent, '--accept', '--follow');
    const id = await lastRun();
    expect([refused.code, refused.out]).toEqual([1, expect.stringMatching(/^success, not merged/m)]);
    shows('gates_failed', refused, id);
    const again = await types('gates_failed', 'reef accept ID', id);
    expect([again.code, again.err]).toEqual([1, expect.stringMatching(/^gates_failed: /)]);
    const updated = await types('gates_failed', 'reef worktree update ID', id);
    expect([updated.code, updated.out]).toEqual([1, expect.stringContaining('failed')]);
    const { path } = (await rig.json('run', 'show', id)).runs[0];
    await writeFile(join(path, 'mark.txt'), 'none\n');
    expect((await types('gates_failed', 'reef worktree gates ID', id)).code).toBe(0);
    expect((await types('gates_failed', 'reef accept ID', id)).out).toMatch(/^merged as/m);
  },
  240_000,
);

verifies('J-01').test(
  'after a restart of the machine a run says that its agent was lost, and going on works',
  async () => {
    await writeFile(marker(), '');
    const lasts = { shell: ['sh', '-c', 'test -e again || { touch again; exec sleep 600; }'] };
    const agent = rig.world.script('lasts', {
      steps: byBlock({ Quick__Write: [lasts, writes('late.txt', 'l\n'), done('Done.')] }),
    });
    await rig.reef('run', 'Quick', 'Last for long', '--agent', agent);
    const id = await lastRun();
    const { jobId } = await eventually(
      async () => (await rig.json('output', id)).events?.find(({ type }: { type: string }) => type === 'started'),
      (found) => found !== undefined,
    ).then(({ agentId }) => ({ jobId: agentId }));
    await rig.world.killDaemon();
    // Everything that ran is gone, and what was noted belongs to another boot.
    const noted = join(rig.world.home.dir, 'jobs', jobId, '1', 'pid');
    const identity = JSON.parse(readFileSync(noted, 'utf8'));
    process.kill(-identity.pid, 'SIGKILL');
    writeFileSync(noted, JSON.stringify({ ...identity, bootId: '00000000-0000-0000-0000-000000000000' }));
    const lost = await rig.reef('run', 'show', id, '--wait');
    expect(lost.code).toBe(3);
    shows('halted', lost, id);
    expect((await types('halted', 'reef run retry ID', id)).code).toBe(0);
    await rig.reef('run', 'show', id, '--wait');
    expect((await rig.reef('diff', id)).out).toContain('late.txt');
  },
  120_000,
);
