import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeWorld } from '../test/e2e/harness.ts';
import { installPackage } from '../test/support/installed-package.ts';
import { median, printRows, type Row, timed } from './measure.ts';

const CHECKOUT = join(import.meta.dirname, '../bin/reef.cjs');
const ROUNDS = 15;
const EMPTY = ['-e', '0'];
const CONFIG = 'model: scripted:one\nclients: [{ type: scripted, models: [{ name: one, script: one.yaml }] }]\n';

interface Command {
  what: string;
  args: string[];
  /** Where it has another configuration than the world's, which is none. */
  configHome?: string;
  most?: number;
}

/** What a person waits for before a command does anything, from a checkout and from the package (U-05, R-156). */
export async function benchStart(): Promise<boolean> {
  using installed = installPackage();
  const world = makeWorld();
  const configHome = join(world.root, 'configured');
  mkdirSync(join(configHome, 'reef'), { recursive: true });
  writeFileSync(join(configHome, 'reef/config.yaml'), CONFIG);
  const ask = ['ask', '--dry-run', 'hello'];
  const demo = [...ask, '--model', 'scripted:demo'];
  const commands: Command[] = [
    { what: 'reef --version', args: [installed.reef, '--version'], most: 2 },
    { what: 'reef status, daemon running', args: [installed.reef, 'status', '--json'], most: 3 },
    { what: 'reef ask --dry-run', args: [installed.reef, ...demo], most: 2 },
    { what: 'reef ask --dry-run, configured', args: [installed.reef, ...ask], configHome },
    { what: 'reef --version, checkout', args: [CHECKOUT, '--version'], most: 2 },
    { what: 'reef status, checkout, daemon running', args: [CHECKOUT, 'status', '--json'], most: 3 },
    { what: 'reef ask --dry-run, checkout', args: [CHECKOUT, ...demo] },
  ];
  const start = ({ args, configHome: XDG_CONFIG_HOME = world.env.XDG_CONFIG_HOME }: Omit<Command, 'what'>) =>
    timed(() =>
      execFileSync(process.execPath, args, {
        cwd: world.repository,
        env: { ...world.env, XDG_CONFIG_HOME },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  try {
    await world.client.call('status', {});
    const empty: number[] = [];
    const times = new Map(commands.map((command) => [command, [] as number[]]));
    for (const command of commands) await start(command); // the compile cache is filled once per version
    for (let round = 0; round < ROUNDS; round++) {
      empty.push(await start({ args: EMPTY }));
      for (const [command, measured] of times) measured.push(await start(command));
    }
    const theirs = median(empty);
    const rows = [...times].map(([{ what, most }, measured]): Row => {
      return { what, ours: median(measured), theirs, unit: 'ms', ...(most !== undefined && { target: { most } }) };
    });
    return printRows('Start of the command line, against an empty node', rows);
  } finally {
    await world.close();
  }
}
