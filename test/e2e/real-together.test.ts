import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Scripts } from '../model-server/script.ts';
import { verifies } from '../support/verifies.ts';
import { installed, openRig, type Rig, SLOW_MS } from './real.ts';

/** Several agents at once, of both kinds: each in its folder, with its own events and its own answer. */

const NAMES = ['ada', 'bob', 'cyd', 'dan'];

const scripts: Scripts = Object.fromEntries(
  NAMES.map((name) => [
    name,
    [
      { tools: [{ write: 'own.txt', content: `${name}\n` }] },
      { tools: [{ ask: [{ question: `Who is ${name}?`, header: 'Who', options: ['friend', 'foe'] }] }] },
      { text: `Thank you, says ${name}.` },
    ],
  ]),
);

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

verifies('A-01', 'A-11', 'A-40', 'A-82', 'A-84')
  .needs(...installed('claude', 'codex'))
  .test(
    'two Claudes and two Codexes work at the same time, and none meets another',
    async () => {
      const jobs = [];
      for (const [at, name] of NAMES.entries()) {
        const agent = at % 2 === 0 ? 'claude' : 'codex';
        jobs.push({
          name,
          job: await rig.spawn({ agent, script: name, task: `I am ${name}`, yes: true, unsafe: true }),
        });
      }
      for (const { job } of jobs) await job.asked();
      const { questions } = await rig.world.client.call('inbox', {});
      expect(new Map(questions.map(({ jobId, question }) => [jobId, question]))).toEqual(
        new Map(jobs.map(({ name, job }) => [job.id, `Who is ${name}?`])),
      );
      const processes = await Promise.all(jobs.map(async ({ job }) => (await job.view()).pid));
      expect(new Set(processes).size).toBe(NAMES.length);
      for (const [at, { job }] of jobs.entries()) await job.send({ option: [(at % 2) + 1] });

      for (const [at, { name, job }] of jobs.entries()) {
        expect(await job.ended()).toMatchObject({ status: 'completed', lastOutput: `Thank you, says ${name}.` });
        expect(readdirSync(job.cwd)).toEqual(['own.txt']);
        expect(job.file('own.txt')).toBe(`${name}\n`);
        const chosen = (await job.payloads('input_sent')).flatMap(({ option }) => option ?? []);
        expect(chosen).toEqual([at % 2 === 0 ? 'friend' : 'foe']);
        const others = NAMES.filter((other) => other !== name);
        const heard = JSON.stringify([await job.events(), job.requests()]);
        expect(others.filter((other) => heard.includes(`I am ${other}`) || heard.includes(`says ${other}`))).toEqual(
          [],
        );
      }

      // Only where Reef itself keeps worktrees.
      expect(readdirSync(rig.world.env.HOME ?? '')).toEqual(['.local']);

      const logs = await Promise.all(jobs.map(({ job }) => job.events()));
      for (const [at, log] of logs.entries()) {
        expect(new Set(log.map(({ agentId }) => agentId))).toEqual(new Set([jobs[at]?.job.id]));
      }
      const seqs = logs
        .flat()
        .map(({ seq }) => seq)
        .sort((a, b) => a - b);
      expect(seqs).toEqual(seqs.map((_, at) => at + 1));
    },
    SLOW_MS,
  );
