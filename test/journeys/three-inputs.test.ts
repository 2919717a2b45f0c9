import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { makeAgentHome, realAgent } from '../agents/real-agents.ts';
import { Chat, seatIn, TMUX } from '../e2e/chat-rig.ts';
import { ADDS, PROJECT, RunsRig } from '../e2e/runs-rig.ts';
import type { Turn } from '../model-server/script.ts';
import { startModelServer } from '../model-server/server.ts';
import { verifies } from '../support/verifies.ts';

const claude = realAgent('claude');
const { sandboxesNetwork } = await probeCapabilities();
const isReady = claude.available && sandboxesNetwork && TMUX !== undefined;

let rig: RunsRig | undefined;
afterEach(() => rig?.close());

const mends: Turn[] = [
  { tools: [{ write: 'sum.mjs', content: ADDS }, { shell: 'npm test' }] },
  { text: 'Written.\n\nSIGNAL:SUCCESS' },
];

verifies('J-13', 'J-20')
  .needs(isReady, 'Claude Code, tmux and a sandbox with a network of its own')
  .test(
    'a fresh clone is set up, trusted, worked on and merged by one command and two times y',
    async () => {
      rig = new RunsRig(PROJECT, '/var/tmp');
      const { world } = rig;
      const model = await startModelServer({ scripts: { mends } });
      const bin = join(world.root, 'bin');
      mkdirSync(bin);
      symlinkSync(claude.file, join(bin, 'claude'));
      const { PATH: _, ...env } = claude.env(model.runUrl('mends'), makeAgentHome());
      world.configure({ reef: { agents: { claude: { env } } } });
      const seat = seatIn(world, { PATH: `${bin}:${world.env.PATH}` });
      await using terminal = Chat.start(seat, ['run', 'Write sum', '--follow']);
      await terminal.until(/npm test[\s\S]*Trust these 2 items\? \[y\/N\]/);
      terminal.type('y');
      terminal.keys('Enter');
      await terminal.until(/Gates {2}on what is committed[\s\S]*test {4}already failing/);
      await terminal.until(/test passed[\s\S]*Merge it into main\? \[y\/N\]/);
      terminal.type('y');
      terminal.keys('Enter');
      const screen = await terminal.until(/\[ended \d+\]/);
      expect(screen).toMatch(/merged as [0-9a-f]{12}[\s\S]*\[ended 0\]/);
      expect(screen).toContain('claude started in its worktree, in a sandbox');
      expect(rig.git('log', '-1', '--format=%s')).toBe('Write sum');
      await model.close();
    },
    120_000,
  );
