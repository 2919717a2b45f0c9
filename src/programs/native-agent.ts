import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { STUCK_PARENT_EXIT } from '../agents/native-agents.ts';
import { readEnvironment } from '../base/env.ts';
import { version } from '../base/version.ts';
import { ReefError } from '../protocol/errors.ts';
import { connect } from '../surfaces/client/client.ts';
import { relay } from '../surfaces/native-agent/relay.ts';
import type { Hello } from '../surfaces/native-agent/tree-socket.ts';

/**
 * `native-agent.ts --agent NAME --session ID | --resume ID [--model M] [--chat]`: an agent of the user's own as a program that
 * speaks the reef protocol. The process of the first agent runs the whole tree of agents. The others relay to it, and run their
 * agent themselves if it is gone. With `--chat` the tree runs in a `reef ask` or `reef chat`.
 */
const CHAT_MS = 10_000;

const { values } = parseArgs({
  options: {
    agent: { type: 'string' },
    session: { type: 'string' },
    resume: { type: 'string' },
    model: { type: 'string' },
    chat: { type: 'boolean', default: false },
  },
});
process.stdout.on('error', () => process.exit(1)); // nobody listens any more
const streams = { input: process.stdin, output: process.stdout };
const env = readEnvironment();
const hello = await introduce();
// A process that relays is light; one that runs agents loads the whole runtime.
const relayed = await relayToTree();
if (relayed === 'refused') await runTree();
process.exit(relayed === 'deaf' ? STUCK_PARENT_EXIT : 0);

async function relayToTree(): ReturnType<typeof relay> {
  if (values.chat) return relayToChat();
  return hello.parentId === undefined ? 'refused' : relay(treeSocketOf(hello.parentId), hello, streams);
}

async function relayToChat(): ReturnType<typeof relay> {
  const relayed = await relay(treeSocketOf(hello.jobId), hello, { ...streams, patienceMs: CHAT_MS });
  if (relayed !== 'refused') return relayed;
  process.stderr.write(
    `No \`reef ask\` or \`reef chat\` talks to ${hello.agent} any more. Start it anew: reef spawn native:${hello.agent} "…"\n`,
  );
  process.exit(1);
}

async function introduce(): Promise<Hello> {
  const socket = env.reefSocket;
  if (socket === undefined || values.agent === undefined) {
    throw new ReefError('bad_request', 'An agent only runs as a job. Start one: reef spawn native:NAME "…"');
  }
  const jobId = basename(dirname(socket));
  const [job] = (await connect({ socket, surface: 'mcp' }).call('status', { id: jobId })).jobs;
  if (!job) throw new ReefError('job_not_found', `There is no job ${jobId}`);
  const { parentId, depth, cwd, keep } = job;
  return {
    agent: values.agent,
    jobId,
    depth,
    cwd,
    door: socket,
    keep,
    sessionId: values.resume ?? values.session ?? jobId,
    ...(parentId !== undefined && { parentId }),
    ...(values.model !== undefined && { model: values.model }),
  };
}

function treeSocketOf(jobId: string): string {
  return join(dirname(dirname(hello.door)), jobId, 'host');
}

async function runTree(): Promise<void> {
  const { AgentTree } = await import('../surfaces/native-agent/agent-tree.ts');
  const agents = await AgentTree.open(env, { cwd: hello.cwd, version });
  process.once('SIGTERM', () => void agents.end().finally(() => process.exit(143)));
  await agents.serve(hello, streams);
  await agents.end();
}
