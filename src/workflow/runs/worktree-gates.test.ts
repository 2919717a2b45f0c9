import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { writeFiles } from '../../../test/support/repository.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { AdapterRegistry } from '../../agents/registry.ts';
import { systemClock } from '../../base/clock.ts';
import { createSafeDir } from '../../base/safe-dir.ts';
import { probeCapabilities } from '../../process/capabilities.ts';
import { TrustFile } from '../../runtime/config/trust-file.ts';
import { Store } from '../../store/store.ts';
import { Project } from '../project/project.ts';
import { boundGates } from '../workers/bound-gates.ts';
import { worktreeGates } from './worktree-gates.ts';

const sh = (script: string) => ['/bin/sh', '-c', script];
const JUNIT = `<testsuite>${'<testcase/>'.repeat(2)}</testsuite>`;

async function bench(files: Record<string, string> = {}) {
  const root = temporaryFolder();
  const folder = join(root, 'scratch');
  writeFiles(folder, { 'a.txt': 'a\n' });
  writeFiles(join(root, 'repo'), files);
  const store = new Store(join(root, 'reef.db'));
  onTestFinished(() => store.close());
  const project = new Project({
    root: join(root, 'repo'),
    trust: new TrustFile(join(root, 'trust.json')),
    clock: systemClock,
  });
  const gatesOf = worktreeGates({
    ...{ store, project, clock: systemClock, openDir: createSafeDir, registry: new AdapterRegistry(() => ({})) },
    runGate: boundGates({ capabilities: await probeCapabilities() }),
    setup: async () => [],
    gateEnv: () => ({ PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(':') }),
    settings: () => ({ gates: { test: { command: sh('echo tested; exit 1') } } }),
    redact: (value) => value,
  });
  const judged = async () => {
    const gates = await gatesOf('ONE');
    return Promise.all(gates.map(async ({ gate, run }) => [gate, await run(folder)]));
  };
  return { store, project, judged };
}

verifies('J-30').test(
  'the gates of a run are judged as in the run: by exit code, time limit and number of tests',
  async () => {
    const { store, judged } = await bench();
    const gates = {
      lint: { command: sh('echo "[1]"; exit 1') },
      build: { command: sh('sleep 20') },
      test: { command: sh(`echo '${JUNIT}' > r.xml`) },
    };
    const workers = { RunBuilder: { timeout_s: 1 }, TestRunner: { report: 'r.xml', min_tests: 3 } };
    const doc = { gates, manifest: { workers } };
    store.commit(() => store.runs.insert({ id: 'RUN', worktreeId: 'ONE', state: 'over', doc }));
    expect(await judged()).toEqual([
      ['lint', { passed: false, log: '[\n  1\n]' }],
      ['build', { passed: false, log: expect.stringContaining('ended after 1 s, its limit') }],
      ['test', { passed: false, log: expect.stringContaining('2 tests ran, at least 3 must') }],
    ]);
  },
);

verifies('J-30').test("without a run the project's gates judge, once a person trusts what they run", async () => {
  const { project, judged } = await bench({ 'package.json': '{"scripts":{"build":"true"}}' });
  await expect(judged()).rejects.toMatchObject({ code: 'repo_untrusted' });
  const { items } = await project.trust({ hashes: [] }, { by: 'me', surface: 'cli' });
  await project.trust({ hashes: items.map(({ hash }) => hash) }, { by: 'me', surface: 'cli' });
  const [build, test] = await judged();
  expect([build?.[0], test]).toEqual(['build', ['test', { passed: false, log: 'tested\n' }]]);
});
