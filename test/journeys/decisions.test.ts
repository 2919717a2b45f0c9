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
