import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { DEAF_HOST } from './agents/deaf-host.ts';
import { readEnvironment } from './base/env.ts';
import { ReefError } from './protocol/errors.ts';
import { connect } from './surfaces/client/client.ts';
import type { Hello } from './surfaces/host/hello.ts';
import { relay } from './surfaces/host/relay.ts';
import { version } from './version.ts';

/**
 * `agent-host.ts --agent NAME --session ID | --resume ID [--model M] [--chat]`: an agent of the user's own as a program on the
 * reef wire. The first of a family is the host of all; the others are carried to it, and are hosts themselves where there is
 * none. With `--chat` the host is the `reef ask` or `reef chat` that somebody talks to it in.
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
// A process that carries bytes is light; one that is a host loads the whole runtime.
const carried = await carry();
if (carried === 'refused') await host();
process.exit(carried === 'deaf' ? DEAF_HOST : 0);

async function carry(): ReturnType<typeof relay> {
  if (values.chat) return toChat();
  return hello.parentId === undefined ? 'refused' : relay(besideDoorOf(hello, hello.parentId), hello, streams);
}

async function toChat(): ReturnType<typeof relay> {
  const carried = await relay(besideDoorOf(hello, hello.jobId), hello, { ...streams, patienceMs: CHAT_MS });
  if (carried !== 'refused') return carried;
  process.stderr.write(
    `Nobody talks to ${hello.agent} in reef ask or reef chat: start native:${hello.agent} instead\n`,
  );
  process.exit(1);
}

async function introduce(): Promise<Hello> {
  const door = env.reefSocket;
  if (door === undefined || values.agent === undefined) {
    throw new ReefError('bad_request', 'An agent runs as a job: reef spawn native:NAME "…"');
  }
  const jobId = basename(dirname(dirname(door)));
  const [job] = (await connect({ socket: door, surface: 'mcp' }).call('status', { id: jobId })).jobs;
  if (!job) throw new ReefError('job_not_found', `there is no job ${jobId}`);
  const { parentId, depth, cwd, keep } = job;
  return {
    ...{ agent: values.agent, jobId, depth, cwd, door, keep, sessionId: values.resume ?? values.session ?? jobId },
    ...(parentId !== undefined && { parentId }),
    ...(values.model !== undefined && { model: values.model }),
  };
}

function besideDoorOf({ door }: Hello, jobId: string): string {
  return join(dirname(dirname(dirname(door))), jobId, 'door', 'host');
}

async function host(): Promise<void> {
  const { AgentHost } = await import('./surfaces/host/agent-host.ts');
  const agents = await AgentHost.open(env, { cwd: hello.cwd, version });
  process.once('SIGTERM', () => void agents.end().finally(() => process.exit(143)));
  await agents.serve(hello, streams);
  await agents.end();
}
