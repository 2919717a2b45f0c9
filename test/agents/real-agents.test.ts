import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { agentNames, makeAgentHome, realAgent } from './real-agents.ts';

const root = join(import.meta.dirname, '..', '..');

function installer(folder: string, env: Record<string, string>): string[] {
  const file = join(folder, 'scripts', 'install-agents.ts');
  const options = { env: { ...process.env, ...env }, encoding: 'utf8', stdio: 'pipe' } as const;
  return execFileSync(process.execPath, [file, '--if-missing'], options).trim().split('\n');
}

verifies('A-133').test('every agent is pinned to one exact version', () => {
  const { dependencies } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'));
  expect(Object.values(dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([]);
});

for (const name of agentNames) {
  const agent = realAgent(name);
  verifies('A-133')
    .needs(agent.available, `${name}: ${agent.why ?? ''}`)
    .test(`${name} runs and is the version that is pinned`, () => {
      const home = makeAgentHome();
      onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
      const env = agent.env('http://127.0.0.1:9', home);
      const reported = execFileSync(agent.file, ['--version'], { env, encoding: 'utf8', stdio: 'pipe' });
      expect(reported.split(/[\s()]+/)).toContain(agent.version);
    });
}

verifies('A-133').test('the installer leaves real agents out when told to', () => {
  const said = installer(root, { REEF_REAL_AGENTS: '0' });
  expect(said).toEqual(['real agents are left out (REEF_REAL_AGENTS=0): their tests are unproved']);
});

verifies('A-133').test(
  'the installer that reaches no registry says which agents are unproved, and does not fail',
  () => {
    const folder = temporaryFolder();
    const files = ['package.json', 'real-agents.ts', 'sdk-packages.ts'].map((name) => `test/agents/${name}`);
    for (const file of ['scripts/install-agents.ts', ...files]) {
      cpSync(join(root, file), join(folder, file));
    }
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const said = installer(folder, {
      REEF_REAL_AGENTS: '1',
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_cache: join(folder, 'cache'),
    });
    const missing = 'unproved: not installed; run: node scripts/install-agents.ts';
    expect(said).toEqual([
      expect.stringContaining('installing real agents'),
      expect.stringContaining('the installation failed, so tests with real agents are unproved'),
      ...agentNames.map((name) => `${name.padEnd(9)} ${realAgent(name).version.padEnd(8)} ${missing}`),
    ]);
  },
);

verifies('A-132').test('the private home of an agent is not below the temporary folder', () => {
  const home = makeAgentHome();
  onTestFinished(() => rmSync(home, { recursive: true }));
  expect(home.startsWith(tmpdir())).toBe(false);
});
