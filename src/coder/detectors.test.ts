import { expect } from 'vitest';
import { call, choice, done, type Scene } from '../../test/support/coder/scene.ts';
import { sceneOfTest } from '../../test/support/coder/scene-of-test.ts';
import { verifies } from '../../test/support/verifies.ts';
import { textOf } from '../runtime/models/message.ts';

const PROGRAM = (n: number) => `package main\n${'\tfmt.Println("hello")\n'.repeat(20)}// attempt ${n}\n`;
const rewrite = (n: number) => call('write_file', { path: 'main.go', content: PROGRAM(n), replace: true });

/** Detector and action of every firing, in order. */
function firings({ news }: Scene): string[] {
  return news.flatMap((one) =>
    one.kind === 'repostate.detected' ? [`t${one.turn} ${one.detector} ${one.action}`] : [],
  );
}

verifies('S-42', 'S-48').test(
  'a file rewritten almost as it was is pointed out, then refused; a failing check is a reason',
  async () => {
    const scene = await sceneOfTest({
      parts: { checks: { build: 'false' } },
      script: [
        ...[0, 1, 2, 3].map(rewrite),
        call('run_command', { command: 'false' }),
        rewrite(4),
        call('todo', { op: 'list' }),
      ],
    });
    expect(await scene.work()).toBe('script_exhausted');
    const results = scene.results();
    expect(results[1]).toContain('Only +1 −1 lines differ from what was there: use edit_file.');
    expect(results[3]).toContain('"code":"rewrite_loop"');
    expect(results[5]).toContain('"noop":false');
    expect([firings(scene), scene.file('main.go')]).toEqual([
      ['t2 rewrite told', 't3 rewrite told', 't4 rewrite refused', 't6 rewrite told'],
      PROGRAM(4),
    ]);
  },
);

verifies('S-71').test(
  'forty-one rewrites through the shell fire like those of a tool, and are no progress',
  async () => {
    const cat = (n: number) => call('run_command', { command: `cat > main.go <<'EOF'\n${PROGRAM(n)}EOF` });
    const scene = await sceneOfTest({
      script: Array.from({ length: 41 }, (_, n) => cat(n)),
      answers: [choice('stop')],
    });
    expect(await scene.work()).toEqual({
      result: 'Ended by a person: Nothing has changed for 16 turns. How should it go on?',
      endedBy: 'person',
    });
    expect(scene.results()[3]).toContain(
      'main.go was written for the 4th time almost unchanged (+1 −1 lines): use edit_file.',
    );
    const fired = firings(scene);
    expect([fired.slice(0, 3), fired.filter((each) => !each.includes('rewrite'))]).toEqual([
      ['t2 rewrite told', 't3 rewrite told', 't4 rewrite told'],
      ['t11 stall reminded', 't19 stall asked'],
    ]);
  },
);

verifies('S-43', 'S-48').test('a call that failed three times alike is not made a fourth time', async () => {
  const edit = call('edit_file', { path: 'a.txt', old: 'absent', new: 'x' });
  const scene = await sceneOfTest({ script: [call('read_file', { path: 'a.txt' }), edit, edit, edit, edit, done()] });
  await scene.work();
  const codes = scene.results().map((line) => /"code":"(\w+)"/.exec(line)?.[1]);
  expect(codes.slice(1, 5)).toEqual(['edit_not_found', 'edit_not_found', 'edit_not_found', 'repeated_failure']);
  expect(scene.results()[4]).toContain('a.txt does not contain the text to replace.');
  expect(firings(scene)).toEqual(['t5 failing_call refused']);
});

verifies('S-44', 'S-48').test('what the prompt still shows is not read again, unless asked a third time', async () => {
  const read = call('read_file', { path: 'a.txt' });
  const scene = await sceneOfTest({
    script: [read, read, read, call('run_command', { command: 'echo beta > a.txt' }), read, done()],
  });
  await scene.work();
  expect(scene.results().filter((line) => line.startsWith('read_file'))).toEqual([
    'read_file: alpha\n',
    'read_file: unchanged since t1, shown above',
    'read_file: alpha\n',
    'read_file: beta\n',
  ]);
  expect(firings(scene)).toEqual(['t2 repeated_read shortened']);
});

verifies('S-45', 'S-48').test(
  'the same output in the same tree is one line, and the whole of it an artifact',
  async () => {
    const run = call('run_command', { command: 'seq 1 50; exit 1' });
    const scene = await sceneOfTest({
      script: [run, run, call('write_file', { path: 'b.txt', content: 'b\n' }), run, done()],
    });
    await scene.work();
    const runs = scene.results().filter((line) => line.startsWith('run_command'));
    const id = /artifact_read "(a:\w+)"/.exec(runs[1] ?? '')?.[1] ?? '';
    expect(runs[1]).toBe(`run_command: Same output as at t1, exit 1: artifact_read "${id}"`);
    expect((await scene.artifacts.read(id)).text).toBe(`${Array.from({ length: 50 }, (_, n) => n + 1).join('\n')}\n`);
    // Another tree: what it says now may mean something else.
    expect(runs[2]).toBe(runs[0]);
    expect(firings(scene)).toEqual(['t2 same_output shortened']);
  },
);

verifies('S-46', 'S-48').test('eight turns without progress remind, sixteen ask, and a person ends it', async () => {
  const idle = Array.from({ length: 30 }, (_, n) => call('run_command', { command: `true ${n}` }));
  const scene = await sceneOfTest({ script: idle, answers: [choice('stop')] });
  expect(await scene.work()).toEqual({
    result: 'Ended by a person: Nothing has changed for 16 turns. How should it go on?',
    endedBy: 'person',
  });
  expect([scene.prompts.length, firings(scene)]).toEqual([17, ['t9 stall reminded', 't17 stall asked']]);
  const last = scene.prompts[9]?.at(-1);
  expect(last && textOf(last)).toBe('No progress for 8 turns: take the next open task, or call done.');
});

verifies('S-47', 'S-48').test(
  'when all there was to do is done the agent is told, and three turns later Reef ends the job',
  async () => {
    const scene = await sceneOfTest({
      parts: { checks: { test: 'test -f b.txt' } },
      script: [
        call('todo', { op: 'set', items: ['write b'] }),
        call('write_file', { path: 'b.txt', content: 'b\n' }),
        call('run_command', { command: 'test -f b.txt' }),
        call('todo', { op: 'complete', id: 'k1' }),
        ...Array.from({ length: 9 }, (_, n) => call('run_command', { command: `echo ${n}` })),
      ],
    });
    expect(await scene.work()).toEqual({ result: 'All criteria are met.', endedBy: 'criteria' });
    const told = scene.prompts.map((prompt) => JSON.stringify(prompt).includes('All criteria are met: call done.'));
    expect([scene.prompts.length, told.indexOf(true)]).toEqual([7, 4]);
    expect(firings(scene)).toEqual([
      ...['t4', 't5', 't6'].map((turn) => `${turn} stop_criterion reminded`),
      't7 stop_criterion ended',
    ]);
  },
);
