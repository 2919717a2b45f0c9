import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect } from 'vitest';
import { readEnvironment } from '../../src/base/env.ts';
import { openClient } from '../../src/surfaces/client/client.ts';
import { Chat, TMUX } from '../e2e/chat-rig.ts';
import { byBlock, PROJECT, QUICK, RunsRig, WRITES_IT_RIGHT } from '../e2e/runs-rig.ts';
import { initRepository } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';

const proves: typeof verifies = (...ids) => verifies(...ids).needs(TMUX !== undefined, 'tmux is not installed');

let rig: RunsRig | undefined;
afterEach(() => rig?.close());

/** Whoever decides has looked for at least half a second. */
const aMoment = () => sleep(700);

function open(runs: RunsRig, cwd: string): { terminal: Chat; written: () => string } {
  const { root, env } = runs.world;
  const write = (path: string, text: string) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const terminal = Chat.start({ root, cwd, env: { ...env, TERM: 'xterm-256color' }, write }, ['top']);
  const log = write('terminal.log', '');
  terminal.tmux('pipe-pane', '-o', `cat >> ${log}`);
  terminal.tmux('resize-window', '-x', '80', '-y', '24');
  return { terminal, written: () => readFileSync(log, 'utf8') };
}

proves('U-48').test(
  'a task is answered, looked at and merged with single keys, in two repositories, at any size of the terminal',
  async () => {
    rig = new RunsRig(PROJECT);
    const { world } = rig;
    rig.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
    await rig.trust();
    const other = join(world.root, 'library');
    initRepository(other);
    const elsewhere = openClient({ env: readEnvironment(world.env), cwd: other, surface: 'cli' });
    const asks = world.script('asks', [
      { permit: { tool: 'Bash', input: { command: 'npm run tidy' }, steps: [{ say: 'It is tidy.' }] } },
      { ask: { question: 'Which shelf?', options: ['upper', 'lower'] } },
      { say: 'On the {answer} shelf.' },
    ]);
    const { terminal, written } = open(rig, world.repository);
    try {
      await terminal.until(/Nothing runs and nothing asks/);
      const { agentId } = await elsewhere.call('spawn', { agent: asks, task: 'tidy the library' });
      // Another repository is looked for every few seconds.
      await terminal.until(/1 asks[\s\S]*ASKS\n› [\s\S]*library[\s\S]*npm run tidy/);
      await aMoment();
      terminal.type('y');
      await terminal.until(/Which shelf\?[\s\S]*1 +upper/);
      expect(written()).toContain('\u0007');
      await aMoment();
      terminal.type('2');
      await terminal.until(/ENDED\n[^\n]*tidy the library/);
      const { events } = await elsewhere.call('output', { id: agentId });
      expect(events.some(({ payload }) => payload.text === 'On the lower shelf.')).toBe(true);

      terminal.tmux('resize-window', '-x', '200', '-y', '60');
      const agent = world.script('writes', byBlock({ Write: WRITES_IT_RIGHT }));
      await world.client.call('run', { workflow: 'Quick', task: 'make it add', agent });
      await terminal.until(/NEEDS YOU\n[^\n]*success[^\n]*make it add/);
      terminal.type('g');
      await terminal.until(/› [^\n]*make it add[\s\S]*every gate passed/);
      terminal.type('d');
      await terminal.until(/^difference[\s\S]*\+export const sum/m);
      terminal.type('q');
      await terminal.until(/NEEDS YOU/);
      terminal.keys('Enter');
      await terminal.until(/^run 01[\s\S]*✔ Test {2}passed/m);
      terminal.type('q');
      terminal.type('a');
      await terminal.until(/Merge "make it add"\? y\/N/);
      terminal.type('y');
      terminal.keys('Enter');
      await terminal.until(/merged as [0-9a-f]{12}/);
      expect(rig.git('log', '-1', '--format=%s')).toBe('make it add');

      terminal.tmux('resize-window', '-x', '80', '-y', '24');
      await terminal.until(/q quit|merged as/);
      terminal.type('q');
      await terminal.until(/\[ended 0\]/);
      const all = await rig.reef('ps', '--all');
      expect(all.out).toMatch(/^library\n[\s\S]*tidy the library[\s\S]*^repo\n[\s\S]*make it add/m);
    } finally {
      await terminal[Symbol.asyncDispose]();
      await elsewhere.stop(true);
    }
  },
  120_000,
);

proves('U-48').test(
  'a question that does not fit can be allowed only at its end',
  async () => {
    rig = new RunsRig(PROJECT);
    const { world } = rig;
    const command = Array.from({ length: 60 }, (_, line) => `echo line ${line}`).join('\n');
    const agent = world.script('long', [{ permit: { tool: 'Bash', input: { command }, steps: [{ say: 'Done.' }] } }]);
    const { agentId } = await world.client.call('spawn', { agent, task: 'a long command' });
    await world.until(agentId, ({ status }) => status === 'awaiting_input');
    const { terminal } = open(rig, world.repository);
    try {
      await terminal.until(/ASKS\n› [\s\S]*Enter shows all of it/);
      await aMoment();
      terminal.type('y');
      await terminal.until(/^question[\s\S]*echo line 0\n[\s\S]*Read to its end/m);
      await aMoment();
      terminal.type('y');
      await terminal.until(/There is more of it/);
      expect((await world.job(agentId)).status).toBe('awaiting_input');
      terminal.type('G');
      await terminal.until(/echo line 59\n/);
      terminal.type('y');
      await world.until(agentId, ({ status }) => status === 'completed');
    } finally {
      await terminal[Symbol.asyncDispose]();
    }
  },
  120_000,
);

proves('U-48').test('without a terminal it says what prints the same once', async () => {
  rig = new RunsRig(PROJECT);
  const { code, err } = await rig.reef('top');
  expect([code, err]).toEqual([2, expect.stringContaining('reef ps --all')]);
});
