import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { makeWorld } from '../e2e/harness.ts';
import { verifies } from '../support/verifies.ts';

const world = makeWorld();
const home = world.home.dir;
const FILLER = join(home, 'filler');
const isMounted = mountSmallDisk();
afterAll(async () => {
  rmSync(FILLER, { force: true }); // a daemon that cannot write cannot end its jobs
  await world.close().catch(() => {});
  if (isMounted) execFileSync('umount', ['--lazy', home]);
});

/** A disk of its own for the home, small enough to be filled. */
function mountSmallDisk(): boolean {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'tmpfs', home], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** To the last block; the daemon may take one of them meanwhile. */
function fill(): void {
  const { bavail, bsize } = statfsSync(home);
  try {
    writeFileSync(FILLER, Buffer.alloc(bavail * bsize));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

const codeOf = (error: unknown) => (error as { body?: { error: { code: string } } }).body?.error.code ?? String(error);

verifies('Q-06')
  .needs(isMounted, 'mounting a small disk is not allowed here')
  .test(
    'a full disk refuses commands in plain words, holds up no agent, and loses nothing',
    async () => {
      world.configure({ timings: { linger: 50 } });
      const lines = Array.from({ length: 100 }, (_, n) => `line ${n}`);
      const steps = [
        ...lines.flatMap((say) => [{ say }, { sleep: 50 }]),
        { ask: { question: 'go on?', options: ['yes'] } },
      ];
      const { agentId } = await world.client.call('spawn', { agent: world.script('writer', steps), task: 'x' });
      await world.until(agentId, (job) => /line \d\d/.test(job.lastOutput));
      fill();
      const refused = await world.client
        .call('spawn', { agent: world.script('late', [{ say: 'x' }]), task: 'x' })
        .then(() => 'taken', codeOf);
      const read = await world.client.call('status', { id: agentId });
      rmSync(FILLER);
      const asked = await world.until(agentId, (job) => job.awaiting_input, 60_000);
      await world.client.call('send', { id: agentId, option: [1], questionId: asked.questions[0]?.questionId ?? '' });
      await world.until(agentId, (job) => job.status === 'completed');
      const events = await world.events(agentId);
      const texts = events.flatMap((e) => (e.type === 'progress' && e.payload.kind === 'text' ? [e.payload.text] : []));
      expect({ refused, isReadable: read.jobs.length, texts }).toEqual({
        refused: 'storage_unavailable',
        isReadable: 1,
        texts: lines,
      });
    },
    120_000,
  );
