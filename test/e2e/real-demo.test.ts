import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Turn } from '../model-server/script.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { installed, openRig, type Rig, SLOW_MS } from './real.ts';

/** The demo with an agent of the user's, as their configuration names it: here with a model that follows a script. */

const REEF = join(import.meta.dirname, '../../bin/reef.cjs');
const AT_FIRST = '  return lines.reduce((sum, cents) => sum + cents * rate, 0);';
const WRONG = '  return Math.round(lines.reduce((sum, cents) => sum + cents * rate, 0));';
const RIGHT = '  return lines.reduce((sum, cents) => sum + Math.round(cents * rate), 0);';
const ZERO = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tax } from './tax.mjs';

test('a rate of 0 is no tax', () => assert.equal(tax([105, 215], 0), 0));
`;

/** Both runs: the second waits for the first. */
const turns: Turn[] = [
  { text: 'I look first.', tools: [{ read: 'tax.mjs' }] },
  { tools: [{ edit: 'tax.mjs', old: AT_FIRST, new: WRONG }] },
  { text: 'The sum is rounded.\n\nSIGNAL:SUCCESS' },
  { tools: [{ read: 'tax.mjs' }] },
  { tools: [{ edit: 'tax.mjs', old: WRONG, new: RIGHT }] },
  { text: 'Each line is rounded.\n\nSIGNAL:SUCCESS' },
  { tools: [{ write: 'zero.test.mjs', content: ZERO }] },
  { text: 'A rate of zero is tested.\n\nSIGNAL:SUCCESS' },
];

let rig: Rig;
beforeAll(async () => {
  rig = await openRig({ claude: turns, codex: turns });
});
afterAll(() => rig.close());

function demo(agents: Record<string, unknown>, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const home = temporaryFolder();
  const config = join(home, '.config/reef');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.yaml'), JSON.stringify({ reef: { agents } }));
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, NO_COLOR: '1' };
  return new Promise((resolve) =>
    execFile(process.execPath, [REEF, 'demo', ...args], { cwd: home, env, timeout: 2 * SLOW_MS }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    ),
  );
}

for (const agent of ['claude', 'codex'] as const) {
  verifies('U-40')
    .needs(...installed(agent))
    .test(
      `the demo runs with ${agent}: told why the test fails, killed daemon, two runs merged one after the other`,
      async () => {
        const settings = rig.settings(agent, rig.model.runUrl(agent, 'demo'));
        const { code, out, err } = await demo({ [agent]: settings }, '--agent', agent);
        expect([code, err, code === 0 ? '' : out]).toEqual([0, '', '']);
        for (const line of [
          new RegExp(`It uses your log-in of ${agent}, and its tokens`),
          new RegExp(`^\\$ reef run "Make the failing test pass" --agent ${agent} --plan`, 'm'),
          /queued: it waits for \w+ \(tax\.mjs\)/,
          /the daemon is killed: kill -9 \d+/,
          /RunTests failure, exit code 1[\s\S]+FixCode success[\s\S]+RunTests success/,
          /events from two daemons, none lost, none twice\./,
        ])
          expect(out).toMatch(line);
        const [, log = ''] = out.split('$ git log');
        const subjects = [...log.matchAll(/^[0-9a-f]{7,} (.+)$/gm)].map(([, subject]) => subject);
        expect(subjects.indexOf('Support a rate of zero')).toBeGreaterThan(-1);
        expect(subjects.indexOf('Support a rate of zero')).toBeLessThan(subjects.indexOf('Make the failing test pass'));
      },
      2 * SLOW_MS,
    );
}

verifies('U-40').test('an agent that is not there is named with the command that brings it', async () => {
  const absent = await demo({ claude: { command: ['/nowhere/claude'] } }, '--agent', 'claude');
  expect(absent).toMatchObject({ code: 69, out: '' });
  expect(absent.err).toMatch(/agent_not_installed.*npm install -g @anthropic-ai\/claude-code.*Without --agent/s);
  const unknown = await demo({}, '--agent', 'nobody');
  expect([unknown.code, unknown.err]).toEqual([
    2,
    expect.stringMatching(/nobody is no agent of the demo: choose .*claude/),
  ]);
});
