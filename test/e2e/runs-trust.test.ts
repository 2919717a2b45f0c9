import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { ADDS, done, QUICK, RunsRig, writes } from './runs-rig.ts';

/** What a repository wants run is run only after a person has read it; and every wrong word gets its code and a way on. */

let rig: RunsRig;
beforeAll(() => {
  rig = new RunsRig();
});
afterAll(() => rig.close());

const CONFIG = "gates: { lint: ['true'] }\nworktree: { setup: ['touch', 'was-set-up'] }\n";

verifies('X-15', 'X-16').test(
  'nothing of the repository is in effect before it is trusted, and one changed byte asks again',
  async () => {
    const agent = rig.world.script('right', [writes('sum.mjs', ADDS), done('Written.')]);
    rig.write({
      '.reef/workflows.yaml': QUICK,
      '.reef/config.yaml': CONFIG,
      '.worktreeinclude': '.env\n',
      '.env': 'x\n',
    });
    const refused = await rig.reef('run', 'write sum', '--agent', agent);
    expect([refused.code, refused.out, refused.err.split('\n')[0]]).toEqual([
      2,
      '',
      'repo_untrusted: This repository would have Reef run commands of its own: .reef/workflows.yaml, .reef/config.yaml, .worktreeinclude, package.json scripts.',
    ]);
    expect((await rig.json('runs')).runs).toEqual([]);
    const made = await rig.json('worktree', 'create', 'by hand');
    expect([existsSync(join(made.path, 'was-set-up')), existsSync(join(made.path, '.env'))]).toEqual([false, false]);

    const shown = await rig.reef('trust');
    expect([
      shown.code,
      shown.out.includes("setup: ['touch', 'was-set-up']"),
      shown.out.includes('worker: Agent:coder'),
    ]).toEqual([3, true, true]);
    expect((await rig.reef('run', 'write sum', '--agent', agent)).code).toBe(2);
    expect((await rig.reef('trust', '--yes')).code).toBe(0);
    const ran = await rig.json('run', 'write sum', '--agent', agent, '--wait');
    expect([ran.runs[0].status, ran.view.gates.map(({ gate }: { gate: string }) => gate)]).toEqual([
      'success',
      ['test'],
    ]);
    expect(existsSync(join(ran.runs[0].path, 'was-set-up'))).toBe(true);

    for (const [name, text] of [
      ['.reef/workflows.yaml', QUICK],
      ['.reef/config.yaml', CONFIG],
    ] as const) {
      rig.write({ [name]: `${text} ` });
      const again = await rig.reef('run', 'write sum', '--agent', agent);
      expect([again.code, again.err.split('\n')[0]]).toEqual([
        2,
        `repo_untrusted: This repository would have Reef run commands of its own: ${name}.`,
      ]);
      rig.write({ [name]: text });
    }
    const { repository, items } = await rig.world.client.call('trust', {});
    expect([repository, items.every(({ trusted }) => trusted)]).toEqual([rig.world.repository, true]);
  },
  90_000,
);

verifies('X-15', 'X-16').test('what changed between being shown and being trusted is not trusted', async () => {
  rig.write({ '.worktreeinclude': '*.key\n' });
  const { items } = await rig.world.client.call('trust', {});
  const open = items.filter(({ trusted }) => !trusted);
  expect(open.map(({ name }) => name)).toEqual(['.worktreeinclude']);
  rig.write({ '.worktreeinclude': '/etc/*\n' });
  await expect(rig.world.client.call('trust', { hashes: open.map(({ hash }) => hash) })).rejects.toThrow(
    /changed since/,
  );
  expect(
    (await rig.world.client.call('trust', {})).items.find(({ name }) => name === '.worktreeinclude')?.trusted,
  ).toBe(false);
});

verifies('W-05', 'W-07', 'T-10').test(
  'every bad input gets its code, its exit code and a hint, and starts nothing',
  async () => {
    const agent = rig.world.script('never', [{ say: 'never' }]);
    rig.write({ '.reef/workflows.yaml': QUICK });
    await rig.trust();
    const before = await rig.json('runs');
    const bad: [args: string[], code: string, exit: number][] = [
      [['run', 'Nowhere', 'task', '--agent', agent], 'wf_target', 2],
      [['run', 'task', '--agent', 'nobody'], 'agent_unknown', 2],
      [['run', 'task', '--agent', agent, '--plan', '../out'], 'plan_path_invalid', 2],
      [['run', 'task', '--agent', agent, '--base', 'no-such-branch'], 'ref_invalid', 2],
      [['run', 'task', '--agent', agent, '--yes'], 'unsafe_needs_consent', 2],
      [['run', 'show', 'ZZZZ'], 'run_not_found', 4],
      [['run', 'resume', 'ZZZZ'], 'run_not_found', 4],
      [['run', 'replay', 'ZZZZ'], 'run_not_found', 4],
      [['calls', 'show', '01ZZZZ:1'], 'job_not_found', 4],
      [['worktree', 'accept', 'ZZZZ'], 'worktree_not_found', 4],
      [['worktree', 'restore', 'refs/reef/discarded/ZZZZ'], 'kept_not_found', 4],
      [['worktree', 'create', 'x', '--plan', '/etc/passwd'], 'plan_path_invalid', 2],
      [['workflow', 'init', 'unheard-of'], 'bad_request', 2],
      [['workflow', 'check', 'missing.yaml'], 'manifest_not_found', 4],
    ];
    const spoken = await Promise.all(bad.map(([args]) => rig.reef(...args)));
    const heard = spoken.map(({ code, out, err }) => [err.split(':')[0], code, out, err.trim().split('\n').length > 1]);
    expect(heard).toEqual(bad.map(([, code, exit]) => [code, exit, '', true]));
    expect(await rig.json('runs')).toEqual(before);
  },
  90_000,
);

verifies('W-05', 'W-08').test(
  'a broken workflow file stops a run and is listed whole by the check',
  async () => {
    const broken = QUICK.replace('JUMP:Quick__Test', 'JUMP:Quick__Tset').replace(
      'Internal:TestRunner',
      'Internal:Tester',
    );
    rig.write({ '.reef/workflows.yaml': broken });
    await rig.trust();
    const refused = await rig.reef('run', 'task');
    const checked = await rig.reef('workflow', 'check');
    expect([refused.code, refused.err.split(':')[0], checked.code]).toEqual([2, 'workflow_invalid', 1]);
    expect(checked.out.match(/error wf_\w+/g)).toEqual(['error wf_target', 'error wf_worker']);
    expect(checked.out).toContain('Quick__Test');
    rmSync(join(rig.world.repository, '.reef/workflows.yaml'));
    expect((await rig.reef('workflow', 'check')).err).toMatch(/^manifest_not_found: /);
    expect((await rig.reef('workflow', 'init', 'test-fix')).code).toBe(0);
    expect((await rig.reef('workflow', 'check', '--strict')).out).toMatch(/no problems found/);
  },
  90_000,
);
