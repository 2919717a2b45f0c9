import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { fixture, jobSpec, newNonce, PATH, survivorsOf, TREE_SIZE, textOf } from '../../test/support/programs.ts';
import { scale } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { eventually, until } from '../../test/support/wait.ts';
import { type Capabilities, probeCapabilities } from './capabilities.ts';
import { readLaunch } from './launch-folder.ts';
import { run } from './run.ts';
import { launchTerminal, openTerminal, type TerminalSpec, type TmuxTerminal } from './terminal.ts';
import { endTree, type JobTree } from './tree.ts';

const capabilities = await probeCapabilities();
const { tmux = 'tmux' } = capabilities;

/** Unproved where there is no tmux. */
const proves: typeof verifies = (...ids) =>
  verifies(...ids).needs(capabilities.tmux !== undefined, 'tmux is not installed');

interface TestTerminal extends JobTree {
  dir: string;
  nonce: string;
  terminal: TmuxTerminal;
  /** What the terminal shows now. */
  shown(): Promise<string>;
  shows(text: string): Promise<string>;
  /** A command of tmux to the server of this terminal. */
  tmux(...args: string[]): Promise<string>;
  code(): Promise<number>;
}

async function start(
  program: string,
  more: Partial<TerminalSpec> = {},
  machine: Capabilities = capabilities,
): Promise<TestTerminal> {
  const spec = { ...jobSpec(program, temporaryFolder()), ready: '\u001b]0;', ...more };
  const identity = await launchTerminal(spec, machine);
  const { dir, tag, nonce } = spec;
  const terminal = openTerminal(dir);
  if (!terminal) throw new Error('no terminal');
  const ask = async (...args: string[]) => {
    const asked = await run({ file: tmux, args: ['-S', 'tmux', ...args], cwd: dir, env: { PATH }, timeoutMs: 10_000 });
    return asked.stdout.toString();
  };
  const shown = () => ask('capture-pane', '-p', '-J', '-t', '%0');
  return {
    identity,
    tag,
    dir,
    nonce,
    terminal,
    shown,
    shows: (text) => eventually(shown, (screen) => screen.includes(text), { what: `it shows ${text}` }),
    tmux: ask,
    code: async () => (await until('the exit is written', () => readLaunch(dir).exit)).code,
  };
}

const end = (job: JobTree) => endTree(job, { graceMs: 5_000 });

/** Processes that have the text in their arguments or their environment. */
function pidsWith(text: string, file: 'cmdline' | 'environ'): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  return pids.filter((pid) => textOf(`/proc/${pid}/${file}`).includes(text));
}

describe('a program in a terminal', () => {
  proves('A-121', 'A-44').test(
    'is told a text by keystrokes, also while somebody scrolls, and its code is kept',
    async () => {
      const job = await start('terminal-agent.sh');
      await until('it is ready', () => job.terminal.isReady());
      const first = await job.terminal.type('the first\nof two lines');
      await job.shows('heard: of two lines');
      await job.tmux('copy-mode', '-t', '%0');
      const second = await job.terminal.type('and another;');
      const screen = await job.shows('heard: and another;');
      await job.terminal.type('exit 7');
      const code = await job.code();
      expect({ first, second, code, isThere: await job.terminal.type('anybody?') }).toEqual({
        first: true,
        second: true,
        code: 7,
        isThere: false,
      });
      expect(screen).toContain('heard: the first\n');
      expect(textOf(join(job.dir, 'screen'))).toContain('heard: and another;');
      expect([textOf(join(job.dir, 'out')), textOf(join(job.dir, 'err'))]).toEqual(['', '']);
    },
  );

  proves('A-121').test('is not ready before it says so', async () => {
    const program = 'echo dialog; read -r _; printf "\\033]0;x\\007"; read -r _';
    const job = await start('sh', { file: 'sh', args: ['-c', program] });
    await job.shows('dialog');
    const before = job.terminal.isReady();
    await job.tmux('send-keys', '-t', '%0', 'Enter');
    await until('it is ready', () => job.terminal.isReady());
    expect({ before, ended: await end(job) }).toEqual({ before: false, ended: gone });
  });

  proves('A-121').test('cannot be typed into by a pasted text that ends its own paste', async () => {
    const program = 'stty raw -echo; printf "\\033[?2004h\\033]0;x\\007"; exec cat -v';
    const job = await start('sh', { file: 'sh', args: ['-c', program] });
    await until('it is ready', () => job.terminal.isReady());
    await job.terminal.type('one\u001b[201~\u0003two\u009b201~\r\nthree\tfour');
    await job.shows('four^[[201~^M');
    await end(job);
    expect(textOf(join(job.dir, 'screen'))).toContain('^[[200~one[201~two201~^Mthree\tfour^[[201~^M');
  });

  proves('A-121', 'X-21').test('gets its arguments literally, in its folder', async () => {
    const folder = temporaryFolder();
    const cwd = join(folder, '#S #{pid} 100%;');
    mkdirSync(cwd);
    const args = ['a b', "it's", '$(touch pwned)', '`id`', '', '#{pid}', '#S', 'end;', '\\;', ';', '-k', '%0', 'ü💥'];
    const job = await start('show', { file: process.execPath, args: [fixture('show-arguments.mjs'), ...args], cwd });
    expect(await shownBy(job)).toEqual({ args, cwd, env: expect.anything() });
    expect(readdirSync(cwd)).toEqual([]);
  });

  proves('A-121', 'X-20').test('has the environment it was given, and no value of it stands in arguments', async () => {
    const secret = `secret-${newNonce()}`;
    const env = { PATH, HOME: '/', KEY: `${secret}\n'$(id)`, REEF_JOB: 'the job we run in' };
    const program = {
      file: 'sh',
      args: ['-c', 'read -r _; exec "$@"', 'sh', process.execPath, fixture('show-arguments.mjs')],
    };
    const job = await start('show', { ...program, env });
    await until('it runs', () => pidsWith(`REEF_JOB=${job.tag}`, 'environ').length > 4);
    const inArguments = pidsWith(secret, 'cmdline');
    await eventually(
      () => job.tmux('send-keys', '-t', '%0', 'Enter'),
      () => job.terminal.isReady() || readLaunch(job.dir).exit !== undefined,
      { what: 'it has read' },
    );
    const { TERM, TERM_PROGRAM, TERM_PROGRAM_VERSION: _, SHLVL, PWD, SHELL, ...seen } = (await shownBy(job)).env;
    expect({ inArguments, seen, TERM, TERM_PROGRAM }).toEqual({
      inArguments: [],
      seen: { ...env, REEF_JOB: job.tag },
      TERM: 'screen-256color',
      TERM_PROGRAM: 'tmux',
    });
  });

  proves('A-121', 'X-44').test('leaves files for its owner alone', async () => {
    const job = await start('terminal-agent.sh');
    await until('it is ready', () => job.terminal.isReady());
    const modes = readdirSync(job.dir).map((name) => [name, (statSync(join(job.dir, name)).mode & 0o777).toString(8)]);
    await end(job);
    expect([...new Set(modes.map(([, mode]) => mode))]).toEqual(['600']);
  });

  proves('A-121').test('is joined by a person, however long the path of its folder is', async () => {
    const folder = temporaryFolder();
    for (const dir of [join(folder, 'short'), join(folder, 'long'.repeat(30), 'job')]) {
      const job = await start('terminal-agent.sh', { dir });
      await until('it is ready', () => job.terminal.isReady());
      const person = await start('person', personAt(job.terminal));
      await person.shows('started with:');
      await person.tmux('send-keys', '-t', '%0', 'by hand', 'Enter');
      await job.shows('heard: by hand');
      await end(person);
      const still = await job.terminal.type('and by Reef');
      await job.shows('heard: and by Reef');
      await end(job);
      expect(still).toBe(true);
    }
  });
});

describe('a terminal leaves nothing behind', () => {
  const endings: { name: string; code: number; ceilingMs: number; end(job: TestTerminal): unknown }[] = [
    { name: 'exit', code: 7, ceilingMs: 60_000, end: (job) => job.terminal.type('7') },
    { name: 'kill', code: 143, ceilingMs: 60_000, end },
    { name: 'ceiling', code: 124, ceilingMs: 1_500, end: () => {} },
    { name: 'pane closed', code: 129, ceilingMs: 60_000, end: (job) => job.tmux('kill-pane', '-t', '%0') },
    { name: 'server ended', code: 129, ceilingMs: 60_000, end: (job) => job.tmux('kill-server') },
    { name: 'server killed', code: 129, ceilingMs: 60_000, end: killServer },
  ];
  const rounds = scale('Q-20', { test: 12, faults: 600, soak: 6_000 });

  proves('A-121', 'Q-20')
    .needs(capabilities.namespaces !== 'none', 'namespaces are forbidden here')
    .test(
      `none of ${rounds} trees outlives its terminal, however that ends`,
      async () => {
        for (let done = 0; done < rounds; done += 3) {
          const batch = [0, 1, 2].map((index) => endings[(done + index) % endings.length]);
          await Promise.all(batch.map((ending) => ending && check(ending)));
        }
      },
      90_000 + rounds * 3_000,
    );

  async function check(ending: (typeof endings)[number]): Promise<void> {
    const job = await start('tree.sh', { ceilingMs: ending.ceilingMs });
    if (ending.name !== 'ceiling') await until('the tree stands', () => survivorsOf(job.nonce).length === TREE_SIZE);
    await ending.end(job);
    const code = await job.code();
    const left = { tree: survivorsOf(job.nonce), tagged: pidsWith(`REEF_JOB=${job.tag}`, 'environ') };
    expect({ name: ending.name, code, left }).toEqual({
      name: ending.name,
      code: ending.code,
      left: { tree: [], tagged: [] },
    });
  }

  proves('A-121', 'Q-24').test(
    'an agent that obeys SIGTERM ends by its own code, one that is deaf is killed',
    async () => {
      const polite = await start('says-goodbye.sh');
      const deaf = await start('deaf.sh');
      await polite.shows('ready');
      await deaf.shows('ready');
      const ended = [await end(polite), await endTree(deaf, { graceMs: 200 })];
      expect({ ended, codes: [await polite.code(), await deaf.code()], left: survivorsOf(deaf.nonce) }).toEqual({
        ended: [gone, gone],
        codes: [5, 137],
        left: [],
      });
      expect(textOf(join(polite.dir, 'screen'))).toContain('goodbye');
    },
  );

  proves('A-121').test('Ctrl-C is for the program alone: what holds the tree together does not hear it', async () => {
    const program = 'trap "echo caught" INT; echo ready; while :; do read -r line && echo "heard: $line"; done';
    const job = await start('sh', { file: 'sh', args: ['-c', program] });
    await job.shows('ready');
    await job.tmux('send-keys', '-t', '%0', 'C-c');
    await job.shows('caught');
    await job.terminal.type('go on');
    await job.shows('heard: go on');
    expect(await end(job)).toEqual(gone);
  });

  proves('A-121', 'Q-20').test('what is opened beside the agent in its terminal ends with it', async () => {
    const job = await start('tree.sh');
    const nonce = newNonce();
    await until('the tree stands', () => survivorsOf(job.nonce).length === TREE_SIZE);
    await job.tmux('new-window', 'sleep', `600.${nonce}`);
    await until('it runs', () => survivorsOf(nonce).length === 1);
    await job.terminal.type('7');
    expect({ code: await job.code(), left: survivorsOf(nonce) }).toEqual({ code: 7, left: [] });
  });

  proves('A-121').test('without namespaces the tag finds what SIGTERM did not', async () => {
    const job = await start('tree.sh', {}, { ...capabilities, namespaces: 'none' });
    await until('the tree stands', () => survivorsOf(job.nonce).length === TREE_SIZE);
    const ended = await end(job);
    const left = survivorsOf(job.nonce);
    for (const pid of left) process.kill(pid, 'SIGKILL'); // the one with a cleared environment: a listed gap
    expect({ ended, left: left.length, code: await job.code() }).toEqual({ ended: gone, left: 1, code: 143 });
  });

  proves('A-121', 'X-23', 'Q-20')
    .needs(capabilities.bubblewrap !== undefined, 'bubblewrap is not installed')
    .test('in a sandbox the program has its terminal and cannot reach the server behind it', async () => {
      const folder = temporaryFolder();
      const home = join(folder, 'home');
      const dir = join(home, 'jobs', '1');
      mkdirSync(home);
      const sandbox = {
        kind: 'bubblewrap',
        writable: [],
        hidden: [home],
        network: 'host',
        scratch: join(home, 's'),
      } as const;
      const program = `echo "reached: $(ls ${dir}/tmux 2>/dev/null)."; test -t 0 && echo "a terminal"; (setsid sleep 600.NONCE &); read -r line; exit "$line"`;
      const nonces = [newNonce(), newNonce()];
      const jobs = await Promise.all(
        nonces.map((nonce, n) =>
          start('sh', {
            dir: join(dir, `${n}`),
            cwd: '/',
            sandbox: { ...sandbox, scratch: join(home, `${n}`) },
            file: 'sh',
            args: ['-c', program.replace('NONCE', nonce)],
          }),
        ),
      );
      const [told, killed] = jobs;
      if (!told || !killed) throw new Error('not started');
      const screen = await told.shows('a terminal');
      await killed.shows('a terminal');
      await told.terminal.type('7');
      const ended = await end(killed);
      expect({ ended, codes: [await told.code(), await killed.code()], left: nonces.flatMap(survivorsOf) }).toEqual({
        ended: gone,
        codes: [7, 143],
        left: [],
      });
      expect(screen).toContain('reached: .');
    });
});

const gone = { survivors: 0, waitedMs: expect.any(Number) };

/** By its tag and name: its own word for its pid is that of its namespace. */
async function killServer(job: TestTerminal): Promise<void> {
  const servers = () =>
    pidsWith(`REEF_JOB=${job.tag}`, 'environ').filter((pid) => textOf(`/proc/${pid}/comm`) === 'tmux: server\n');
  // A child that it has forked bears its name until it runs another program.
  await until('there is one server', () => servers().length === 1);
  for (const pid of servers()) process.kill(Number(pid), 'SIGKILL');
}

/** Another terminal, in which somebody attaches to this one. */
function personAt(terminal: TmuxTerminal): Partial<TerminalSpec> {
  const { file, args } = terminal.attachCommand();
  return { file, args, cwd: '/' };
}

async function shownBy(job: TestTerminal): Promise<{ args: string[]; env: Record<string, string>; cwd: string }> {
  await job.code();
  const shown = textOf(join(job.dir, 'screen'));
  return JSON.parse(shown.slice(shown.indexOf('{'), shown.lastIndexOf('}') + 1));
}
