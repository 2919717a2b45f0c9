import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { AskedQuestion, Wants } from './adapter.ts';
import { grantFor } from './grants.ts';

const asked = (wants?: Wants, input: unknown = null): AskedQuestion => ({
  kind: 'permission',
  question: 'May I?',
  tool: 'T',
  input: input as never,
  ...(wants && { wants }),
});

verifies('J-20').test(
  'one yes covers edits of all plain files in the folder, and nothing that leads out of it or executes',
  () => {
    const cwd = temporaryFolder();
    const outside = temporaryFolder();
    symlinkSync(outside, join(cwd, 'link'));
    symlinkSync(join(outside, 'nothing'), join(cwd, 'broken'));
    mkdirSync(join(cwd, 'sub'));
    const covers = (...edits: string[]) => grantFor({ cwd }, asked({ edits }, edits)).covers;
    const plain = [['a.ts'], [join(cwd, 'sub', 'b.ts')], ['new/deep/c.ts', 'a.ts'], ['.github/x.yml']];
    const exact = [
      ['../x'],
      [join(outside, 'x')],
      ['link/x'],
      ['broken'],
      ['.git/hooks/pre-commit'],
      ['sub/.git/config'],
      ['.claude/settings.json'],
      ['.mcp.json'],
      ['a.ts', '/etc/hosts'],
      [],
    ];
    expect(plain.map((paths) => covers(...paths))).toEqual(plain.map(() => `all edits of files in ${cwd}`));
    expect(exact.map((paths) => covers(...paths))).toEqual(exact.map(() => `exactly this request in ${cwd}`));
  },
);

verifies('J-20').test(
  'a command is allowed only as it stands, a tool of a server with any arguments, each in its folder',
  () => {
    const key = (wants: Wants, cwd = '/repo', input: unknown = null) =>
      grantFor({ cwd }, asked(wants, input)).fingerprint;
    const command = (line: string): Wants => ({ command: { command: line } });
    expect(key(command('npm test'))).toBe(key(command('npm test'), '/repo', { description: 'Run it' }));
    expect(key(command('npm test'))).not.toBe(key(command('npm test && rm -r x')));
    expect(key(command('npm test'))).not.toBe(key(command('npm test'), '/other'));
    expect(key({ mcpTool: 'mcp__shop__buy' }, '/repo', { n: 1 })).toBe(
      key({ mcpTool: 'mcp__shop__buy' }, '/repo', { n: 2 }),
    );
    expect(key({ mcpTool: 'mcp__shop__buy' })).not.toBe(key({ mcpTool: 'mcp__shop__sell' }));
  },
);
