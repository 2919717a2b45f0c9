import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PassThrough } from 'node:stream';
import { afterAll, expect } from 'vitest';
import { RunsRig } from '../e2e/runs-rig.ts';
import { spoken } from '../support/surfaces/spoken.ts';
import { verifies } from '../support/verifies.ts';

const rig = new RunsRig();
afterAll(() => rig.close());

/** At a terminal, where the person types this when they are asked. */
function atTerminal(args: string[], typed: string) {
  const { repository: cwd, env } = rig.world;
  const person = (stdin: PassThrough, stderr: PassThrough) =>
    void stderr.on('data', (said: Buffer) => {
      if (said.toString().includes('[y/N] ')) stdin.write(`${typed}\n`);
    });
  return spoken({ args, cwd, env, isTTY: true, person });
}

const asks = (name: string) => [
  {
    permit: {
      tool: 'Bash',
      input: { command: `touch ${name}` },
      steps: [{ edit: { path: name, content: 'x\n' } }],
    },
  },
  { say: 'Done.' },
];

verifies('X-138').test(
  'nobody allows what they have not seen: a terminal shows it and asks, a script types what the inbox prints',
  async () => {
    const { repository } = rig.world;
    const first = await rig.reef('spawn', rig.world.script('one', asks('one.txt')), 'make one', '--wait');
    expect(first.code).toBe(3);

    const refused = await rig.reef('send', '@last', '--allow');
    expect([refused.code, refused.out]).toEqual([2, '']);
    expect(refused.err).toMatch(/^which_question: .*\n[\s\S]*--question [0-9a-f]{10} {2}[\s\S]*`reef inbox`/);

    const kept = await atTerminal(['send', '@last', '--allow'], 'n');
    expect(kept.code).toBe(3);
    expect(kept.err).toMatch(/│ touch one\.txt[\s\S]*Allow this, once\? \[y\/N\][\s\S]*Nothing was sent/);
    expect((await rig.reef('inbox')).out).toContain('touch one.txt');
    expect(existsSync(join(repository, 'one.txt'))).toBe(false);

    const allowed = await atTerminal(['send', '@last', '--allow'], 'y');
    expect([allowed.code, allowed.err.includes('│ touch one.txt')]).toEqual([0, true]);
    expect((await rig.reef('wait', '@last')).code).toBe(0);
    expect(existsSync(join(repository, 'one.txt'))).toBe(true);

    await rig.reef('spawn', rig.world.script('two', asks('two.txt')), 'make two', '--wait');
    const inbox = await rig.reef('inbox');
    const [, typed = ''] = /reef (send \S+ --question \S+ --allow)/.exec(inbox.out) ?? [];
    expect((await rig.reef(...typed.split(' '))).code).toBe(0);
    expect((await rig.reef('wait', '@last')).code).toBe(0);
    expect([(await rig.reef('inbox', '--json')).out, existsSync(join(repository, 'two.txt'))]).toEqual([
      '{"questions":[],"notices":[]}\n',
      true,
    ]);
  },
  60_000,
);

verifies('X-138').test(
  'a command of 70 KB is shown whole by what the inbox says to type, and cannot be allowed before',
  async () => {
    const { repository } = rig.world;
    const command = `touch long.txt # ${'x'.repeat(70_000)} && rm -rf the-end`;
    const steps = [{ edit: { path: 'long.txt', content: 'x\n' } }];
    const asking = [{ permit: { tool: 'Bash', input: { command }, steps } }, { say: 'Done.' }];
    await rig.reef('spawn', rig.world.script('long', asking), 'make it long', '--wait');

    const listed = await rig.reef('inbox');
    expect(/rm -rf the-end|--allow/.test(listed.out)).toBe(false);
    const [, whole = '', part = ''] = /reef (inbox --whole (\S+)) {3}\(shows all \d+ KiB/.exec(listed.out) ?? [];
    const blind = await rig.reef('send', '@last', '--question', part, '--allow');
    expect([blind.code, blind.err]).toEqual([1, expect.stringMatching(/^question_cut: .*\n[\s\S]*`reef inbox`/)]);
    const hidden = await rig.reef('send', '@last', '--question', part, '--allow', '--always');
    expect(hidden.err).toMatch(/^question_cut/);

    const kept = await atTerminal(['send', '@last', '--allow'], 'n');
    expect([kept.code, kept.err.includes(command)]).toEqual([3, true]);
    const shown = await rig.reef(...whole.split(' '));
    expect(shown.out.includes(command)).toBe(true);
    expect(existsSync(join(repository, 'long.txt'))).toBe(false);
    const [, typed = ''] = /reef (send \S+ --question \S+ --allow)/.exec(shown.out) ?? [];
    expect((await rig.reef(...typed.split(' '))).code).toBe(0);
    expect((await rig.reef('wait', '@last')).code).toBe(0);
    expect(existsSync(join(repository, 'long.txt'))).toBe(true);

    const huge = [{ permit: { tool: 'Bash', input: { command: 'y'.repeat(600_000) }, steps } }, { say: 'Done.' }];
    await rig.reef('spawn', rig.world.script('huge', huge), 'make it huge', '--wait');
    const [, deny = ''] =
      /\(too long to be shown whole[\s\S]*reef (send \S+ --question \S+ --deny)/.exec((await rig.reef('inbox')).out) ??
      [];
    expect((await rig.reef('send', '@last', '--question', deny.split(' ')[3] ?? '', '--allow')).err).toMatch(
      /^question_cut/,
    );
    expect((await rig.reef(...deny.split(' '))).code).toBe(0);
    expect((await rig.reef('wait', '@last')).code).toBe(0);
  },
  60_000,
);
