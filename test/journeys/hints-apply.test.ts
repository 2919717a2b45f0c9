import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { errorTable } from '../../src/protocol/error-table.ts';
import { byBlock, done, QUICK, RunsRig, WRITES_IT_RIGHT } from '../e2e/runs-rig.ts';
import { MET } from '../support/hint-situations.ts';
import { writeFiles } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';

/** Errors are met as a person meets them, and the commands that their hints name are typed as they stand there. */

const rig = new RunsRig();
/** Somebody else's program on a port. */
const taken = createServer();
/** Ids of the tasks that stand in the repository, and the name of an agent. */
const known: Record<string, string> = {};

beforeAll(async () => {
  await once(taken.listen(0, '127.0.0.1'), 'listening');
  const { world } = rig;
  writeFiles(world.root, { 'config/reef/one.yaml': '- reply: { text: hello }\n' });
  const clients = [{ type: 'scripted', models: [{ name: 'one', script: 'one.yaml' }] }];
  world.configure({ model: 'scripted:one', clients, reef: { timings: { linger: 0 }, sandbox: 'off' } });
  rig.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
  await rig.trust();
  const jobs = {
    done: [{ say: 'Done.' }],
    broke: { steps: [{ exit: 3 }], onResume: [{ say: 'Now.' }] },
    asks: [{ permit: { tool: 'Bash', input: { command: 'ls' }, steps: [] } }],
    killed: [{ sleep: 600_000 }],
    waits: [{ sleep: 600_000 }],
  };
  for (const [name, steps] of Object.entries(jobs)) {
    known.script = world.script(name, steps);
    const { agentId } = await world.client.call('spawn', { agent: known.script, task: name, cwd: world.repository });
    known[name] = agentId;
  }
  await world.client.call('kill', { id: known.killed ?? '' });
  for (const name of ['done', 'broke', 'killed'])
    await world.until(known[name] ?? '', ({ activity }) => activity === 'ended');
  await world.until(known.asks ?? '', ({ questions }) => questions.length > 0);
  const run = async (task: string, steps: Parameters<typeof byBlock>[0][string]) => {
    const agent = world.script(task, byBlock({ Quick__Write: steps }));
    const { runId } = await rig.start({ workflow: 'Quick', task, agent });
    return (await rig.settled(runId)).run.runId;
  };
  known.success = await run('success', WRITES_IT_RIGHT);
  known.same = await run('same', [done('Nothing.')]);
  const wall = { plan: ['wall.txt'], cwd: world.repository };
  const busy = await world.client.call('spawn', {
    agent: world.script('busy', [{ sleep: 600_000 }]),
    task: 'busy',
    worktree: 'busy',
    ...wall,
  });
  known.busy = busy.worktree ?? '';
  known.later = (
    await rig.start({ workflow: 'Quick', task: 'later', agent: known.script ?? '', plan: wall.plan })
  ).runId;
  known.port = String((taken.address() as AddressInfo).port);
  rig.git('init', '-q', '--bare', join(world.root, 'backup'));
  rig.git('remote', 'add', 'backup', join(world.root, 'backup'));
}, 120_000);
afterAll(async () => {
  taken.close();
  await rig.close();
});

/** What takes its words from the person who types it. */
const WORDS: Record<string, string> = {
  '<text>': 'more',
  '<command>': 'run',
  '"…"': 'hi',
  NAME: 'name',
  AGENT: 'claude',
};

/** A command that is only named stands for itself with `--help`, as its needs are not in the hint; so does one that serves until it is ended. */
const NAMED = /^reef (spawn|chat|send|serve.*)$/;

function toType(command: string): string[] {
  const words = (command.match(/"[^"]*"|\S+/g) ?? []).slice(1).map((word) => WORDS[word.replaceAll('"', '')] ?? word);
  return NAMED.test(command) ? [...words, '--help'] : words;
}

for (const [code, line] of Object.entries(MET))
  verifies('J-02').test(
    `${code}: what its hint says can be done then`,
    async () => {
      const filled = line.map((word) => word.replace(/^\{(\w+)\}$/, (_, name: string) => known[name] ?? word));
      const met = await rig.reef(...filled);
      expect(met.err.split(':')[0], met.err + met.out).toBe(code);
      const hinted = errorTable[code as keyof typeof errorTable].hint;
      const hint = met.err.trimEnd().split('\n').at(-1) ?? '';
      const commands = [...hint.matchAll(/`(reef [^`]*)`/g)].map(([, command = '']) => command);
      expect(commands).toHaveLength([...hinted.matchAll(/`reef /g)].length);
      for (const command of commands) {
        expect(command).not.toMatch(/\bID\b/);
        const { code: exit, err } = await rig.reef(...toType(command));
        expect([command, exit, err.split(':')[0]]).toEqual([
          command,
          expect.toBeOneOf([0, 1, 3]),
          expect.not.toBeOneOf(Object.keys(errorTable)),
        ]);
      }
    },
    120_000,
  );
