import { describe, expect } from 'vitest';
import { call, calls, choice, done, say } from '../../test/support/coder/scene.ts';
import { sceneOfTest } from '../../test/support/coder/scene-of-test.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { textOf } from '../runtime/models/message.ts';

const codeOf = (result = '') => /"code":"(\w+)"/.exec(result)?.[1];
const PASSES = { test: 'grep -q right answer.txt' };

describe('the end', () => {
  verifies('S-56').test('done is refused with the list of what is missing, and accepted once nothing is', async () => {
    const scene = await sceneOfTest({
      files: { 'a.txt': '<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n', 'answer.txt': 'wrong\n' },
      parts: { checks: PASSES },
      script: [
        call('todo', { op: 'set', items: ['answer'] }),
        calls(['read_file', { path: 'a.txt' }], ['read_file', { path: 'answer.txt' }]),
        call('edit_file', { path: 'a.txt', old: 'ours', new: 'mine' }),
        done('Too early.'),
        calls(
          ['edit_file', { path: 'answer.txt', old: 'wrong', new: 'right' }],
          ['run_command', { command: "printf 'y\\n' > a.txt" }],
          ['todo', { op: 'complete', id: 'k1' }],
        ),
        done('Now.'),
      ],
    });
    expect(await scene.work()).toEqual({ result: 'Now.', endedBy: 'done' });
    const refused = scene.results().find((line) => line.startsWith('done!')) ?? '';
    expect(JSON.parse(refused.slice('done! '.length))).toEqual({
      tool_call_error:
        'Not done yet: todo k1 is open (answer); the check test fails (grep -q right answer.txt); a.txt has conflict markers.',
      code: 'not_done',
      stderr: '',
    });
    // Reef ran the missing check itself, and it holds for the tree as it is.
    const { checks, fingerprint } = scene.tracker.getSnapshot();
    expect(checks).toEqual([{ jobId: 'j-1', name: 'test', ok: true, turn: 6, fingerprint }]);
  });

  verifies('S-56').test('the third refusal asks a person, who may let it finish or send it on', async () => {
    const script = [call('todo', { op: 'set', items: ['never'] }), done('1'), done('2'), done('3'), done('4')];
    const finished = await sceneOfTest({ script, answers: [choice('finish')] });
    expect(await finished.work()).toEqual({ result: '3', endedBy: 'done' });
    expect(finished.asked).toEqual([
      {
        kind: 'choice',
        question: 'The agent wants to finish, but: todo k1 is open (never). What now?',
        options: ['continue', 'finish', 'stop'],
      },
    ]);
    const stopped = await sceneOfTest({ script, answers: [choice('continue'), choice('stop')] });
    expect([await stopped.work(), stopped.asked.length]).toEqual(['cancelled', 2]);
  });

  verifies('S-57').test('a reply without a call is answered once, and the second in a row ends the job', async () => {
    const scene = await sceneOfTest({
      script: [say('Hm.'), call('list_files'), say('I think.'), say('Therefore I am.'), done()],
    });
    expect([await scene.work(), scene.prompts.length]).toEqual(['no_tool_call', 4]);
    const nudges = scene.prompts.map((prompt) =>
      prompt
        .filter(({ role }) => role === 'user')
        .map(textOf)
        .join('\n'),
    );
    expect(nudges.map((text) => text.split('You called no tool').length - 1)).toEqual([0, 1, 1, 2]);
  });

  verifies('S-57').test(
    'a reply cut by its limit inside a call is not executed, and the agent is told why',
    async () => {
      const cut = {
        reply: {
          tool_calls: [{ name: 'write_file', arguments: { path: 'b.txt', content: 'half' } }],
          finish: 'length',
        },
      };
      const early = { reply: { tool_calls: [{ name: 'done', arguments: { summary: 'cut' } }], finish: 'length' } };
      const scene = await sceneOfTest({ script: [cut, early, done('Whole.')] });
      expect(await scene.work()).toEqual({ result: 'Whole.', endedBy: 'done' });
      expect(scene.results().slice(0, 2)).toEqual(
        ['write_file', 'done'].map((name) =>
          expect.stringContaining(`${name}! {"tool_call_error":"Not run: the reply was cut`),
        ),
      );
      expect(() => scene.file('b.txt')).toThrow('ENOENT');
    },
  );
});

describe('budgets', () => {
  const idle = Array.from({ length: 12 }, (_, n) => call('run_command', { command: `echo ${n}` }));

  verifies('S-58').test('at 80 % the agent is reminded, at 100 % a person is asked and may go on', async () => {
    const budget = { turns: 5, tokens: 1_000_000, ms: 3_600_000 };
    const scene = await sceneOfTest({ script: idle, parts: { budget }, answers: [choice('continue'), choice('stop')] });
    expect([await scene.work(), scene.prompts.length]).toEqual(['budget_exhausted', 10]);
    expect(scene.asked.map(({ question }) => question.replace(/\d+ tokens/, 'N tokens'))).toEqual([
      'The budget is used up (5 turns, N tokens). What now?',
      'The budget is used up (10 turns, N tokens). What now?',
    ]);
    const reminded = scene.prompts.map((prompt) => JSON.stringify(prompt).includes('budget is nearly used up'));
    expect(reminded.indexOf(true)).toBe(4);
  });

  verifies('S-58').test(
    'tokens and time count too, and with nobody there the job ends with its work kept',
    async () => {
      const write = call('write_file', { path: 'b.txt', content: 'kept\n' });
      const tokens = await sceneOfTest({
        script: [write, ...idle],
        parts: { budget: { turns: 200, tokens: 8_000, ms: 3_600_000 } },
      });
      expect([await tokens.work(), tokens.file('b.txt')]).toEqual(['budget_exhausted', 'kept\n']);
      const clock = manualClock();
      const slow = await sceneOfTest({
        clock,
        script: [write, ...idle],
        parts: { budget: { turns: 200, tokens: 1_000_000, ms: 60_000 } },
        around: (client) => ({
          ...client,
          chat: async (request, sink) => {
            await clock.advance(25_000);
            return client.chat(request, sink);
          },
        }),
      });
      expect([await slow.work(), slow.prompts.length, slow.file('b.txt')]).toEqual(['budget_exhausted', 3, 'kept\n']);
    },
  );
});

verifies('S-58').test('cost counts where a limit is set, what an earlier process spent included', async () => {
  const scene = await sceneOfTest({
    script: Array.from({ length: 12 }, (_, n) => call('run_command', { command: `echo ${n}` })),
    parts: { budget: { turns: 200, tokens: 1_000_000, ms: 3_600_000, usd: 2 } },
    around: (client) => ({
      ...client,
      chat: async (request, sink) => ({ ...(await client.chat(request, sink)), cost: 0.25 }),
    }),
  });
  scene.coder.restore([], { turn: 0, used: { tokens: 0, usd: 1 } });
  expect([await scene.work(), scene.prompts.length]).toEqual(['budget_exhausted', 4]);
});

verifies('S-26').test(
  'a whole history that outgrows the window is told once, and the job goes on with bounded prompts',
  async () => {
    const long = Array.from({ length: 8 }, (_, n) => call('run_command', { command: `seq ${n} 1500` }));
    const scene = await sceneOfTest({
      script: [...long, done('All seen.')],
      parts: { parameters: { mode: 'full', tailBudget: 4_000, keep: 2, fillTo: 0, window: 16_000 } },
    });
    expect(await scene.work()).toEqual({ result: 'All seen.', endedBy: 'done' });
    const told = scene.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
    expect(told).toEqual([expect.stringMatching(/^fallback_too_large: .* Prompts are bounded from here on\.$/)]);
    const modes = scene.ledgers.map(({ mode }) => mode);
    const turned = modes.indexOf('epoch');
    expect([turned > 0, modes.slice(turned).every((mode) => mode === 'epoch')]).toEqual([true, true]);
    expect(Math.max(...scene.ledgers.map(({ estimated }) => estimated))).toBeLessThanOrEqual(16_000);
    const first = await scene.artifacts.read('t1', {});
    expect(first.text).toContain('seq 0 1500');
  },
);

describe('outages', () => {
  const out = (times: number) => ({ error: { status: 503, message: 'no service' }, times });

  verifies('S-59').test('an outage is waited out and the job goes on at the same turn', async () => {
    const clock = manualClock();
    const scene = await sceneOfTest({ clock, script: [call('list_files'), out(6), done('After all.')] });
    const end = scene.work();
    const isOver = { yes: false };
    void end.finally(() => {
      isOver.yes = true;
    });
    while (!isOver.yes) {
      await expect.poll(() => isOver.yes || clock.sleeping() > 0, { interval: 5 }).toBe(true);
      await clock.advance(1_000);
    }
    expect(await end).toEqual({ result: 'After all.', endedBy: 'done' });
    const [first, ...rest] = scene.prompts;
    expect(first).toHaveLength(3);
    // Asked again and again with the very same words.
    expect(new Set(rest.map((prompt) => JSON.stringify(prompt))).size).toBe(1);
    const waits = scene.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
    expect(waits.length).toBeGreaterThanOrEqual(2);
  });

  verifies('S-59').test('after a quarter of an hour it ends with the error of the provider', async () => {
    const clock = manualClock();
    const scene = await sceneOfTest({ clock, script: [{ ...out(1), times: 'always' }] });
    const end = scene.work();
    const isOver = { yes: false };
    void end.finally(() => {
      isOver.yes = true;
    });
    while (!isOver.yes) {
      await expect.poll(() => isOver.yes || clock.sleeping() > 0, { interval: 5 }).toBe(true);
      await clock.advance(5_000);
    }
    expect(await end).toMatch(/keys_exhausted|provider/);
    expect(clock.monotonicMs()).toBeGreaterThan(13 * 60_000);
    expect(clock.monotonicMs()).toBeLessThan(17 * 60_000);
  });
});

verifies('S-54').test('a message after the end begins anew: the plan carried out before does not end it', async () => {
  const rounds = Array.from({ length: 6 }, (_, n) => call('run_command', { command: `echo ${n}` }));
  const scene = await sceneOfTest({
    script: [
      call('todo', { op: 'set', items: ['one'] }),
      call('todo', { op: 'complete', id: 'k1' }),
      done('First.'),
      ...rounds,
      done('Second.'),
    ],
  });
  expect(await scene.work()).toEqual({ result: 'First.', endedBy: 'done' });
  await scene.coder.tell(`And now this. ${'word '.repeat(5_000)}`);
  expect(await scene.work()).toEqual({ result: 'Second.', endedBy: 'done' });
  const told =
    scene.prompts
      .at(-1)
      ?.map(textOf)
      .find((text) => text.startsWith('The person says: And now this.')) ?? '';
  const id = /artifact_read "(a:\w+)"/.exec(told)?.[1] ?? '';
  expect([told.length < 10_000, (await scene.artifacts.read(id, { limit: 13 })).text]).toEqual([true, 'And now this.']);
  expect(codeOf(scene.results().at(-1))).toBeUndefined();
});
