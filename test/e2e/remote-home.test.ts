import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';
import { makeWorld, type World } from './harness.ts';

/** A real sshd on loopback is the other machine: its Reef has a home, a daemon and a login shell of its own. */
const REEF = fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url));
const SSHD = '/usr/sbin/sshd';
const hasSshd = existsSync(SSHD);
const needed = verifies('F-00').needs(hasSshd, 'openssh-server is not installed');

let there: World;
let here: { env: NodeJS.ProcessEnv; folder: string };
let network: Network;
let sshd: ChildProcess;
let box: string;

beforeAll(async () => {
  if (!hasSshd) return;
  there = makeWorld();
  there.configure({ timings: { linger: 0 } });
  network = await Network.open();
  sshd = await startSshd(there, network);
  here = makeLaptop(there.root, network.port);
  box = `ssh://box${there.repository}`;
});
afterAll(async () => {
  if (!hasSshd) return;
  network.close(); // ssh ends with its connection
  sshd.kill();
  await there.close();
});

/** The wire between the two: it can be cut, as by a laptop that is closed. */
class Network {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  to = 0;
  isCut = false;

  private constructor() {
    this.#server = createServer((near) => {
      if (this.isCut) {
        near.destroy();
        return;
      }
      const far = dial(this.to, '127.0.0.1');
      for (const [one, other] of [[near, far] as const, [far, near] as const]) {
        this.#open.add(one);
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
        one.pipe(other);
      }
    });
  }

  static async open(): Promise<Network> {
    const network = new Network();
    network.#server.listen(0, '127.0.0.1');
    await once(network.#server, 'listening');
    return network;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.#open) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

const keygen = (file: string) => execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);

async function startSshd(world: World, wire: Network): Promise<ChildProcess> {
  const folder = join(world.root, 'sshd');
  const home = join(world.root, 'user');
  mkdirSync(folder);
  mkdirSync(join(folder, 'bin'));
  keygen(join(folder, 'host'));
  keygen(join(folder, 'key'));
  keygen(join(folder, 'stranger'));
  execFileSync('cp', [join(folder, 'key.pub'), join(folder, 'authorized')]);
  writeFileSync(join(folder, 'bin', 'reef'), `#!/bin/sh\nexec '${process.execPath}' '${REEF}' "$@"\n`);
  chmodSync(join(folder, 'bin', 'reef'), 0o755);
  // As many do it: the PATH is set by the profile of the login shell, which also prints a greeting.
  writeFileSync(
    join(home, '.profile'),
    `PATH='${join(folder, 'bin')}:${world.env.PATH}'\necho 'Welcome to the box.'\n`,
  );
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  wire.to = (probe.address() as AddressInfo).port;
  probe.close();
  const variables = ['HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME'].map((name) => `${name}=${world.env[name]}`);
  writeFileSync(
    join(folder, 'config'),
    [
      `Port ${wire.to}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${join(folder, 'host')}`,
      `AuthorizedKeysFile ${join(folder, 'authorized')}`,
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      `SetEnv ${variables.join(' ')}`,
      '',
    ].join('\n'),
  );
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  const daemon = spawn(SSHD, ['-D', '-e', '-f', join(folder, 'config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  daemon.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  await until('sshd listens', () => said.includes('Server listening') || undefined);
  return daemon;
}

/** A person's own ssh configuration names the box; their `ssh` reads that one. */
function makeLaptop(root: string, port: number): typeof here {
  const folder = join(root, 'laptop');
  mkdirSync(join(folder, 'bin'), { recursive: true });
  writeFileSync(
    join(folder, 'ssh-config'),
    [
      'Host box',
      '  HostName 127.0.0.1',
      `  Port ${port}`,
      `  IdentityFile ${join(root, 'sshd', 'key')}`,
      '  IdentitiesOnly yes',
      `  UserKnownHostsFile ${join(folder, 'known')}`,
      '  StrictHostKeyChecking accept-new',
      '',
    ].join('\n'),
  );
  writeFileSync(join(folder, 'bin', 'ssh'), `#!/bin/sh\nexec /usr/bin/ssh -F '${join(folder, 'ssh-config')}' "$@"\n`);
  chmodSync(join(folder, 'bin', 'ssh'), 0o755);
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: folder,
    XDG_CACHE_HOME: there.env.XDG_CACHE_HOME,
    NO_COLOR: '1',
  };
  return { env, folder };
}

/** In the folder of the laptop, which is no repository. */
function start(...args: string[]) {
  const child = spawn(process.execPath, [REEF, ...args], { cwd: here.folder, env: here.env });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.err += chunk;
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, ...said }));
  return { said, ended };
}

const reef = (...args: string[]) => start(...args).ended;

needed.test('what is typed here happens there, by socket or by a command there', async () => {
  const story = there.script('story', [{ say: 'Hello from the box.' }]);
  const spawned = await reef('--on', box, 'spawn', story, 'Say hello', '--unsafe', '--json');
  expect(spawned).toMatchObject({ code: 0 });
  const { agentId } = JSON.parse(spawned.out);
  const waited = await reef('--on', box, 'wait', agentId, '--until', 'done');
  expect(waited.code).toBe(0);
  expect((await reef('--on', box, 'output', agentId)).out).toContain('Hello from the box.');
  expect(await there.job(agentId)).toMatchObject({ status: 'completed', task: 'Say hello' });

  const daemon = await reef('--on', box, 'daemon', 'status', '--json');
  expect(JSON.parse(daemon.out.trim().split('\n').at(-1) ?? '')).toMatchObject({ running: true, home: there.home.dir });
  const elsewhere = await reef('--on', 'ssh://-oProxyCommand=x/repo', 'ps');
  expect(elsewhere).toMatchObject({ code: 2, err: expect.stringContaining('--on takes ssh://') });
});

needed.test('a follower misses nothing while the network is away, and an answer arrives once', async () => {
  const lines = Array.from({ length: 40 }, (_, at) => ({ say: `line ${at}.` }));
  const story = there.script('long', [
    ...lines,
    { ask: { question: 'Go on?', options: ['Yes', 'No'], as: 'on' } },
    ...lines,
  ]);
  const spawned = await reef('--on', box, 'spawn', story, 'Talk', '--unsafe', '--json');
  const { agentId } = JSON.parse(spawned.out);
  const follower = start('--on', box, 'output', agentId, '--follow', '--json');
  await until('the question is seen', () => follower.said.out.includes('Go on?') || undefined);

  network.cut();
  await until('the loss is told', () => follower.said.err.includes('The connection is lost') || undefined);
  expect(await reef('--on', box, 'ps')).toMatchObject({ code: 69, err: expect.stringContaining('box_unreachable') });
  const { questions } = await there.client.call('inbox', {});
  const question = questions.find(({ jobId }) => jobId === agentId);
  await there.client.call('send', { id: agentId, questionId: question?.questionId, option: ['Yes'] });
  await there.until(agentId, ({ status }) => status === 'completed');

  network.isCut = false;
  const { code, out, err } = await follower.ended;
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('Connected again.') });
  const seen = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).seq);
  const kept = (await there.events(agentId)).map(({ seq }) => seq);
  expect(seen).toEqual(kept);
});

needed.test('a daemon that was killed there is started again by a command here', async () => {
  await reef('--on', box, 'ps');
  await there.killDaemon();
  const spawned = await reef('--on', box, 'spawn', there.script('again', [{ say: 'Again.' }]), 'Again', '--unsafe');
  expect(spawned.code).toBe(0);
});

needed.test('an MCP client here works with the agents there', async () => {
  const client = new Client({ name: 'test', version: '1' });
  const args = [REEF, '--on', box, 'mcp'];
  const env = here.env as Record<string, string>;
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: here.folder }));
  const { structuredContent, content } = await client.callTool({ name: 'status', arguments: {} });
  await client.close();
  expect(structuredContent, JSON.stringify(content)).toBeDefined();
  const { jobs } = structuredContent as { jobs: unknown[] };
  expect(jobs.length).toBeGreaterThan(1);
});

needed.test('what is missing there is said: the key, Reef itself, the repository', async () => {
  const config = join(here.folder, 'ssh-config');
  const strange = join(here.folder, 'strange');
  execFileSync('sh', [
    '-c',
    `sed 's|sshd/key|sshd/stranger|; s|Host box|Host stranger|' '${config}' >> '${strange}'; cat '${strange}' >> '${config}'`,
  ]);
  const locked = await reef('--on', `ssh://stranger${there.repository}`, 'ps');
  expect(locked).toMatchObject({ code: 69, err: expect.stringMatching(/Permission denied.*box_unreachable/s) });

  const program = join(there.root, 'sshd', 'bin', 'reef');
  const second = join(there.root, 'other');
  mkdirSync(second);
  const nowhere = await reef('--on', `ssh://box${second}`, 'ps');
  expect(nowhere).toMatchObject({ code: 2, err: expect.stringContaining('not_a_repository') });
  renameSync(program, `${program}.away`);
  const absent = await reef('--on', `ssh://box${second}`, 'ps');
  renameSync(`${program}.away`, program);
  expect(absent).toMatchObject({ code: 69, err: expect.stringContaining('reef_not_there') });
});
