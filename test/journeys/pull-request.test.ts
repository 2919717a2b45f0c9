import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { ADDS, byBlock, PROJECT, QUICK, RunsRig, WRITES_IT_RIGHT } from '../e2e/runs-rig.ts';
import { standInForge } from '../support/forge/stand-in.ts';
import { verifies } from '../support/verifies.ts';

/** Work leaves the machine as a pull request, and a person looks into a worktree, each by one command. */

let rig: RunsRig;
afterEach(() => rig.close());

async function withWork(parent?: string): Promise<void> {
  rig = new RunsRig({ ...PROJECT, '.reef/workflows.yaml': QUICK }, parent);
  await rig.trust();
}
const work = () =>
  rig.reef(
    'run',
    'Quick',
    'Write sum',
    '--agent',
    rig.world.script('right', byBlock({ Quick__Write: WRITES_IT_RIGHT })),
    '--wait',
  );

verifies('U-49').test(
  'push puts the work on a branch at the remote, and pr opens a pull request from the run and shows its checks',
  async () => {
    await withWork();
    await rig.world.stopDaemon();
    const forge = standInForge(rig);
    expect((await work()).code).toBe(0);
    const before = rig.git('status', '--porcelain');
    const pushed = await rig.reef('worktree', 'push', '@last');
    expect([pushed.code, pushed.err]).toEqual([0, '']);
    const [, branch = '', next = ''] =
      /origin\/(reef\/write-sum-\w+)\nTo open a pull request: reef (.+)/.exec(pushed.out) ?? [];
    const there = (...args: string[]) => rig.git('--git-dir', forge.bare, ...args);
    expect(there('show', `${branch}:sum.mjs`)).toBe(ADDS.trim());
    expect(there('log', '--format=%an %s', `main..${branch}`)).toBe('The User Write sum');
    expect([rig.git('status', '--porcelain'), rig.git('branch', '--show-current')]).toEqual([before, 'main']);

    const opened = await rig.reef(...next.split(' '));
    expect([opened.code, opened.err]).toEqual([0, '']);
    expect(opened.out).toMatch(
      /^nothing new to push: [\s\S]*#7 open {2}https:\/\/github\.com\/acme\/shop\/pull\/7\n {2}no checks yet/,
    );
    const [pull] = forge.pulls();
    expect(pull).toMatchObject({ head: branch, base: 'main', title: 'Write sum' });
    expect(pull?.body).toMatch(
      /^Write sum\n\n### Gates\n\n- `test`: passed\n\n### Files\n\n- A `sum\.mjs`\n\nReef-Task: /,
    );

    forge.change(() => ({
      reviewDecision: 'CHANGES_REQUESTED',
      statusCheckRollup: [
        {
          __typename: 'CheckRun',
          name: 'lint',
          status: 'COMPLETED',
          conclusion: 'SUCCESS',
          detailsUrl: 'https://ci.example/1',
        },
        {
          __typename: 'CheckRun',
          name: 'e2e',
          status: 'COMPLETED',
          conclusion: 'FAILURE',
          detailsUrl: 'https://ci.example/2',
        },
        { __typename: 'CheckRun', name: 'slow', status: 'IN_PROGRESS', conclusion: '', detailsUrl: '' },
        { __typename: 'StatusContext', context: 'deploy', state: 'SUCCESS', targetUrl: '' },
      ],
    }));
    const { run } = await rig.settled('@last');
    appendFileSync(join(run.path ?? '', 'sum.mjs'), '// more\n');
    const again = await rig.reef('worktree', 'pr', '@last');
    expect(again.out).toMatch(
      /^pushed \w{12}: [\s\S]*#7 open, changes requested[\s\S]*e2e {2}failed {2}https:\/\/ci\.example\/2/,
    );
    expect(there('log', '--format=%s', `main..${branch}`).split('\n')).toEqual(['Write sum', 'Write sum']);
    expect(there('show', `${branch}:sum.mjs`)).toContain('// more');
    expect((await rig.reef('worktree', 'list')).out).toContain(
      '#7 open, 1 failed, 1 pending, 2 passed, changes requested',
    );
    expect(forge.calls().filter(({ words }) => words[1] === 'create')).toHaveLength(1);
    expect((await rig.reef('discard', '@last')).code).toBe(0);
  },
  120_000,
);

verifies('U-49').test(
  'what cannot be pushed says why and what to type, and files that judge are pushed only with consent',
  async () => {
    await withWork();
    expect((await work()).code).toBe(0);
    const none = await rig.reef('worktree', 'push', '@last');
    expect([none.code, none.err]).toEqual([2, expect.stringMatching(/^remote_unknown: [\s\S]*git remote add origin/)]);
    standInForge(rig);
    await rig.world.stopDaemon();
    rig.git('config', '--unset-all', `url.${join(rig.world.root, 'forge/shop.git')}.insteadOf`);
    rig.git('remote', 'set-url', 'origin', join(rig.world.root, 'gone.git'));
    const gone = await rig.reef('worktree', 'push', '@last');
    expect([gone.code, gone.err]).toEqual([
      1,
      expect.stringMatching(/^push_refused: Not pushed to origin: [\s\S]*gone\.git[\s\S]*By hand: git -C /),
    ]);
    rig.git('remote', 'set-url', 'origin', join(rig.world.root, 'forge/shop.git'));
    const { run } = await rig.settled('@last');
    appendFileSync(join(run.path ?? '', '.envrc'), 'export A=1\n');
    const judges = await rig.reef('worktree', 'push', '@last');
    expect([judges.code, judges.err]).toEqual([
      1,
      expect.stringMatching(/^accept_needs_consent: Pushing needs your consent: .*\.envrc/),
    ]);
    const agreed = await rig.reef('worktree', 'push', '@last', '--yes');
    expect([agreed.code, agreed.err]).toEqual([0, '']);
    // A folder is no forge: a person opens the pull request wherever it is.
    expect((await rig.reef('worktree', 'pr', '@last', '--yes')).out).toContain(
      'Open the pull request on the page of the remote.',
    );
  },
  120_000,
);

const { bubblewrap } = await probeCapabilities();

verifies('U-50').test(
  'a shell in a worktree has its folder and its variables',
  async () => {
    await withWork();
    expect((await work()).code).toBe(0);
    const { run } = await rig.settled('@last');
    const shell = await rig.reef(
      'worktree',
      'shell',
      '@last',
      'pwd; echo "$REEF_WORKTREE $REEF_BRANCH"; npm test; exit 3',
    );
    expect([shell.code, shell.out.split('\n').slice(0, 2)]).toEqual([
      3,
      [run.path, expect.stringMatching(`^${run.path} reef/write-sum-\\w+/tip$`)],
    ]);
    expect(shell.out).toContain('two and three make five');
  },
  90_000,
);

verifies('U-50')
  .needs(bubblewrap !== undefined, 'bubblewrap')
  .test(
    'where agents worked in a sandbox, the shell is in it as well',
    async () => {
      await withWork('/var/tmp');
      rig.world.configure({ reef: { sandbox: 'auto' } });
      expect((await work()).code).toBe(0);
      const inside =
        'echo own > mine.txt; echo out > "$REEF_ROOT/mine.txt" || echo closed; ls "$HOME" | wc -l; cat mine.txt';
      const shell = await rig.reef('worktree', 'shell', '@last', inside);
      expect([shell.code, shell.out.trim().split(/\s+/)]).toEqual([0, ['closed', '0', 'own']]);
      expect(rig.git('status', '--porcelain')).toBe('');
    },
    90_000,
  );
