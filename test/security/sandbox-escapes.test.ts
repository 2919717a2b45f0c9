import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { SLOW_MS } from '../e2e/real.ts';
import { RunsRig } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** What an agent that was misled tries from inside the sandbox that `reef spawn` makes when nobody says anything. */

const { bubblewrap, sandboxesNetwork } = await probeCapabilities();
const boxed = (...ids: Parameters<typeof verifies>) =>
  verifies(...ids).needs(bubblewrap !== undefined, 'bubblewrap is not installed or not allowed to work');

const CANARY = 'canary-c0ffee';
const SECRETS = [
  '.ssh/id_ed25519',
  '.aws/credentials',
  '.netrc',
  '.npmrc',
  '.claude/settings.json',
  '.bashrc',
  'diary',
];

let rig: RunsRig;
let servers: Server[];
let sleeper: ReturnType<typeof spawn>;

beforeAll(async () => {
  // In the sandbox /tmp is another folder: what lies there would be hidden by that alone.
  rig = new RunsRig({ 'a.txt': 'a\n' }, '/var/tmp');
  for (const name of SECRETS) plant(home(name));
  plant(join(rig.world.root, 'config', 'reef', 'vault.reef.json'));
  plant(join(rig.world.root, 'runtime', 'file'));
  mkdirSync(home('bin'), { recursive: true });
  rig.world.env.XDG_RUNTIME_DIR = join(rig.world.root, 'runtime');
  servers = await Promise.all(['bus', 'ssh-agent', 'docker.sock'].map((name) => listen(runtime(name))));
  sleeper = spawn('sleep', ['600'], { stdio: 'ignore' });
});
afterAll(async () => {
  sleeper.kill('SIGKILL');
  for (const server of servers) server.close();
  await rig.close();
});

const home = (name: string) => join(rig.world.root, 'user', name);
const runtime = (name: string) => join(rig.world.root, 'runtime', name);

function plant(path: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `${CANARY}\n`);
}

function listen(path: string | number): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => {}).end(CANARY));
  return new Promise((resolve) => server.listen(path, () => resolve(server)));
}

/** Runs each line as one tool call of an agent that was started as a person would, and says how each of them ended. */
async function attempt(name: string, lines: readonly string[]) {
  const shells = lines.map((line) => ({ shell: ['bash', '-c', `${line}\necho "exit $?"`] }));
  const agent = rig.world.script(name, [...shells, { say: 'Done.' }]);
  const { agentId, sandbox } = await rig.json('spawn', agent, name, '--worktree');
  const job = await rig.world.until(agentId, ({ activity }) => activity === 'ended', 120_000);
  expect([job.status, sandbox]).toEqual(['completed', 'bubblewrap']);
  const said = (await rig.world.events(agentId)).flatMap(({ type, payload }) =>
    type === 'progress' && payload.kind === 'tool_result' ? [String(payload.text)] : [],
  );
  expect(said).toHaveLength(lines.length);
  const worked = said.flatMap((text, n) => (/exit 0\s*$/.test(text) || text.includes(CANARY) ? [lines[n]] : []));
  return { job, said, worked };
}

const connect = (path: string) =>
  `timeout 5 perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => shift)->getline // die' '${path}'`;
const call = (...numbers: (number | string)[]) => `perl -e 'exit(syscall(${numbers.join(', ')}) < 0 ? 1 : 0)'`;

boxed('X-23', 'X-134').test(
  'keys, settings, Reef and other programs cannot be read, and their sockets not be reached',
  async () => {
    const { home: reef, root, repository } = rig.world;
    const own = [
      ...SECRETS.map((name) => `grep . '${home(name)}'`),
      'cat ~/.ssh/id_ed25519',
      `cat '${join(root, 'config', 'reef', 'vault.reef.json')}'`,
      `cat '${join(root, 'config', 'reef', 'config.yaml')}'`,
      `cat '${reef.database}' | head -c 1`,
      `cat '${reef.snapshot}'`,
      `cat '${join(repository, 'a.txt')}'`,
      `cat '${runtime('file')}'`,
      'cat /etc/shadow | grep .',
      'cat /root/.bashrc',
      'ls -A /home | grep .',
      'ls -A /run | grep .',
      `cat /proc/${process.pid}/environ`,
      `ls -A /proc/1/root${home('.ssh')} | grep .`,
      ...['bus', 'ssh-agent', 'docker.sock'].map((name) => connect(runtime(name))),
      ...[reef.socket, '/var/run/docker.sock', '/run/dbus/system_bus_socket', '/tmp/.X11-unix/X0'].map(connect),
    ];
    const { worked } = await attempt('reads', own);
    expect(worked.map((line) => line?.replaceAll(root, ''))).toEqual([]);
  },
  SLOW_MS,
);

boxed('X-24', 'X-25', 'X-114', 'X-134').test(
  'nothing outside its worktree can be written, and nothing in it that other programs act on',
  async () => {
    const other = await rig.world.client.call('worktree_create', { title: 'other', plan: ['other.txt'] });
    const { repository, root } = rig.world;
    const before = [rig.git('show-ref'), rig.git('config', '--local', '--list')];
    const own = [
      `echo x >> '${join(repository, 'a.txt')}'`,
      `echo x > '${join(repository, '.git', 'hooks', 'pre-commit')}'`,
      `echo x >> '${join(repository, '.git', 'config')}'`,
      'git config core.fsmonitor /tmp/x',
      'git update-ref refs/heads/main HEAD~0 $(git hash-object -w a.txt)',
      'git branch stolen',
      `echo x > '${join(other.path ?? '', 'x')}'`,
      'echo x > .git',
      'rm -f .git',
      ...['.reef/x', '.claude/x', '.codex/x', '.vscode/x', '.envrc', '.mcp.json', '.gitmodules'].map(
        (name) => `echo x > ${name}`,
      ),
      'echo x > /etc/profile.d/x.sh',
      'echo x > /usr/local/bin/git',
      'echo x > "$(command -v node)"',
      'echo x > /var/tmp/x',
      `echo x > '${join(root, 'planted')}'`,
    ];
    const { worked, job } = await attempt('writes', own);
    // These it may write, and nobody else ever sees them.
    const scribbled = await attempt('scribbles', [
      `echo x > '${home('.bashrc')}'; echo x > ~/.gitconfig; mkdir -p ~/.claude ~/bin; echo x > ~/.claude/settings.json; echo x > ~/bin/git; echo x > /tmp/planted-by-an-agent`,
    ]);
    expect(scribbled.said).toHaveLength(1);
    const left = [
      ...SECRETS.map((name) => execFileSync('cat', [home(name)]).toString()),
      ...readdirSync(home('bin')),
      existsSync(home('.gitconfig')),
      existsSync('/tmp/planted-by-an-agent'),
    ];
    expect({ worked, left }).toEqual({ worked: [], left: [...SECRETS.map(() => `${CANARY}\n`), false, false] });
    expect([rig.git('show-ref', 'refs/heads/main').length > 0, rig.git('config', '--local', '--list')]).toEqual([
      true,
      before[1],
    ]);
    expect(rig.git('branch', '--list', 'stolen')).toBe('');
    expect(readdirSync(job.cwd).sort()).toEqual(['.git', 'a.txt']);
  },
  SLOW_MS,
);

boxed('X-134').test(
  'it cannot make namespaces or mounts, reach processes outside, use keys of the user, or leave a process behind',
  async () => {
    const own = [
      'unshare -U true',
      'unshare -Ur mount -t tmpfs none /mnt',
      'mount -t tmpfs none /mnt',
      'umount /var/tmp',
      'umount -l /proc',
      'chroot / true',
      'nsenter -t 1 -m true',
      ...(process.arch === 'x64'
        ? [
            call(250, 0, -3, 1), // keyctl: the session's keys
            call(272, 0x10000000), // unshare
            call(425, 1, 0), // io_uring
            call(321, 0, 0, 0), // bpf
            call(298, 0, 0, 0, 0, 0), // perf
            call(56, 0x10000011, 0, 0, 0, 0), // clone with a user namespace
          ]
        : []),
      `perl -e 'my $c = "x"; exit(ioctl(STDIN, 0x5412, $c) ? 0 : 1)'`,
      `kill -0 ${sleeper.pid}`,
      `kill -9 ${process.pid}`,
      `cat /proc/${sleeper.pid}/cmdline`,
      // As root these are writable without any capability; what is written is what stands there.
      ...['kernel/core_pattern', 'kernel/modprobe', 'fs/suid_dumpable'].map(
        (name) => `cat /proc/sys/${name} > /tmp/now; cat /tmp/now > /proc/sys/${name}`,
      ),
      'for f in /proc/irq/*/smp_affinity; do cat $f > /tmp/now && cat /tmp/now > $f && exit 0; done; false',
      'cat /sys/kernel/uevent_helper > /tmp/now; cat /tmp/now > /sys/kernel/uevent_helper',
      'echo c > /proc/sysrq-trigger',
      'cat /dev/mem',
      'ls /dev/sda /dev/vda /dev/nvme0n1',
      'mknod /tmp/disk b 254 0',
      'cp /bin/sh /tmp/sh && chmod 4755 /tmp/sh && /tmp/sh -p -c "mount -t tmpfs none /mnt"',
    ];
    const { worked } = await attempt('climbs', own);
    expect(worked).toEqual([]);
    const mark = `6${Date.now() % 1_000_000}`;
    await attempt('stays', [`setsid sh -c 'exec sleep ${mark}' >/dev/null 2>&1 & false`]);
    expect(execFileSync('ps', ['-eo', 'args']).toString()).not.toContain(`sleep ${mark}`);
    expect(sleeper.exitCode).toBe(null);
  },
  SLOW_MS,
);

/** Of advisories about tools that judged a command by its text. Each wants to write or read what it must not. */
boxed('X-58', 'X-125').test(
  'what fooled rules over shell text does nothing here, though all is allowed',
  async () => {
    const target = join(rig.world.root, 'pwned');
    const disguised = [
      `echo "\\"; touch '${target}' ; echo \\""`,
      `echo $(touch '${target}')`,
      `echo "\`touch '${target}'\`"`,
      `rg --pre 'touch ${target}' . a.txt`,
      `find . -maxdepth 0 -exec touch '${target}' ';'`,
      `find . -maxdepth 0 -fprint '${target}'`,
      `sed -n 'w ${target}' a.txt`,
      `sed '1e touch ${target}' a.txt`,
      `git -c core.pager='touch ${target}' --paginate log -1`,
      `git -c alias.x='!touch ${target}' x`,
      `git diff --no-index --output='${target}' /dev/null a.txt`,
      `printf -v 'a[$(touch ${target})]' x`,
      `test -v 'a[$(touch ${target})]'`,
      `sort -o '${target}' a.txt`,
      `tee '${target}' < a.txt`,
      `awk 'BEGIN { system("touch ${target}") }'`,
      `xargs -I{} touch '${target}' < a.txt`,
      `env -S "touch ${target}"`,
      `man -P 'touch ${target}' ls`,
      `cat <<< "$(cat '${home('.ssh/id_ed25519')}')"`,
      `IFS=,; c=touch,${target}; $c`,
      `eval "$(echo dG91Y2gg | base64 -d) '${target}'"`,
    ];
    const { said } = await attempt('disguises', disguised);
    expect([existsSync(target), said.filter((text) => text.includes(CANARY))]).toEqual([false, []]);
  },
  SLOW_MS,
);

boxed('X-134', 'X-23')
  .needs(sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
  .test(
    'services of the machine, its networks and other jobs cannot be reached, nor names be looked up or packets be made',
    async () => {
      const web = await listen(0);
      const { port } = web.address() as AddressInfo;
      const abstract = `reef-escape-${process.pid}`;
      const others = join(rig.world.home.sockets, 'other-job');
      mkdirSync(others, { recursive: true });
      servers.push(web, await listen(`\0${abstract}`), await listen(join(others, 'net')));
      const lan = Object.values(networkInterfaces()).flatMap((each) =>
        (each ?? []).filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address),
      );
      const tcp = (host: string, to = port) =>
        `timeout 5 perl -MIO::Socket::IP -e '$s = IO::Socket::IP->new(PeerAddr => "${host}:${to}") or die; print $s $ARGV[0]; print <$s>' "$(printf 'GET / HTTP/1.0\\r\\n\\r\\n')"`;
      // A proxy that refuses answers too, so only the word behind it counts.
      const through = (head: string) =>
        `timeout 5 perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new($ENV{HTTP_PROXY} =~ m{//(.*)}) or die; print $s "${head}\\r\\n\\r\\n"; $all = join "", <$s>; print $all; exit($all =~ m{^HTTP/1.1 200} ? 0 : 1)'`;
      const own = [
        ...['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', ...lan].flatMap((host) => [
          tcp(host),
          through(`CONNECT ${host}:${port} HTTP/1.1`),
          through(`GET http://${host}:${port}/ HTTP/1.1`),
        ]),
        ...['127.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost.'].map((host) =>
          through(`CONNECT ${host}:${port} HTTP/1.1`),
        ),
        ...['169.254.169.254', '100.100.100.200', 'fd00:ec2::254'].map((host) => tcp(host, 80)),
        through('GET http://169.254.169.254/latest/meta-data/ HTTP/1.1'),
        through('CONNECT unlisted.example:443 HTTP/1.1'),
        through('CONNECT github.com:22 HTTP/1.1'),
        `perl -MSocket -e 'socket(S, AF_INET, SOCK_RAW, 1) or die'`,
        `perl -MSocket -e 'socket(S, 17, SOCK_RAW, 768) or die'`,
        `perl -e 'gethostbyname("example.com") or die'`,
        `timeout 5 perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Proto => "udp", PeerAddr => "1.1.1.1:53") or die; send($s, "x", 0) or die'`,
        `timeout 5 perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack("Sa*", AF_UNIX, "\\0${abstract}")) or die; print <S>'`,
        connect(join(others, 'net')),
        `ls -A '${rig.world.home.sockets}' | grep -v "^$(basename "$(dirname "$REEF_SOCKET")")$"`,
        `cat '${join(rig.world.home.dir, 'jobs')}'/*/sandbox/egress*`,
        'ip link set lo down',
        'grep -v "lo:" /proc/net/dev | grep :',
      ];
      const { worked, said } = await attempt('calls', own);
      expect(worked.map((line) => [line, said[own.indexOf(line ?? '')]])).toEqual([]);
    },
    SLOW_MS,
  );
