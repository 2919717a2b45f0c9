import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { readEnvironment } from '../../src/base/env.ts';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { openClient } from '../../src/surfaces/client/client.ts';
import { makeWorld } from '../e2e/harness.ts';
import { verifies } from '../support/verifies.ts';

// Not below /tmp: a sandbox has one of its own, and the worktree would not be in it.
const world = makeWorld('/var/tmp');
afterAll(() => world.close());
const { bubblewrap } = await probeCapabilities();

verifies('F-54', 'X-20', 'X-23')
  .needs(bubblewrap !== undefined, 'bubblewrap is not installed or not allowed to work')
  .test('a job of a worker gets neither the address of the database nor what logs in there', async () => {
    const canary = randomUUID();
    const home = world.env.HOME ?? '';
    const files = [
      join(home, '.pgpass'),
      join(home, 'app.url'),
      join(home, '.config/reef/app.url'),
      join(home, '.local/state/reef/app.url'),
    ];
    for (const file of files) {
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, `postgres://reef_app:${canary}@db.example/reef\n`, { mode: 0o600 });
    }
    const url = `postgres://reef_app:${canary}@db.example/reef`;
    const env = {
      ...world.env,
      REEF_DATABASE_URL: url,
      PGPASSWORD: canary,
      PGPASSFILE: files[0],
      PGHOST: 'db.example',
      PGUSER: canary,
    };
    // The daemon that starts the job has all of it, as a worker has.
    const client = openClient({ env: readEnvironment(env), cwd: world.repository, surface: 'cli' });
    const names = files.map((file) => `'${file}'`).join(' ');
    const looks = world.script('looks', [
      {
        shell: [
          'sh',
          '-c',
          `env >seen.txt; cat ${names} >>seen.txt 2>&1; cat /proc/[0-9]*/environ >>seen.txt 2>/dev/null; echo end >>seen.txt`,
        ],
      },
      { say: 'Done.' },
    ]);
    const { agentId } = await client.call('spawn', {
      agent: looks,
      task: 'look around',
      worktree: 'looks',
      sandbox: true,
    });
    const job = await world.until(agentId, ({ status }) => status === 'completed' || status === 'error');
    const seen = readFileSync(join(job.cwd, 'seen.txt'), 'utf8');
    expect([job.status, job.sandbox]).toEqual(['completed', 'bubblewrap']);
    expect(seen).toContain('end');
    expect(seen).toContain('No such file or directory');
    for (const secret of [canary, 'db.example', 'REEF_DATABASE_URL', 'PGPASS', 'PGHOST'])
      expect(seen).not.toContain(secret);
  });
