import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openSocket } from '../../../test/support/surfaces/socket.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Detection } from '../../agents/detect.ts';
import { readEnvironment } from '../../base/env.ts';
import { connect } from '../client/client.ts';
import { daemonChecks } from './daemon.ts';
import { examine } from './finding.ts';

const dir = temporaryFolder();

function program(folder: string, name: string, text = '#!/bin/sh\n'): string {
  mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, folder, name), text);
  chmodSync(join(dir, folder, name), 0o755);
  return join(dir, folder);
}
const here = program('here', 'claude');
const atLogin = program('login', 'codex');
const mute = join(program('shells', 'mute'), 'mute');

const agent = (name: string, reads: string[] = []): Detection => ({
  ...{ name, title: name, program: name, path: join(dir, name), install: 'x', severity: 'ok', reads },
});

interface Look {
  socket: string;
  agents: Detection[];
  env?: NodeJS.ProcessEnv;
  version?: string;
}

async function look({ socket, agents, env = {}, version = '0.1.0' }: Look) {
  const file = join(dir, 'daemon.json');
  const parts = {
    ...{ client: connect({ socket, surface: 'cli' }), detected: Promise.resolve(agents), version, file },
    // Of this process are PATH and environment of the daemon of these tests.
    env: readEnvironment({ ...process.env, SHELL: mute, ...env }),
  };
  const findings = await examine(daemonChecks(parts), { fix: false });
  return Object.fromEntries(findings.map(({ check, ...rest }) => [check, rest]));
}

const nobody = join(dir, 'none.sock');

verifies('Q-100', 'Q-101').test('no daemon is no trouble', async () => {
  const { daemon, path, environment } = await look({ socket: nobody, agents: [] });
  expect([daemon?.severity, path?.severity, environment]).toEqual(['ok', 'ok', undefined]);
});

verifies('A-83', 'Q-100', 'U-06').test('an agent that this shell finds and the daemon does not is named', async () => {
  const socket = await openSocket();
  const agents = [agent('claude')];
  const PATH = `${here}:${process.env.PATH}`;
  const seen = await look({ socket: socket.path, agents, env: { PATH }, version: '0.2.0' });
  expect(seen).toMatchObject({
    daemon: { severity: 'warn', what: 'runs version 0.1.0; this command is 0.2.0' },
    path: { severity: 'warn', what: 'the daemon does not find claude, but this shell does', fix: { safe: false } },
  });
  expect((await look({ socket: socket.path, agents: [agent('sh')] })).path).toMatchObject({ severity: 'ok' });
  await socket.close();
});

verifies('A-83', 'Q-100').test('an agent that only the login shell finds is named', async () => {
  const says = `#!/bin/sh\nshift 3\nPATH=${atLogin}:/usr/bin:/bin exec sh -c "$1"\n`;
  const SHELL = join(program('shells', 'login', says), 'login');
  const { path } = await look({ socket: nobody, agents: [agent('codex')], env: { SHELL } });
  expect(path).toMatchObject({
    ...{
      severity: 'warn',
      what: 'this shell does not find codex, but your login shell does',
      evidence: `in ${atLogin}`,
    },
    fix: { does: 'use reef from a new terminal', safe: false },
  });
});

verifies('Q-100', 'U-06').test('variables that reach agents and differ are named, without their values', async () => {
  const socket = await openSocket();
  const env = { CODEX_HOME: '/elsewhere', OTHER: 'x' };
  const { environment } = await look({ socket: socket.path, agents: [agent('codex', ['CODEX_HOME'])], env });
  expect(environment).toMatchObject({
    severity: 'warn',
    what: 'the daemon has other values than this shell: CODEX_HOME',
  });
  expect(JSON.stringify(environment)).not.toContain('/elsewhere');
  await socket.close();
});

verifies('Q-103').test(
  'a daemon that takes calls and answers none is named with its pid',
  async () => {
    const path = join(dir, 'silent.sock');
    const server = createServer(() => {}).listen(path);
    writeFileSync(join(dir, 'daemon.json'), '{"pid":4711,"startTime":"1"}\n');
    const { daemon } = await look({ socket: path, agents: [] });
    expect(daemon).toMatchObject({
      ...{ severity: 'error', what: 'does not answer' },
      fix: { does: 'kill -9 4711; jobs keep running, and the next command starts another daemon' },
    });
    server.close();
  },
  20_000,
);
