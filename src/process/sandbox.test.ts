import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  fixture,
  jobSpec,
  newNonce,
  PATH,
  ring,
  runJob,
  startJob,
  startLauncher,
  startTree,
  survivorsOf,
  TREE_SIZE,
  textOf,
} from '../../test/support/programs.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { probeCapabilities } from './capabilities.ts';
import { contained } from './chain.ts';
import { unguard } from './guarded.ts';
import { launch } from './launch.ts';
import { readLaunch } from './launch-folder.ts';
import { run } from './run.ts';
import { SANDBOX_BASE, type SandboxSpec, sandboxOptions } from './sandbox.ts';
import { endTree } from './tree.ts';

const capabilities = await probeCapabilities();

function makeRoom(folder: string) {
  for (const name of ['home/worktree/.git/objects', 'home/jobs', 'state', 'other', 'run']) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  for (const name of ['home/token', 'other/file', 'netrc', 'home/worktree/.git/config']) {
    writeFileSync(join(folder, name), 'secret');
  }
  const at = (name: string) => join(folder, name);
  const spec: SandboxSpec = {
    kind: 'bubblewrap',
    writable: [at('home/worktree'), at('state'), at('home/worktree/.git/objects')],
    readOnly: [at('home/worktree/.git')],
    hidden: [at('home'), at('run'), at('netrc'), at('absent'), at('home/worktree/.envrc')],
    network: 'none',
    scratch: at('scratch'),
  };
  return { at, spec };
}

test('mounts come from the outside in, so that the longer path decides', () => {
  const folder = temporaryFolder();
  const { at, spec } = makeRoom(folder);
  symlinkSync(at('netrc'), at('link'));
  const { options } = sandboxOptions({ ...spec, hidden: [...spec.hidden, at('link')] }, at('home/worktree'));
  expect(options).toEqual([
    ...SANDBOX_BASE,
    ...['--seccomp', '9'],
    '--unshare-net',
    ...['--bind', at('scratch/tmp'), '/tmp'],
    ...['--tmpfs', at('run')],
    ...['--tmpfs', at('home')],
    ...['--bind', at('state'), at('state')],
    ...['--ro-bind', at('scratch/empty'), at('netrc')], // the link to it is resolved
    ...['--bind', at('home/worktree'), at('home/worktree')],
    ...['--ro-bind', at('home/worktree/.git'), at('home/worktree/.git')],
    ...['--ro-bind', at('scratch/empty'), at('home/worktree/.envrc')],
    ...['--bind', at('home/worktree/.git/objects'), at('home/worktree/.git/objects')],
    ...['--remount-ro', at('home'), '--remount-ro', at('run')],
    ...['--setenv', 'TMPDIR', '/tmp', '--chdir', at('home/worktree')],
  ]);
});

verifies('X-25').test(
  'what is guarded is read-only where it is, an empty folder where it is not, and left alone elsewhere',
  () => {
    const folder = temporaryFolder();
    const { at, spec } = makeRoom(folder);
    const names = ['home/worktree/.git', 'home/worktree/.claude', 'home/worktree/.vscode', 'other/.codex'];
    mkdirSync(at('home/worktree/.vscode'));
    const { options } = sandboxOptions({ ...spec, guarded: names.map(at) }, at('home/worktree'));
    const about = (name: string) => options.flatMap((each, n) => (each === at(name) ? [options[n - 1]] : []));
    expect(names.map(about)).toEqual([
      ['--ro-bind', at('home/worktree/.git'), '--ro-bind', at('home/worktree/.git')],
      ['--tmpfs', '--remount-ro'],
      ['--tmpfs', '--remount-ro'],
      [],
    ]);
    writeFileSync(at('home/worktree/.claude'), 'the user made it meanwhile');
    unguard(names.map(at));
    expect(readdirSync(at('home/worktree')).sort()).toEqual(['.claude', '.git']);
  },
);

test('a writable folder that does not exist is refused before anything starts', () => {
  const folder = temporaryFolder();
  const { at, spec } = makeRoom(folder);
  expect(() => sandboxOptions({ ...spec, writable: [at('nowhere')] }, '/')).toThrow(at('nowhere'));
});

verifies('X-22').test('without bubblewrap a sandboxed launch is refused, not run bare', async () => {
  const folder = temporaryFolder();
  const { spec: sandbox } = makeRoom(folder);
  const starting = launch(jobSpec('tree.sh', folder, { sandbox }), { ...capabilities, bubblewrap: undefined });
  await expect(starting).rejects.toMatchObject({ code: 'sandbox_unavailable' });
});

describe('in a real sandbox', () => {
  const verifiesInside = (...ids: Parameters<typeof verifies>) =>
    verifies(...ids).needs(capabilities.bubblewrap !== undefined, 'bubblewrap is missing or not allowed to work');

  verifiesInside('X-23').test('only what is writable can be written, and what is hidden is not there', async () => {
    const folder = temporaryFolder('/var/tmp'); // not in /tmp, of which a sandbox has one of its own
    const { at, spec: sandbox } = makeRoom(folder);
    const tried = await inSandbox(folder, sandbox, [
      ...['home/worktree/new', 'state/new', 'home/worktree/.git/objects/new'].map((name) => `echo x >${at(name)}`),
      'echo x >/tmp/new',
      ...['other/new', 'other/file', 'home/new', 'home/worktree/.git/config', 'netrc', 'run/new'].map(
        (name) => `echo x >${at(name)}`,
      ),
      `grep -q secret ${at('home/token')}`,
      `grep -q secret ${at('netrc')}`,
      `grep -q secret ${at('other/file')}`,
      `cat ${at('netrc')}`,
      `umount ${at('home')}`,
      `kill -0 ${process.pid}`,
    ]);
    expect(tried).toBe('yes yes yes yes | no no no no no no | no no yes yes no no'.replaceAll(' |', ''));
    expect(readdirSync(at('scratch/tmp'))).toEqual(['new']);
  });

  verifiesInside('X-25').test(
    'where a guarded link leads is closed too, and the way there cannot be moved',
    async () => {
      const folder = temporaryFolder('/var/tmp');
      const { at, spec } = makeRoom(folder);
      const inTree = (name: string) => at(`home/worktree/${name}`);
      mkdirSync(inTree('conf/claude'), { recursive: true });
      writeFileSync(inTree('conf/claude/settings.json'), 'secret');
      const links = { '.claude': 'conf/claude', '.codex': 'none/codex', '.vscode': '../../other', '.envrc': '.envrc' };
      for (const [name, to] of Object.entries(links)) symlinkSync(to, inTree(name));
      const guarded = [...Object.keys(links), '.mcp.json'].map(inTree);
      const tried = await inSandbox(folder, { ...spec, hidden: [at('home')], guarded }, [
        'echo x >.claude/settings.json',
        'echo x >conf/claude/new',
        'mv conf moved',
        'mkdir -p none/codex',
        'echo x >.codex/x',
        'echo x >.vscode/x',
        'echo x >.mcp.json',
        'echo x >conf/beside',
        'echo x >new',
      ]);
      unguard(guarded);
      expect({ tried, left: readdirSync(inTree('.')).sort() }).toEqual({
        tried: 'no no no no no no no yes yes',
        left: [...Object.keys(links), '.git', 'conf', 'new'].sort(),
      });
    },
  );

  verifiesInside('X-135').test('a private copy stands where the real one lies, which stays as it is', async () => {
    const folder = temporaryFolder('/var/tmp');
    const { at, spec } = makeRoom(folder);
    mkdirSync(at('copy'));
    for (const name of ['copy/settings', 'copy.json']) writeFileSync(at(name), 'copied');
    symlinkSync(at('other'), at('home/elsewhere')); // a hidden folder shows no link either
    const sandbox = {
      ...spec,
      binds: [
        { from: at('copy'), to: at('home/.agent') },
        { from: at('copy.json'), to: at('home/elsewhere/agent.json') },
        { from: at('copy.json'), to: at('other/file') },
      ],
    };
    const tried = await inSandbox(folder, sandbox, [
      `grep -q copied ${at('home/.agent/settings')}`,
      `grep -q copied ${at('home/elsewhere/agent.json')}`,
      `grep -q copied ${at('other/file')}`,
      `echo planted >${at('home/.agent/hook')}`,
      `echo planted >${at('other/file')}`,
    ]);
    const texts = ['copy/hook', 'copy.json', 'other/file', 'home/.agent/hook'].map((name) => textOf(at(name)).trim());
    expect({ tried, texts }).toEqual({ tried: 'yes yes yes yes yes', texts: ['planted', 'planted', 'secret', ''] });
  });

  verifiesInside('X-23').test(
    'sockets in hidden folders and hidden sockets are closed doors, open ones are open',
    async () => {
      const folder = temporaryFolder();
      const { at, spec } = makeRoom(folder);
      const doors = [at('run/bus'), at('docker.sock'), at('state/open')];
      const servers = await Promise.all(doors.map(listen));
      const connect = `const s = require('node:net').connect(process.argv[1]); s.on('connect', () => process.exit(0));
      s.on('error', () => process.exit(1));`;
      const script = join(folder, 'state', 'connect.cjs');
      writeFileSync(script, connect.replace('argv[1]', 'argv[2]'));
      // Node itself may lie in /tmp, which is private.
      const sandbox = { ...spec, hidden: [...spec.hidden, at('docker.sock')], readOnly: [dirname(process.execPath)] };
      const tried = await inSandbox(
        folder,
        sandbox,
        doors.map((door) => `${process.execPath} ${script} ${door}`),
      );
      for (const server of servers) server.close();
      expect(tried).toBe('no no yes');
    },
  );

  verifiesInside('X-23').test('the network is there or not as asked', async () => {
    const folder = temporaryFolder();
    const { spec } = makeRoom(folder);
    const seen = [];
    for (const network of ['none', 'host'] as const) {
      const job = { ...spec, network, scratch: join(folder, network) };
      seen.push(await inSandbox(folder, job, ['[ "$(wc -l </proc/net/dev)" -gt 3 ]']));
    }
    const hasNetwork = textOf('/proc/net/dev').trim().split('\n').length > 3;
    expect(seen).toEqual(['no', hasNetwork ? 'yes' : 'no']);
  });

  verifiesInside('Q-20', 'Q-24').test('a sandboxed tree gets its SIGTERM, and nothing of it is left', async () => {
    const folder = temporaryFolder();
    const sandbox = seeingFixtures(makeRoom(folder).spec);
    const polite = await startJob('says-goodbye.sh', capabilities, { sandbox, cwd: '/' });
    const deaf = await startJob('deaf.sh', capabilities, { sandbox, cwd: '/' });
    const tree = await startTree(capabilities, { sandbox, cwd: '/' });
    const timedOut = await startTree(capabilities, { sandbox, cwd: '/' });
    for (const job of [polite, tree]) await endTree(job, { graceMs: 5_000 });
    await endTree(deaf, { graceMs: 200 });
    ring(timedOut);
    await until('the ceiling', () => readLaunch(timedOut.dir).exit);
    const jobs = [polite, deaf, tree, timedOut];
    expect({
      said: polite.said(),
      codes: jobs.map((job) => readLaunch(job.dir).exit?.code),
      left: jobs.flatMap((job) => survivorsOf(job.nonce)),
    }).toEqual({ said: 'ready\ngoodbye\n', codes: [5, 137, 143, 124], left: [] });
  });

  verifiesInside('Q-21').test('a bound program in a sandbox is gone when its daemon is killed', async () => {
    const folder = temporaryFolder();
    const sandbox = seeingFixtures(makeRoom(folder).spec);
    const nonce = newNonce();
    const tree = { file: fixture('tree.sh'), args: [nonce], cwd: '/', env: { PATH }, tag: `bound-${nonce}`, sandbox };
    const launcher = startLauncher('bound', tree, capabilities);
    await until('the tree stands', () => survivorsOf(nonce).length === TREE_SIZE);
    launcher.kill('SIGKILL');
    await until('the tree is gone', () => survivorsOf(nonce).length === 0);
  });
});

/** Also where the project itself lies in /tmp. */
function seeingFixtures(spec: SandboxSpec): SandboxSpec {
  return { ...spec, readOnly: [...(spec.readOnly ?? []), fixture('.')] };
}

/** Runs each command in one sandbox and says which succeeded. */
async function inSandbox(folder: string, sandbox: SandboxSpec, commands: string[]): Promise<string> {
  const script = commands.map((command) => `{ ${command}; } 2>/dev/null && echo yes || echo no`).join('\n');
  const spec = jobSpec('tree.sh', folder, {
    dir: join(folder, 'home/jobs', basename(sandbox.scratch)),
    file: 'sh',
    args: ['-c', script],
    cwd: join(folder, 'home/worktree'),
    sandbox,
  });
  const { out, err } = await runJob(spec, capabilities);
  return out.trim().replaceAll('\n', ' ') || err;
}

function listen(path: string): Promise<ReturnType<typeof createServer>> {
  const server = createServer((socket) => socket.end());
  return new Promise((resolve) => server.listen(path, () => resolve(server)));
}

verifies('X-134')
  .needs(
    capabilities.bubblewrap !== undefined && capabilities.prlimit !== undefined,
    'bubblewrap or prlimit is missing',
  )
  .test('a program in a sandbox has the limits it was given, and cannot raise them', async () => {
    const folder = temporaryFolder();
    const { at, spec } = makeRoom(folder);
    const limits = { processes: 123, memoryMb: 200 };
    const look = (what: string) => `grep -E "^Max ${what} " /proc/self/limits`;
    const grab = (megabytes: number) =>
      `perl -e 'my $x = "x" x (${megabytes} * 1024 * 1024); print "got\n"' 2>/dev/null || echo refused`;
    const lines = [
      look('processes'),
      look('core file size'),
      'prlimit --data=unlimited true || echo refused',
      grab(50),
      grab(400),
    ];
    const sandbox = { ...spec, limits };
    const [file = '', ...args] = contained(
      { file: '/bin/sh', args: ['-c', lines.join(';')], cwd: at('home/worktree'), sandbox },
      capabilities,
    );
    const { stdout } = await run({ file, args, cwd: folder, env: { PATH }, timeoutMs: 30_000, maxBytes: 10_000 });
    expect(stdout.toString().replace(/ +/g, ' ').trim().split('\n')).toEqual([
      'Max processes 123 123 processes ',
      'Max core file size 0 0 bytes ',
      'refused',
      'got',
      'refused',
    ]);
  });
