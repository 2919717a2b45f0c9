import { afterAll, beforeAll, test } from 'vitest';
import { readFileSync, writeFileSync } from 'node:fs';
import { openRig, type Rig, eventually } from './real.ts';
let rig: Rig;
beforeAll(async () => { rig = await openRig({
  busy: [
    { tools: [{ shell: 'echo begun > begun.txt; until test -f go.txt; do sleep 0.1; done' }] },
    { if: 'Also this', text: 'Both are done.' },
    { text: 'The first is done.' },
    { if: 'Also this', text: 'Both are done.' },
  ],
}); });
afterAll(() => rig.close());
test('x', async () => {
      const job = await rig.spawn({ agent: 'claude', script: 'busy', yes: true, unsafe: true });
      await eventually(() => job.file('begun.txt'), (text) => text !== undefined);
      const sent = await job.send({ text: 'Also this', key: 'also' });
      console.log(sent);
      writeFileSync(job.cwd + '/go.txt', '');
      await job.ended();
  console.log((await job.events()).map((e) => `${e.timestamp} ${e.type} ${JSON.stringify(e.payload).slice(0, 300)}`).join('\n'));
  console.log(readFileSync(`${rig.world.home.dir}/jobs/${job.id}/1/out`, 'utf8').split('\n').slice(-25).map(l => l.slice(0, 500)).join('\n'));
  for (const r of job.requests()) console.log(r.path, JSON.stringify(r.body.messages).slice(-900));
}, 120_000);
