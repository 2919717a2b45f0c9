import { expect, test } from 'vitest';
import { NOW, sampleChoice, sampleJob, sampleQuestion } from '../../../test/support/surfaces/samples.ts';
import { jobDetails, jobTable } from './job.ts';
import { createStyle } from './style.ts';

const style = createStyle({ colour: false, width: 100, now: NOW });

test('jobs are shown by short id, status, age, tokens, cost and task', () => {
  const jobs = [
    sampleJob(),
    sampleJob({
      id: '01KA1B2D000000000000000000',
      depth: 1,
      status: 'awaiting_input',
      activity: 'waiting',
      questions: [sampleQuestion(), sampleChoice()],
      agent: 'scripted:/home/somebody/a-script-with-a-long-name.yaml',
    }),
    sampleJob({
      id: '01KA1B2E000000000000000000',
      status: 'error',
      activity: 'ended',
      reason: 'budget_exhausted',
      endedAt: '2026-03-01T12:05:00.000Z',
      usage: { ...sampleJob().usage, costUsd: null },
      task: 'a\nb\u001b[31m',
    }),
  ];
  expect(jobTable(jobs, style)).toBe(
    [
      'ID         AGENT                     STATUS                    AGE        TOKENS  COST   TASK',
      '01KA1B2C   claude                    working                   10m00s     1.5k    $0.04  set up the…',
      '└01KA1B2D  scripted:a-script-with-…  asks (2)                  10m00s     1.5k    $0.04  ? Allow Ba…',
      '01KA1B2E   claude                    error (budget_exhausted)  5m00s ago  1.5k    –      a b␛[31m',
    ].join('\n'),
  );
});

test('where a job has no sandbox, or only its own, the table says so', () => {
  const jobs = [sampleJob({ sandbox: 'none', task: 'a' }), sampleJob({ sandbox: 'agent', task: 'b' }), sampleJob()];
  const [titles = '', ...rows] = jobTable(jobs, style).split('\n');
  const at = titles.indexOf('SANDBOX');
  expect(rows.map((row) => row.slice(at, at + 3).trim())).toEqual(['no', 'own', 'yes']);
});

test('colours say at once which job needs somebody', () => {
  const coloured = createStyle({ colour: true, width: 100, now: NOW });
  const text = jobTable([sampleJob({ status: 'awaiting_input', activity: 'waiting' })], coloured);
  expect(text).toContain('\u001b[33masks\u001b[39m');
});

test('one job is shown with all that is known of it, and nothing that is not', () => {
  const job = sampleJob({
    agentVersion: '2.1.325',
    model: 'opus',
    sessionId: 's-1',
    budget: { tokens: 5_000, turns: 3, seconds: 600 },
    task: 'first line\nsecond line',
    unknownMessages: 2,
    exitCode: 0,
  });
  expect(jobDetails(job, style)).toBe(
    [
      'job      01KA1B2C3D4E5F6G7H8J9KAMNP',
      'status   working, 10m00s',
      'agent    claude 2.1.325 opus',
      'task     first line',
      '         second line',
      'folder   /repo',
      'sandbox  in a sandbox',
      'session  s-1',
      'worked   1m05s in 3 turns, launch 1',
      'tokens   1.5k, $0.04',
      'budget   5000 tokens, 3 turns, 10m00s',
      'exit     0',
      'unknown  2 messages of a kind Reef does not know',
      'last     reading files',
      '',
      '  reef output 01KA1B2C3D4E5F6G7H8J9KAMNP --follow  watch it',
      '  reef send 01KA1B2C3D4E5F6G7H8J9KAMNP "…"         talk to it',
      '  reef kill 01KA1B2C3D4E5F6G7H8J9KAMNP             end it',
    ].join('\n'),
  );
});

test('a job that asks shows its questions below', () => {
  const text = jobDetails(sampleJob({ status: 'awaiting_input', questions: [sampleQuestion()] }), style);
  expect(text).toContain('\n\n01KA1B2C3D4E5F6G7H8J9KAMNP  claude  permission\n');
});
