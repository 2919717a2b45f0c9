import type { PassThrough } from 'node:stream';
import { afterEach, expect } from 'vitest';
import { RUN_ID, sampleRun, sampleView } from '../../../../test/support/surfaces/sample-runs.ts';
import {
  JOB_ID,
  sampleChoice,
  sampleEntry,
  sampleJob,
  sampleQuestion,
} from '../../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../../../test/support/surfaces/socket.ts';
import { spoken } from '../../../../test/support/surfaces/spoken.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { differences } from '../../../protocol/differences.ts';
import type { ErrorCode } from '../../../protocol/error-table.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { InboxEntry } from '../../../protocol/job-operations.ts';

let socket: TestSocket | undefined;
afterEach(() => socket?.close());

/** A run that asks one question, and is over when it is answered; `others` answer it first when it is asked for the nth time. */
async function serve(question: Partial<InboxEntry>, others: { atLook?: number; refusal?: ErrorCode } = {}) {
  const asked = { ...sampleEntry({ ...sampleQuestion(), ...question }), runId: RUN_ID, block: 'Main__Test' };
  const { because: _, ...run } = sampleRun({ endedAt: '2026-03-01T12:05:00.000Z' });
  let isAnswered = false;
  let looks = 0;
  const small = smallCore(sampleJob(), {
    inbox: async () => {
      looks += 1;
      isAnswered ||= looks === others.atLook;
      return { questions: isAnswered ? [] : [asked], notices: [] };
    },
    run_follow: async () => {
      const view = sampleView({ halts: [], gates: [] });
      const status = isAnswered ? 'success' : 'awaiting_input';
      return { run: { ...run, status }, from: 0, seq: view.seq, differences: differences(undefined, view) };
    },
    send: async () => {
      isAnswered = true;
      if (others.refusal) throw new ReefError(others.refusal, 'Nobody waits for that.');
      return { agentId: JOB_ID, status: 'running', delivered: true, messageId: 'm1' };
    },
  });
  socket = await openSocket(small.core);
  return () => small.calls.filter(({ operation }) => operation === 'send').map(({ input }) => input);
}

/** In place of a line: nothing is typed. */
const WAITS = '(waits)';

/** At a terminal, where these lines are typed. */
async function follow(lines: readonly string[], isTTY = true) {
  const left = [...lines];
  // A person types when they are asked; at the end of the list they close the terminal.
  const person = (stdin: PassThrough, stderr: PassThrough) =>
    void stderr.on('data', (said: Buffer) => {
      if (said.toString().includes('Merge it into main? ')) stdin.write('n\n');
      if (!said.toString().includes('Main__Test? ')) return;
      const line = left.shift();
      if (line === WAITS) return;
      if (line === undefined) stdin.end();
      else stdin.write(`${line}\n`);
    });
  const dir = socket?.dir ?? '';
  const env = { PATH: process.env.PATH, HOME: dir, ...socket?.env, NO_COLOR: '1' };
  return spoken({ args: ['run', 'show', '@last', '--follow'], cwd: dir, env, isTTY, person });
}

const NAMED = { id: JOB_ID, questionId: '0#0', fingerprint: sampleQuestion().fingerprint };

verifies('X-55', 'X-56', 'X-57').test(
  'who follows a run at a terminal is asked there; only an exact word allows, and names what was seen',
  async () => {
    const sent = await serve({});
    const { code, err } = await follow(['', 'sure']);
    expect([code, sent()]).toEqual([3, []]);
    expect(err).toContain('│ rm -rf build');
    const said = await follow(['allow', 'sure', 'yes please', 'y']);
    expect([said.code, sent()]).toEqual([0, [{ ...NAMED, decision: 'allow_once' }]]);
    expect(said.out).toMatch(
      /success, after 5m00s\n\n {2}reef diff \w+ +see what it did\n {2}reef accept \w+ +merge it\n/,
    );
  },
);

verifies('X-55').test('n denies', async () => {
  const sent = await serve({});
  expect([(await follow(['n'])).code, sent()]).toEqual([0, [{ ...NAMED, decision: 'deny' }]]);
});

verifies('X-55').test('a choice is made by number, and only one that there is', async () => {
  const sent = await serve(sampleChoice());
  expect([(await follow(['0', '9', '1, 2', '2'])).code, sent()]).toEqual([0, [{ ...NAMED, option: [2] }]]);
});

verifies('X-57').test('a secret is typed unseen; without a terminal the commands are shown', async () => {
  const sent = await serve({ kind: 'text', secret: true, question: 'Password?' });
  const piped = await follow([], false);
  expect([piped.code, piped.err]).toEqual([
    3,
    `\nAfter you answer, watch it go on: reef run show ${RUN_ID} --follow\n`,
  ]);
  expect(piped.out).toContain('(reads it from standard input)');
  const { code, out, err } = await follow(['hunter2']);
  expect([code, sent(), (out + err).includes('hunter2')]).toEqual([0, [{ ...NAMED, text: 'hunter2' }], false]);
});

verifies('X-56').test('what is answered elsewhere is taken back or told, and the run is followed on', async () => {
  const unanswered = await serve({}, { atLook: 3 });
  const taken = await follow([WAITS]);
  expect([taken.code, unanswered()]).toEqual([0, []]);
  expect(taken.err).toContain('Main__Test has been answered.');
  await socket?.close();
  for (const refusal of ['already_answered', 'question_withdrawn', 'question_not_found', 'job_ended'] as const) {
    await serve({}, { refusal });
    const { code, err } = await follow(['y']);
    expect([refusal, code, err.includes('Nobody waits for that.')]).toEqual([refusal, 0, true]);
    await socket?.close();
  }
});
