import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import type { Decision } from '../../src/protocol/jobs.ts';
import { verifies } from '../support/verifies.ts';
import { SLOW_MS } from './real.ts';
import { RunsRig } from './runs-rig.ts';

/** A program in a sandbox connects to hosts that nobody named. They lie behind the user's own proxy, so that none is looked up. */

const { sandboxesNetwork } = await probeCapabilities();

let rig: RunsRig;
let upstream: Server;
const reached: string[] = [];
beforeAll(async () => {
  upstream = createServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (bytes) => {
        const [, host] = /^CONNECT (\S+):/.exec(String(bytes)) ?? [];
        if (host !== undefined) reached.push(host);
        socket.write(
          `HTTP/1.1 200 OK\r\n${host === undefined ? 'Content-Length: 5\r\n' : ''}\r\n${host === undefined ? 'hello' : ''}`,
        );
      });
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  rig = new RunsRig({ 'a.txt': 'a\n' }, '/var/tmp');
  const address = upstream.address();
  rig.world.env.HTTP_PROXY = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  await rig.reef('ps'); // starts the daemon, with the user's proxy
});
afterAll(async () => {
  upstream.close();
  await rig.close();
});

const get = (host: string) => ({
  shell: [process.execPath, '-e', `fetch('http://${host}/').then((got) => got.text()).then(console.log)`],
});

async function start(name: string, hosts: string[], ...flags: string[]): Promise<string> {
  const agent = rig.world.script(name, [...hosts.map(get), { say: 'Done.' }]);
  return (await rig.json('spawn', agent, name, '--worktree', ...flags)).agentId;
}

async function answers(id: string): Promise<boolean[]> {
  const job = await rig.world.until(id, ({ activity }) => activity === 'ended', SLOW_MS);
  expect(job.status).toBe('completed');
  return (await rig.world.events(id)).flatMap(({ type, payload }) =>
    type === 'progress' && payload.kind === 'tool_result' ? [String(payload.text).includes('hello')] : [],
  );
}

async function decide(id: string, decision: Decision): Promise<string> {
  const { questions } = await rig.world.until(
    id,
    (job) => job.questions.length > 0 || job.activity === 'ended',
    SLOW_MS,
  );
  const [question] = questions;
  expect(question?.options).toEqual(['allow_once', 'allow_session', 'allow_always', 'deny']);
  const { questionId = '', fingerprint = '' } = question ?? {};
  await rig.world.client.call('send', { id, decision, questionId, fingerprint });
  return /connect to (\S+)\?/.exec(question?.question ?? '')?.[1] ?? '';
}

verifies('X-134')
  .needs(sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
  .test(
    'a host that nobody named is asked about once for each answer, also across the death of the daemon, and yes to all is no answer',
    async () => {
      const hosts = ['once.example', 'once.example', 'no.example', 'no.example', 'job.example', 'job.example'];
      const id = await start('asks', [...hosts, 'ever.example'], '--yes');
      await rig.world.until(id, (job) => job.questions.length > 0, SLOW_MS);
      expect(reached).toEqual([]);
      const { out } = await rig.reef('inbox');
      expect(out).toContain('May programs in its sandbox connect to once.example?');
      expect(out).toContain('connections to once.example from a sandbox');
      await rig.world.killDaemon();
      await rig.reef('ps'); // starts the next one
      const asked = [];
      for (const decision of ['allow_once', 'deny', 'allow_session', 'allow_always'] as const)
        asked.push(await decide(id, decision));
      expect(asked).toEqual(['once.example', 'no.example', 'job.example', 'ever.example']);
      expect(await answers(id)).toEqual([true, true, false, false, true, true, true]);

      const next = await start('again', ['ever.example', 'job.example']);
      expect(await decide(next, 'deny')).toBe('job.example');
      expect(await answers(next)).toEqual([true, false]);
      expect(reached).not.toContain('no.example');
    },
    2 * SLOW_MS,
  );

verifies('X-134', 'X-27')
  .needs(sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
  .test(
    'a set-up has nobody to ask: it is refused, its output names the setting, and with the setting it works',
    async () => {
      const fetches = `fetch("http://setup.example/").then((got) => got.text()).then((text) => process.exit(text === "hello" ? 0 : 1))`;
      rig.write({ '.reef/config.yaml': `worktree:\n  setup: ['${process.execPath}', -e, '${fetches}']\n` });
      await rig.trust();
      const setUp = async (title: string) => (await rig.reef('worktree', 'create', title)).err;
      expect(await setUp('refused')).toMatch(
        /setup\.example is not among the hosts that are allowed.*`hosts` of `sandbox`/s,
      );
      rig.world.configure({ timings: { linger: 0 }, reef: { sandbox: { hosts: ['*.example'] } } });
      expect(await setUp('allowed')).not.toContain('setup_failed');
      expect(reached).toContain('setup.example');
    },
    2 * SLOW_MS,
  );
