import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Detection } from '../../agents/detect.ts';
import { agentChecks } from './agents.ts';
import { examine } from './finding.ts';

const claude: Detection = {
  ...{ name: 'claude', title: 'Claude Code', program: 'claude', path: '/bin/claude', version: '2.1.325' },
  ...{ tested: '2.1.325', recorded: '2026-11-15', login: 'yes', loginBy: 'run `claude`', install: 'npm i claude' },
  severity: 'ok',
};
const codex: Detection = {
  ...{ name: 'codex', title: 'Codex', program: 'codex', install: 'npm i codex', severity: 'warn' },
  finding: 'codex (Codex) is not on PATH. Install it with: npm i codex',
};
const native: Detection = {
  ...{ name: 'native:coder', title: "Reef's own", path: '/bin/node', login: 'unknown', install: '', severity: 'ok' },
};

const look = (detected: Detection[], { hasModel = false, now = new Date('2026-11-20T00:00:00Z') } = {}) =>
  examine(agentChecks({ detected: Promise.resolve(detected), user: () => ({ wanted: 'claude', hasModel }), now }), {
    fix: false,
  });

verifies('A-57', 'Q-100').test('each agent is shown with program, version, tested version and log-in', async () => {
  expect(await look([claude, codex])).toEqual([
    { check: 'agents', severity: 'ok', what: 'ready: claude', evidence: 'Claude Code' },
    {
      ...{ check: 'claude', severity: 'ok', what: '2.1.325, the version Reef is tested with, log-in found' },
      evidence: '/bin/claude, tested with 2.1.325',
    },
    {
      ...{ check: 'codex', severity: 'ok', what: 'not installed', evidence: 'Codex' },
      fix: { does: 'npm i codex', safe: false },
    },
  ]);
});

verifies('A-57', 'U-06').test('one that is not logged in is a warning that says how', async () => {
  const [agents, found] = await look([{ ...claude, login: 'no' }]);
  expect(agents).toMatchObject({ severity: 'warn', what: 'no agent is ready', fix: { does: 'run `claude` (claude)' } });
  expect(found).toMatchObject({
    ...{ severity: 'warn', what: '2.1.325, the version Reef is tested with, no log-in found' },
    fix: { does: 'run `claude`', safe: false },
  });
});

verifies('U-06').test('one that is not logged in is no problem beside one that is, but for the default', async () => {
  const spare: Detection = {
    ...{ name: 'codex', title: 'Codex', program: 'codex', path: '/bin/codex', version: '0.166.0', tested: '0.166.0' },
    ...{ login: 'no', loginBy: 'codex login', install: 'npm i codex', severity: 'ok' },
  };
  const findings = [...(await look([claude, spare])), ...(await look([{ ...claude, login: 'no' }, spare]))];
  expect(
    findings.map(({ check, severity, what }) => [check, severity, what.replace(/^[\d.]+, .* with, /, '')]),
  ).toEqual([
    ['agents', 'ok', 'ready: claude'],
    ['claude', 'ok', 'log-in found'],
    ['codex', 'ok', 'no log-in found: codex login'],
    ['agents', 'warn', 'no agent is ready'],
    ['claude', 'warn', 'no log-in found'],
    ['codex', 'warn', 'no log-in found'],
  ]);
});

verifies('A-57').test(
  'newer than tested is a note, too old an error, and recordings older than 90 days are told',
  async () => {
    const newer = { ...claude, version: '2.2.0', finding: 'newer than 2.1.325, the version Reef was tested with' };
    expect((await look([newer], { now: new Date('2027-02-14T00:00:00Z') }))[1]).toMatchObject({
      severity: 'ok',
      what: '2.2.0, newer than 2.1.325, the version Reef was tested with, log-in found, tested with recordings of 2026-11-15, over 90 days ago',
    });
    const { path: _, version: __, login: ___, ...unusable } = claude;
    const finding = 'Claude Code 1.0.0 is older than 2.1.197. Update it with: npm i claude';
    const [agents, old] = await look([{ ...unusable, finding, severity: 'error' }]);
    expect([agents?.severity, old]).toMatchObject([
      'warn',
      { severity: 'error', what: finding, fix: { does: 'npm i claude' } },
    ]);
  },
);

verifies('U-06').test(
  'a machine without any agent is told two ways to get one; a model makes Reef’s own ready',
  async () => {
    const { path: _, version: __, login: ___, ...absent } = claude;
    const missing: Detection[] = [{ ...absent, severity: 'warn', finding: 'claude is not on PATH.' }, codex, native];
    expect((await look(missing))[0]).toMatchObject({
      severity: 'warn',
      fix: { does: expect.stringMatching(/^npm i claude \(claude\), or add a model .* \(native:coder\)$/) },
    });
    expect((await look(missing, { hasModel: true }))[0]).toMatchObject({ severity: 'ok', what: 'ready: native:coder' });
  },
);

test('a failure to detect agents is one finding, not a crash', async () => {
  const detected = Promise.reject(new Error('config.yaml:3:1: bad'));
  const findings = await examine(agentChecks({ detected, user: () => ({ wanted: 'claude', hasModel: false }) }), {
    fix: false,
  });
  expect(findings).toMatchObject([{ check: 'agents', severity: 'error', evidence: 'config.yaml:3:1: bad' }]);
});
