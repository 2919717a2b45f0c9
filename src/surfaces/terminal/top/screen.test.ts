import { expect, test } from 'vitest';
import { JOB_ID, NOW, sampleJob, sampleQuestion } from '../../../../test/support/surfaces/samples.ts';
import { displayWidth } from '../../render/columns.ts';
import { createStyle } from '../../render/style.ts';
import { boardOf, type Look } from './board.ts';
import { drawScreen, isWhole, type View } from './screen.ts';

const OTHER = '01KB1B2C3D4E5F6G7H8J9KAMNQ';
const SIZES = [
  { width: 80, height: 24 },
  { width: 200, height: 60 },
  { width: 40, height: 10 },
];

function asked(changes: Parameters<typeof sampleQuestion>[0] = {}): Look['questions'][number] {
  const { agent, task, cwd } = sampleJob();
  return { ...sampleQuestion(changes), jobId: JOB_ID, agent, task, cwd, askedAt: '2026-03-01T12:09:00.000Z' };
}

function view(look: Partial<Look>, changes: Partial<View> = {}): View {
  const items = boardOf([{ repository: 'shop', jobs: [], runs: [], questions: [], ...look }]);
  return { items, selected: 0, repositories: ['shop'], message: '', ...changes };
}

test('every line fits, whatever a task or a question says', () => {
  const hostile = `\u001b[2J漢字 ${'x'.repeat(5_000)} \u202e🎉`;
  const look = {
    jobs: [
      sampleJob({ task: hostile, lastOutput: hostile }),
      sampleJob({ id: OTHER, status: 'completed', task: hostile }),
    ],
    questions: [asked({ question: hostile, input: { command: hostile } })],
  };
  for (const size of SIZES) {
    for (const selected of [0, 1, 2]) {
      const lines = drawScreen(
        view(look, { selected }),
        size,
        createStyle({ colour: false, width: size.width, now: NOW }),
      );
      expect(lines).toHaveLength(size.height);
      expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(size.width);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that none is there is the point
      expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u202e]/);
    }
  }
});

test('questions stand first and are shown with what they ask for', () => {
  const look = { jobs: [sampleJob({ status: 'awaiting_input' }), sampleJob({ id: OTHER })], questions: [asked()] };
  const lines = drawScreen(
    view(look),
    SIZES[0] ?? { width: 80, height: 24 },
    createStyle({ colour: false, width: 80, now: NOW }),
  );
  const text = lines.join('\n');
  expect(text).toMatch(/ASKS\n› 01KA1B2C +claude +1m00s +Allow Bash\?[\s\S]*WORKING/);
  expect(text).toContain('rm -rf build');
  expect(lines.at(-1)).toContain('y allow once');
});

test('only a question that the list shows whole can be allowed there', () => {
  const short = view({ questions: [asked()] });
  const long = view({ questions: [asked({ input: { command: 'line\n'.repeat(100) } })] });
  const cut = view({ questions: [asked({ cut: { bytes: 70_000, isKept: true } })] });
  const size = { width: 80, height: 24 };
  expect([short, long, cut].map((each) => isWhole(each, size))).toEqual([true, false, false]);
  expect(isWhole(short, { width: 80, height: 12 })).toBe(false);
});
