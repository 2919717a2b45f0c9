import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../support/wait.ts';
import { makeWorld, type World } from './harness.ts';

/** A real sshd on loopback is the other machine: its Reef has a home, a daemon and a login shell of its own. */
export const REEF = fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url));
const SSHD = '/usr/sbin/sshd';
export const hasSshd = existsSync(SSHD);
export const NO_SSHD = 'openssh-server is not installed';

/** The other machine, the one a person sits at, and the wire between them. */
export interface Box {
  /** As `--on` names it. */
  name: string;
  there: World;
  here: Laptop;
  network: Network;
  /** Starts `reef` in the folder of the laptop, which is no repository. */
  start(...args: string[]): Started;
  close(): Promise<void>;
}

interface Laptop {
  env: NodeJS.ProcessEnv;
  folder: string;
}

interface Started {
  child: ChildProcess;
  said: { out: string; err: string };
  ended: Promise<{ code: number; out: string; err: string }>;
}

export async function openBox(): Promise<Box> {
  const there = makeWorld();
  there.configure({ timings: { linger: 0 } });
  const network = await Network.open();
  const sshd = await startSshd(there, network);
  const here = makeLaptop(there, network.port);
  return {
    ...{ name: `ssh://box${there.repository}`, there, here, network },
    start: (...args) => start(here, args),
    async close() {
      network.close(); // ssh ends with its connection
      sshd.kill();
      await there.close();
    },
  };
}

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
function makeLaptop({ root, env: theirs }: World, port: number): Laptop {
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
    XDG_CACHE_HOME: theirs.XDG_CACHE_HOME,
    NO_COLOR: '1',
  };
  return { env, folder };
}

function start({ env, folder }: Laptop, args: readonly string[]): Started {
  const child = spawn(process.execPath, [REEF, ...args], { cwd: folder, env });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.err += chunk;
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, ...said }));
  return { child, said, ended };
}
