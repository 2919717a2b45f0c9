import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { askHost, commandResult } from '../../src/fleet/store/commands.ts';
import type { FleetQuestion } from '../../src/fleet/store/inbox.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';
import { FleetRig } from './fleet-rig.ts';
import { byBlock, QUICK, WRITES_IT_RIGHT } from './runs-rig.ts';

const server = postgresOfFile();
let rig: FleetRig;
beforeAll(async () => {
  if (!hasPostgres) return;
  rig = await FleetRig.open(server());
  await rig.addRepository('shop');
});
afterAll(() => rig?.close());

/** Programs of other makers as a host may have them: one that answers and one that does not start. */
function agentsOnPath(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'codex'), '#!/bin/sh\necho codex-cli 9.9.9\n', { mode: 0o755 });
  writeFileSync(join(folder, 'opencode'), '#!/nonexistent\n', { mode: 0o755 });
  return folder;
}

verifies('F-39', 'F-36', 'F-44', 'F-46', 'F-50')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'an agent of a worker asks the one inbox, the first answer reaches it, and all that happened is in the fleet',
    async () => {
      await rig.worker('one', { env: { PATH: `${agentsOnPath()}:${process.env.PATH}`, OPENAI_API_KEY: 'sk-x' } });
      const [host] = (await rig.reef('fleet', 'hosts')).hosts;
      expect(host.labels).toEqual(expect.arrayContaining(['agent=codex', 'agent=codex@9.9.9']));
      expect(host.labels.join()).not.toContain('agent=opencode'); // it is there and does not start
      const ask = { ask: { question: 'Which shelf?', options: ['upper', 'lower'] } };
      const steps = byBlock({ Feature_Implement__GenerateCode: [ask, ...WRITES_IT_RIGHT] });
      const start = (...more: string[]) =>
        rig.reef('fleet', 'run', 'shop', 'write sum', ...more).catch(({ stdout }) => JSON.parse(stdout));
      expect(await start('--need', 'os=plan9')).toMatchObject({
        error: { code: 'no_host_fits', message: 'No host has os=plan9' },
      });
      expect(await start('--agent', 'opencode')).toMatchObject({ error: { message: 'No host has agent=opencode' } });
      const { id: run } = await start('--workflow', 'test-fix', '--agent', rig.script('asks', steps));
      const question = await until('the question is in the inbox', async () => {
        const { questions } = (await rig.reef('fleet', 'inbox')) as { questions: FleetQuestion[] };
        return questions[0];
      });
      expect(question).toMatchObject({ host: 'one', repository: 'shop', run, answeredBy: null });
      const answers = await Promise.allSettled(
        ['upper', 'lower'].map((option) => rig.reef('fleet', 'answer', question.id, '--option', option)),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect(answers.find(({ status }) => status === 'fulfilled')).toMatchObject({ value: { delivered: true } });
      expect((await rig.runWhen(run, ({ status }) => status === 'ended')).outcome?.value?.outcome).toBe('success');
      const { database } = rig;
      const [job] = await database.query<{ id: string; run: string; status: string }>(
        "SELECT id, run, status FROM reef.job WHERE host = 'one'",
      );
      expect(job).toMatchObject({ run });
      const events = () =>
        database.query<{ n: number; type: string }>("SELECT n, type FROM reef.event WHERE host = 'one' ORDER BY n");
      await until('its end is shipped', async () => (await events()).some(({ type }) => type === 'completed'));
      const all = await events();
      expect(all.map(({ n }) => n)).toEqual(all.map((_, index) => index + 1));
      expect(all.map(({ type }) => type)).toEqual(
        expect.arrayContaining(['started', 'needs_input', 'input_sent', 'completed']),
      );
      const asked = { host: 'one', repository: 'shop', op: 'job_log', input: { id: job?.id, bytes: 1_000 }, by: 'ada' };
      const n = await askHost(database, asked);
      expect((await until('the host reads it', () => commandResult(database, n))).value).toMatchObject({
        agentId: job?.id,
        text: expect.stringContaining('{'),
      });
      expect(await rig.reef('fleet', 'inbox')).toEqual({ questions: [] });
    },
  );

verifies('F-43')
  .needs(hasPostgres, NO_POSTGRES)
  .test('what an admin trusts once, every host trusts, by its hash; anything else is refused as before', async () => {
    await rig.addRepository('blog', {}, { '.reef/workflows.yaml': QUICK });
    const origin = join(rig.root, 'blog-origin');
    const agent = rig.script('quick', byBlock({ Quick__Write: WRITES_IT_RIGHT }));
    const start = async () => (await rig.reef('fleet', 'run', 'blog', 'write sum', '--agent', agent)).id;
    const ended = async () => rig.runWhen(await start(), ({ status }) => status === 'ended');
    expect((await ended()).outcome).toMatchObject({ error: { code: 'repo_untrusted' } });
    await rig.reefIn('one', origin, 'fleet', 'trust', 'blog', '--yes', '--database-url', rig.url);
    await rig.reefIn('one', origin, 'daemon', 'stop');
    expect((await ended()).outcome?.value?.outcome).toBe('success');
    const [{ trust } = {}] = await rig.database.query<{ trust: { hashes: string[] } }>(
      "SELECT trust FROM reef.repository WHERE id = 'blog'",
    );
    expect(trust?.hashes).toHaveLength(1);
    const audit = await rig.database.query(
      "SELECT operation, target, outcome FROM reef.audit WHERE operation = 'fleet.trust'",
    );
    expect(audit).toEqual([{ operation: 'fleet.trust', target: 'blog', outcome: 'ok' }]);
  });
