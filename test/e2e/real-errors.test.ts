import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Scripts } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import {
  appeared,
  gone,
  installed,
  nap,
  openRig,
  processesWith,
  type RealJob,
  type Rig,
  refusal,
  SLOW_MS,
} from './real.ts';

/** What goes wrong with real agents, and what Reef makes of it. */

const LONG_NAP = nap(31);

const scripts: Scripts = {
  text: [{ text: 'Hello.' }, { text: 'Hello again.' }],
  refused: [{ status: 401, text: 'No such key.', times: 20 }],
  // Claude Code tries four times before it gives up, Codex once.
  'limited-claude': [
    { status: 429, text: 'Slow down.', times: 4 },
    { if: 'Try again', text: 'Through.' },
  ],
  'limited-codex': [
    { status: 429, text: 'Slow down.' },
    { if: 'Try again', text: 'Through.' },
  ],
  'retried-claude': [{ status: 529, text: 'Overloaded.' }, { text: 'Through.' }],
  'retried-codex': [{ text: 'This is cut off.', cutAfter: 2 }, { text: 'Through.' }],
  long: [{ tools: [{ shell: `echo begun > begun.txt; ${LONG_NAP}` }] }, { text: 'Never said.' }],
};

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

/** The one event that ended the last launch. */
async function end(job: RealJob) {
  const last = (await job.events()).at(-1);
  return last?.type === 'error' ? last.payload : undefined;
}

const NO_KEY = { ANTHROPIC_API_KEY: undefined, FAKE_API_KEY: undefined, GEMINI_API_KEY: undefined };
const LOGIN = { claude: '/login', codex: 'FAKE_API_KEY', 'acp:gemini': 'GEMINI_API_KEY' } as const;

for (const agent of ['claude', 'codex', 'acp:gemini'] as const) {
  verifies('A-33')
    .needs(...installed(agent))
    .test(
      `${agent} without a key is not logged in, and the error says what to do`,
      async () => {
        const job = await rig.spawn({ agent, script: 'text', env: NO_KEY });
        expect(await job.ended()).toMatchObject({ status: 'error' });
        const message = expect.stringContaining(LOGIN[agent]);
        expect(await end(job)).toMatchObject({ code: 'agent_not_logged_in', fatal: true, scope: 'process', message });
        expect(job.requests()).toEqual([]);
      },
      SLOW_MS,
    );
}

for (const agent of ['claude', 'codex'] as const) {
  const isClaude = agent === 'claude';

  verifies('A-33', 'A-91', ...(isClaude ? (['A-93'] as const) : (['A-103'] as const)))
    .needs(...installed(agent))
    .test(
      `${agent} whose key is refused tries a bounded number of times, and ends as not logged in`,
      async () => {
        const job = await rig.spawn({ agent, script: 'refused' });
        expect(await job.ended()).toMatchObject({ status: 'error' });
        expect(await end(job)).toMatchObject({ code: 'agent_not_logged_in', message: expect.stringContaining('401') });
        const retries = await job.progress('retry');
        expect(retries.map(({ attempt }) => attempt)).toEqual(isClaude ? [1, 2, 3] : [1, 2, 3, 4, 5]);
      },
      SLOW_MS,
    );

  verifies('A-17', 'A-78', 'A-20')
    .needs(...installed(agent))
    .test(
      `${agent} at the provider's limit is paused without a process, and goes on when resumed`,
      async () => {
        const job = await rig.spawn({ agent, script: `limited-${agent}` });
        await job.until(({ status, pid }) => status === 'paused' && pid === undefined);
        expect(await job.view()).toMatchObject({ status: 'paused', reason: 'rate_limit', activity: 'idle' });
        expect(processesWith(job.id)).toEqual([]);
        expect(await job.progress('rate_limit')).toHaveLength(1);
        expect((await job.events()).at(-1)).toMatchObject({ payload: { scope: 'process', outcome: 'ended' } });
        await job.resume('Try again');
        expect(await job.ended()).toMatchObject({ status: 'completed', launch: 2, lastOutput: 'Through.' });
      },
      SLOW_MS,
    );

  verifies('A-75', 'A-131')
    .needs(...installed(agent))
    .test(
      `${agent} that tries again says so, and completes`,
      async () => {
        const job = await rig.spawn({ agent, script: `retried-${agent}` });
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: 'Through.' });
        expect(await job.progress('retry')).toMatchObject([{ attempt: 1 }]);
      },
      SLOW_MS,
    );

  verifies('A-05', 'A-32', 'Q-20')
    .needs(...installed(agent))
    .test(
      `${agent} that is killed from outside ends in error, with nothing left of it`,
      async () => {
        const job = await rig.spawn({ agent, script: 'long', yes: true, unsafe: true });
        await eventually(
          () => job.payloads('tool_call'),
          (calls) => calls.length > 0,
        );
        await job.begun();
        await appeared(LONG_NAP);
        const [program = ''] = (await job.payloads('started'))[0]?.command ?? [];
        const [victim] = processesWith(`REEF_JOB=${job.id}`).filter(({ args }) => args.startsWith(program));
        process.kill(victim?.pid ?? 0, 'SIGKILL');
        expect(await job.ended()).toMatchObject({ status: 'error', signal: 'SIGKILL' });
        expect(await end(job)).toMatchObject({ code: 'agent_signalled', signal: 'SIGKILL', retryable: true });
        await gone(job.id, LONG_NAP);
        const calls = await job.payloads('tool_call');
        const results = await job.progress('tool_result');
        expect(results.map(({ id, ok, closedBy }) => [id, ok, closedBy])).toEqual([[calls[0]?.id, false, 'exit']]);
      },
      SLOW_MS,
    );

  verifies('A-23', 'A-66', 'A-82')
    .needs(...installed(agent))
    .test(
      `${agent} that has lost its session, or its folder, says so when it is resumed`,
      async () => {
        const job = await rig.spawn({ agent, script: 'text' });
        const { sessionId } = await job.ended();
        rmSync(isClaude ? join(job.home, '.claude') : join(job.home, 'codex', 'sessions'), { recursive: true });
        await job.resume();
        await job.until(({ launch, activity }) => launch === 2 && activity === 'ended');
        expect(await job.view()).toMatchObject({ status: 'error', sessionId });
        expect(await end(job)).toMatchObject({ code: 'no_session' });
        rmSync(job.cwd, { recursive: true });
        await job.resume();
        await job.until(({ status }) => status === 'error');
        expect(await end(job)).toMatchObject({ code: 'worktree_gone' });
      },
      SLOW_MS,
    );
}

for (const agent of ['codex', 'codex-exec'] as const) {
  verifies('A-104')
    .needs(...installed(agent))
    .test(
      `${agent} with its home below the temporary folder is not started`,
      async () => {
        const job = await rig.spawn({ agent, script: 'text', env: { CODEX_HOME: '/tmp/codex-home', TMPDIR: '/tmp' } });
        expect(await job.ended()).toMatchObject({ status: 'error', launch: 0 });
        expect(await end(job)).toMatchObject({
          code: 'bad_agent_home',
          message: expect.stringContaining('/tmp/codex-home'),
        });
      },
      SLOW_MS,
    );
}

verifies('A-56', 'A-60', 'U-03').test('an agent that is not installed is refused before there is a job', async () => {
  const { client } = rig.world;
  rig.configure({ claude: { command: [join(rig.world.root, 'nowhere', 'claude')] } });
  const before = await client.call('status', {});
  const task = { task: 'Go', cwd: rig.world.repository };
  expect(await refusal(client.call('spawn', { agent: 'claude', ...task }))).toBe('agent_not_installed');
  expect(await refusal(client.call('spawn', { agent: 'acp:nobody', ...task }))).toBe('agent_unknown');
  expect(await client.call('status', {})).toEqual(before);
});
