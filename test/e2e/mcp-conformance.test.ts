import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { mcpOverHttp } from '../../src/surfaces/mcp/over-http.ts';
import { openTestDoor } from '../support/surfaces/door.ts';
import { fixtureServer } from '../support/surfaces/fixture-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { serve } from './door-rig.ts';
import { makeWorld } from './harness.ts';

/** The official conformance suite, as it is, against `reef serve` with the real daemon behind it. */

const ROOT = join(import.meta.dirname, '../..');
const SUITE = join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const SLOW_MS = 240_000;

let opened: { close(): Promise<void> };
afterEach(() => opened.close());

interface Check {
  scenario: string;
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

/** Every scenario that this revision requires of a server or lists beside those, on the wire of this revision. */
async function conform(revision: string, { port, token }: { port: number; token: string }): Promise<Check[]> {
  const out = temporaryFolder();
  const url = `http://127.0.0.1:${port}/mcp`;
  const args = ['--import', join(ROOT, 'test/fixtures/programs/show-token.mjs'), SUITE, 'server', '--url', url];
  const env = { ...process.env, REEF_TEST_TOKEN: token };
  // It fails as a whole when a single scenario does; what it found lies in its folders.
  const said = await new Promise<string>((resolve) =>
    execFile(
      process.execPath,
      [...args, '--requirements', revision, '-o', out],
      { env, maxBuffer: 2 ** 26 },
      (_, text) => resolve(text),
    ),
  );
  expect(said).toContain('=== SUMMARY ===');
  return readdirSync(out).flatMap((folder) => {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT.*$/.exec(folder)?.[1] ?? folder;
    const checks = JSON.parse(readFileSync(join(out, folder, 'checks.json'), 'utf8')) as Omit<Check, 'scenario'>[];
    return checks.map((check) => ({ ...check, scenario }));
  });
}

/** What the page says does not apply. */
function listed(): string[] {
  const page = readFileSync(join(ROOT, 'docs/door.md'), 'utf8');
  const rows = page.split('| scenarios and checks |')[1]?.split('\n').slice(2) ?? [];
  const first = rows.filter((row) => row.startsWith('|')).map((row) => row.split('|')[1] ?? '');
  return first.flatMap((cell) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name));
}

verifies('U-17', 'U-24').test(
  'the official conformance suite passes at /mcp in both eras, but for what the page lists',
  async () => {
    const world = makeWorld();
    opened = world;
    const door = await serve(world);
    const excused = new Set(listed());
    const seen = new Set<string>();
    for (const revision of ['2025-11-25', '2026-07-28']) {
      const checks = await conform(revision, door);
      for (const { scenario, id } of checks) seen.add(scenario).add(id);
      const judged = checks.filter(({ scenario, id }) => !excused.has(scenario) && !excused.has(id));
      const bad = judged.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
      expect(bad.map(({ scenario, id, errorMessage }) => [revision, scenario, id, errorMessage])).toEqual([]);
      const proved = judged.filter(({ id, status }) => status === 'SUCCESS' && id !== 'wire-schema-valid');
      expect([...new Set(proved.map(({ scenario }) => scenario))].sort()).toEqual(PROVED[revision]);
    }
    expect([...excused].filter((name) => !seen.has(name))).toEqual([]);
  },
  SLOW_MS,
);

/** So that a scenario does not end unseen. */
const PROVED: Record<string, string[]> = {
  '2025-11-25': [
    'dns-rebinding-protection',
    'ping',
    'server-initialize',
    'server-session-lifecycle',
    'server-sse-multiple-streams',
    'tools-list',
  ],
  '2026-07-28': [
    'caching',
    'dns-rebinding-protection',
    'http-header-validation',
    'input-required-result-unsupported-methods',
    'input-required-result-validate-input',
    'server-sse-multiple-streams',
    'server-stateless',
    'tools-list',
  ],
};

/** Of a server with tools, resources and prompts of all kinds behind the same door and transport. */
const OF_FIXTURES: Record<string, string[]> = {
  '2025-11-25': [
    ...['logging-set-level', 'completion-complete', 'tools-call-with-logging', 'tools-call-sampling'],
    ...['tools-call-elicitation', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
    ...['resources-subscribe', 'resources-unsubscribe'],
  ],
  '2026-07-28': [
    ...['completion-complete', 'sep-2164-resource-not-found', 'caching'],
    ...['basic-elicitation', 'basic-sampling', 'basic-list-roots', 'request-state', 'multiple-input-requests'].map(
      (what) => `input-required-result-${what}`,
    ),
    ...['multi-round', 'missing-input-response', 'non-tool-request', 'result-type', 'ignore-extra-params'].map(
      (what) => `input-required-result-${what}`,
    ),
  ],
};
const OF_BOTH = [
  ...['simple-text', 'image', 'audio', 'embedded-resource', 'mixed-content', 'error', 'with-progress'].map(
    (what) => `tools-call-${what}`,
  ),
  ...['list', 'read-text', 'read-binary', 'templates-read'].map((what) => `resources-${what}`),
  ...['list', 'get-simple', 'get-with-args', 'get-embedded-resource', 'get-with-image'].map(
    (what) => `prompts-${what}`,
  ),
];

verifies('U-17', 'U-24').test(
  'the transport carries all that Reef itself does not use: logs, progress, questions, resources, prompts',
  async () => {
    const door = await openTestDoor(undefined, { mcp: async () => mcpOverHttp(fixtureServer) });
    opened = door;
    for (const [revision, names] of Object.entries(OF_FIXTURES)) {
      const wanted = [...names, ...OF_BOTH].sort();
      const checks = (await conform(revision, door)).filter(({ scenario }) => wanted.includes(scenario));
      const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
      expect(bad.map(({ scenario, id, errorMessage }) => [revision, scenario, id, errorMessage])).toEqual([]);
      const proved = checks.filter(({ id, status }) => status === 'SUCCESS' && id !== 'wire-schema-valid');
      expect([...new Set(proved.map(({ scenario }) => scenario))].sort()).toEqual(wanted);
    }
  },
  SLOW_MS,
);
