import { afterAll, beforeAll, expect } from 'vitest';
import type { JobView } from '../../src/protocol/job-operations.ts';
import type { Action } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { installed, openRig, processesWith, type RealJob, type Rig, SLOW_MS } from './real.ts';

/** Jobs that use Reef themselves, each through the door that is its own. */

let rig: Rig;
beforeAll(async () => {
  rig = await openRig({});
});
afterAll(() => rig.close());

const reef = (tool: string, input: Record<string, unknown> = {}): Action => ({ tool: `mcp__reef__${tool}`, input });

async function childOf(parent: RealJob): Promise<JobView> {
  const all = () => rig.world.client.call('status', {});
  const { jobs } = await eventually(all, ({ jobs }) => jobs.some(({ parentId }) => parentId === parent.id));
  const [child] = jobs.filter(({ parentId }) => parentId === parent.id);
  if (!child) throw new Error('no child');
  return child;
}

async function stranger(): Promise<string> {
  const agent = rig.world.script('stranger', [{ ask: { question: 'A question of somebody else?' } }]);
  const { agentId } = await rig.world.client.call('spawn', { agent, task: 'Something else' });
  await rig.world.until(agentId, ({ questions }) => questions.length > 0);
  return agentId;
}

for (const agent of ['claude', 'codex'] as const) {
  verifies('X-08', 'X-09', 'X-26', 'X-115')
    .needs(...installed(agent))
    .test(
      `${agent} cannot give a child more than it has itself`,
      async () => {
        const script = rig.world.script('unasked', [{ shell: ['touch', 'unasked.txt'] }]);
        const known = rig.world.script('known', [{ say: 'Hello.' }]);
        rig.configure({ [known]: {} });
        rig.scripts[`escape-${agent}`] = [
          { tools: [reef('spawn', { agent: script, task: 'Run it unasked' })] },
          { tools: [reef('spawn', { agent: known, task: 'Ask nobody', yes: true, unsafe: true })] },
          { tools: [reef('spawn', { agent: known, task: 'Work elsewhere', cwd: rig.world.repository })] },
          { text: 'I stay where I am.' },
        ];
        const job = await rig.spawn({ agent, script: `escape-${agent}` });
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'I stay where I am.' });
        const results = (await job.progress('tool_result')).map(({ text }) => /^\W*(\w+):/.exec(text)?.[1]);
        expect(results).toEqual(['not_yours', 'not_yours', 'path_outside_worktree']);
        const { jobs } = await rig.world.client.call('status', {});
        expect(jobs.filter(({ parentId }) => parentId === job.id)).toEqual([]);
      },
      SLOW_MS,
    );

  verifies('A-40', 'A-81', 'U-14', 'U-16', 'X-08')
    .needs(...installed(agent))
    .test(
      `${agent} spawns a child through its door, sees its family only, and is killed after it`,
      async () => {
        const other = await stranger();
        const childAgent = rig.world.script(`child-of-${agent}`, [
          { ask: { question: 'May the child go on?', options: ['yes', 'no'] } },
          { say: 'Never said.' },
        ]);
        rig.configure({ [childAgent]: {} });
        rig.scripts[`parent-${agent}`] = [
          { tools: [reef('spawn', { agent: childAgent, task: 'Be a child' })] },
          { tools: [reef('wait', { until: ['needs_input'] })] },
          { tools: [reef('status')] },
          { tools: [reef('inbox')] },
          { tools: [reef('status', { id: other })] },
          { tools: [reef('kill', { id: other })] },
          { tools: [reef('send', { id: '@last', option: ['yes'] })] },
          { text: 'That is all I may do.' },
        ];
        const parent = await rig.spawn({ agent, script: `parent-${agent}`, keep: true });
        await parent.until(({ status }) => status === 'paused');
        expect(await parent.view()).toMatchObject({ lastOutput: 'That is all I may do.', turns: 8 });
        const grants = (await parent.progress('auto_answered')).map(({ grant }) => grant);
        expect(grants).toEqual(agent === 'claude' ? Array(7).fill('own_tool') : []);

        const child = await childOf(parent);
        expect(child).toMatchObject({ parentId: parent.id, rootId: parent.id, depth: 1, cwd: parent.cwd });
        const { questions } = await rig.world.client.call('inbox', {});
        const asked = questions.find(({ jobId }) => jobId === child.id);
        expect(asked).toMatchObject({ question: 'May the child go on?', path: [parent.id, child.id] });

        const results = await parent.progress('tool_result');
        const [spawned, waited, seen, inbox, looked, killed, answered] = results.map(({ text }) => text);
        expect(spawned).toContain(child.id);
        expect(waited).toContain('May the child go on?');
        for (const text of [seen, inbox]) {
          expect(text).toContain(child.id);
          expect(text).not.toContain(other);
          expect(text).not.toContain('A question of somebody else?');
        }
        for (const text of [looked, killed, answered]) expect(text).toContain('not_yours');
        expect(await rig.world.job(other)).toMatchObject({ status: 'awaiting_input' });

        expect(await parent.kill()).toMatchObject({ status: 'killed' });
        expect(await rig.world.job(child.id)).toMatchObject({ status: 'killed' });
        const ends = [await rig.world.events(child.id), await parent.events()].map((log) => log.at(-1));
        expect(ends).toMatchObject([{ payload: { outcome: 'killed' } }, { payload: { outcome: 'killed' } }]);
        expect((ends[0]?.seq ?? 0) < (ends[1]?.seq ?? 0)).toBe(true);
        expect(processesWith(parent.id, child.id)).toEqual([]);
        await rig.world.client.call('kill', { id: other });
      },
      SLOW_MS,
    );
}
