import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { Chat, TMUX } from '../e2e/chat-rig.ts';
import { appeared, gone, processesWith } from '../e2e/real.ts';
import { call, type TeamWorld, teamWorld } from '../e2e/team-rig.ts';
import { scale } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';

const CYCLES = scale('R-154', { test: 2, faults: 50, soak: 200 });
const SERVER = join(import.meta.dirname, '../support/runtime/mcp-server.ts');
const MARK = `--chat-cycles-${process.pid}`;
const SERVERS = ['coral', 'kelp', 'shoal'];
const PROMPT = /boss\S*>(?: +\S+)?$/;
const LONG = `sleep 600 # ${MARK}`;

const world = open();
afterAll(() => world.close());

/** An agent with servers started through `npx`, and a child whose command ends or does not, as it is told. */
function open(): TeamWorld {
  const opened = teamWorld(
    {
      boss: { can_spawn_agents: true, mcp_servers: SERVERS, agent_session: 'daily' },
      hand: { global_tools: ['execute_command'] },
    },
    {
      save_session: true,
      compression_threshold: 0,
      reef: { permissions: [{ tool: 'execute_command', action: 'allow' }] },
    },
  );
  opened.play([
    { agent: 'boss', user: '^Short', does: [call('agent__spawn', { agent: 'hand', prompt: 'Quick' })] },
    { agent: 'boss', user: '^Long', does: [call('agent__spawn', { agent: 'hand', prompt: 'Slow' })] },
    { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
    { agent: 'boss', tool: 'agent__collect', says: 'The hand is done.' },
    { agent: 'hand', user: 'Quick', says: 'Done.' },
    { agent: 'hand', user: 'Slow', does: [call('execute_command', { command: LONG })] },
  ]);
  const bin = join(opened.repository, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'reef-test-server'), `#!/bin/sh\n'${process.execPath}' '${SERVER}' "$@"\n`);
  chmodSync(join(bin, 'reef-test-server'), 0o755);
  const env = { npm_config_update_notifier: 'false', npm_config_cache: join(opened.root, 'npm') };
  const servers = SERVERS.map((name) => {
    const args = ['--no', '--offline', '--', 'reef-test-server', `${MARK}-${name}`];
    return [name, { command: 'npx', args, env }];
  });
  opened.write('functions/mcp.json', JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  return opened;
}

/** A chat with its servers up, that was told this. */
async function told(line: string): Promise<Chat> {
  const chat = Chat.start(world.seat, ['chat', '-a', 'boss']);
  await chat.until(PROMPT);
  for (const name of SERVERS) expect(processesWith(`server.ts ${MARK}-${name}`)).toHaveLength(1);
  chat.type(line);
  chat.keys('Enter');
  return chat;
}

/** Files below a folder that the kernel knows a lock of, or that are one; the daemon's is one only while it is held. */
function locksIn(folder: string): string[] {
  const locked = new Set(
    readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .map((line) => line.split(/\s+/)[5]?.split(':')[2]),
  );
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const inode = statSync(join(folder, name), { throwIfNoEntry: false })?.ino;
    return locked.has(String(inode)) || (name.endsWith('.lock') && !name.endsWith('daemon.lock'));
  });
}

const proves = verifies('R-154', 'R-36', 'R-08').needs(TMUX !== undefined && hasNpx(), 'tmux or npx is not installed');

function hasNpx(): boolean {
  try {
    return execFileSync('sh', ['-c', 'command -v npx']).length > 0;
  } catch {
    return false;
  }
}

proves.test(
  `${CYCLES} chats with ${SERVERS.length} servers of npx and a child leave no process when they are left`,
  async () => {
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      await using chat = await told('Short');
      await chat.until(/The hand is done\.\nboss/);
      await chat.until(PROMPT);
      chat.type('.exit');
      chat.keys('Enter');
      await chat.until(/\[ended 0\]/);
      expect(processesWith(MARK)).toEqual([]);
    }
  },
  60_000 + CYCLES * 20_000,
);

proves.test(
  `${CYCLES} chats with ${SERVERS.length} servers of npx and a child at work leave no process when they are killed, and no lock`,
  async () => {
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      await using chat = await told('Long');
      await appeared(LONG);
      for (const pid of chat.programs()) process.kill(pid, 'SIGKILL');
      await chat.until(/\[ended 137\]/);
      await gone(MARK);
    }
    const { jobs } = await world.client.call('status', {});
    const ids = jobs.map(({ id }) => id);
    for (const id of ids) await world.until(id, ({ endedAt }) => endedAt !== undefined);
    await gone(...ids);
    await world.stopDaemon();
    expect(locksIn(world.root).filter((name) => !name.startsWith('npm/'))).toEqual([]);
  },
  60_000 + CYCLES * 20_000,
);
