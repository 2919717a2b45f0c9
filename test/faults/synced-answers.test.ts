import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { RunsRig } from '../e2e/runs-rig.ts';
import { hasStrace, joined } from '../support/crash/system-calls.ts';
import { startDaemon } from '../support/started-daemon.ts';
import { verifies } from '../support/verifies.ts';

/** What the kernel was told before a client heard that its command was taken. */

const { world } = new RunsRig({ 'b.txt': 'b\n' });
afterAll(() => world.close());

interface Answered {
  operation: string;
  /** The write-ahead log was written, and then synced, between the request and its answer. */
  wal: 'untouched' | 'written' | 'synced';
}

const CALLS = 'read,write,writev,pwrite64,fsync,fdatasync';
const NEXT = {
  pwrite64: { untouched: 'written' },
  fsync: { written: 'synced' },
  fdatasync: { written: 'synced' },
} as const;

/** Every answered operation, in order. */
function answers(trace: string): Answered[] {
  const asked = new Map<string, Answered>();
  return joined(trace).flatMap(({ name, args }) => {
    const fd = args.replace(/<.*/s, '');
    const operation = /"POST \/v1\/op\/(\w+) /.exec(args)?.[1];
    if (name === 'read' && operation) asked.set(fd, { operation, wal: 'untouched' });
    if (args.includes('reef.db-wal>')) for (const each of asked.values()) each.wal = after(name, each.wal);
    const answered = args.includes('"HTTP/1.1 200') ? asked.get(fd) : undefined;
    if (!answered) return [];
    asked.delete(fd);
    return [answered];
  });
}

function after(call: string, wal: Answered['wal']): Answered['wal'] {
  const next: Partial<Record<Answered['wal'], Answered['wal']>> | undefined = NEXT[call as keyof typeof NEXT];
  return next?.[wal] ?? wal;
}

verifies('Q-03')
  .needs(hasStrace, 'strace is not installed')
  .test('what acknowledges a command is synced before its answer is written', async () => {
    const file = join(world.root, 'trace');
    const how = ['strace', '-f', '--seccomp-bpf', '-qq', '-y', '-s', '64', '-e', `trace=${CALLS}`, '-o', file];
    await startDaemon(world, { inside: how });
    const { client } = world;
    const agent = world.script('asks', { steps: [{ ask: { question: 'Go on?' } }], onResume: [{ sleep: 600_000 }] });
    const { agentId: id } = await client.call('spawn', { agent, task: 'ask' });
    await world.until(id, (job) => job.awaiting_input);
    await client.call('send', { id, text: 'yes' });
    await world.until(id, ({ status }) => status === 'completed');
    await client.call('resume', { id, text: 'again' });
    await world.until(id, ({ status }) => status === 'running');
    await client.call('kill', { id });
    const writer = world.script('writer', [{ edit: { path: 'a.txt', content: 'a\n' } }, { say: 'Written.' }]);
    const { agentId, worktree = '' } = await client.call('spawn', { agent: writer, task: 'write', worktree: 'place' });
    await world.until(agentId, ({ status }) => status === 'completed');
    await client.call('accept', { id: worktree });
    await world.stopDaemon();
    const seen = answers(readFileSync(file, 'utf8'));
    const acting = seen.filter(({ operation }) => !/^(status|output)$/.test(operation));
    const wanted = ['spawn', 'send', 'resume', 'kill', 'spawn', 'accept'];
    expect(acting).toEqual(wanted.map((operation) => ({ operation, wal: 'synced' })));
    // What only reads syncs nothing by itself: the watcher sees the difference.
    expect(seen.filter(({ operation }) => operation === 'status').map(({ wal }) => wal)).toContain('untouched');
  });
