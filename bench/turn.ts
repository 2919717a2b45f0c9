import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../src/process/run.ts';
import { realAgent } from '../test/agents/real-agents.ts';
import { makeWorld } from '../test/e2e/harness.ts';
import { Rig } from '../test/e2e/real.ts';
import { startModelServer } from '../test/model-server/server.ts';
import { median, printRows, type Row, timed } from './measure.ts';

const ROUNDS = 7;
const BARE = {
  claude: ['-p', '--output-format', 'json', 'Go'],
  codex: ['exec', '--skip-git-repo-check', 'Go'],
} as const;

/** A turn of one sentence by the real programs, from the call to the end: through Reef, in its sandbox, and bare. */
export async function benchTurn(): Promise<boolean> {
  const scripts = { hello: [{ text: 'Hello.', times: 1_000 }] };
  const rig = new Rig({
    world: makeWorld('/var/tmp'),
    model: await startModelServer({ scripts }),
    scripts,
    timings: {},
  });
  try {
    const rows: Row[] = [];
    for (const agent of ['claude', 'codex'] as const) {
      if (realAgent(agent).available) rows.push(await turns(rig, agent));
    }
    return printRows('A trivial turn, from the call to the end', rows);
  } finally {
    await rig.close();
  }
}

async function turns(rig: Rig, agent: keyof typeof BARE): Promise<Row> {
  const { command, env } = rig.settings(agent, rig.model.runUrl('hello', agent));
  rig.configure({ [agent]: { command, env } });
  const cwd = join(rig.world.repository, agent);
  mkdirSync(cwd);
  const [file = ''] = command;
  const { PATH = '' } = process.env;
  const limits = { timeoutMs: 45_000, maxBytes: 1_000_000 };
  const bare = async () => {
    const { code, stderr } = await run({ file, args: [...BARE[agent]], cwd, env: { PATH, ...env }, ...limits });
    if (code !== 0) throw new Error(`${agent} ended with ${code}: ${stderr}`);
  };
  const throughReef = async () => {
    const { agentId } = await rig.world.client.call('spawn', { agent, task: 'Go', cwd });
    const { jobs } = await rig.world.client.call('wait', { ids: [agentId], until: ['done'], timeoutMs: 45_000 });
    if (jobs[0]?.status !== 'completed') throw new Error(`${agent} ended as ${jobs[0]?.status}`);
  };
  await bare();
  await throughReef();
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    theirs.push(await timed(bare));
    ours.push(await timed(throughReef));
  }
  return { what: `${agent} through Reef · the bare program`, ours: median(ours), theirs: median(theirs), unit: 'ms' };
}
