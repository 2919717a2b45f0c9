import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readEnvironment } from '../../../src/base/env.ts';
import { homeAt } from '../../../src/base/home.ts';
import { keyFile } from '../../../src/surfaces/http/credential.ts';
import { serveSocket } from '../../../src/surfaces/http/server.ts';
import { smallCore } from './small-core.ts';

/**
 * A real program that takes the lock of a home or ends, serves its socket, and stops when told: what the client needs of
 * a daemon, without the rest. Each start leaves a line in `starts`.
 */
const home = process.argv[2] ?? '';
await appendFile(join(home, 'starts'), `${process.pid}\n`);
const lock = join(home, 'lock');
const { socket, person } = homeAt(home, readEnvironment({ XDG_STATE_HOME: home }));
mkdirSync(dirname(socket), { recursive: true });
try {
  const file = openSync(lock, 'wx');
  writeSync(file, String(process.pid));
  closeSync(file);
} catch {
  process.exit(0);
}
const server = await serveSocket({
  path: socket,
  core: smallCore().core,
  caller: { by: 'test' },
  credential: keyFile(person),
  daemon: {
    info: () => ({
      pid: process.pid,
      startTime: '1',
      version: '0.1.0',
      home,
      socket,
      startedAt: new Date().toISOString(),
      jobs: { live: 0, queued: 0 },
      lastSeq: 0,
    }),
    stop: async () => {
      setImmediate(async () => {
        rmSync(lock);
        await server.close();
      });
    },
    attach: () => Promise.reject(new Error('nothing to attach to')),
    door: () => Promise.reject(new Error('there is no door')),
  },
  log: { error: (message) => process.stderr.write(`${message}\n`) },
  audit: () => {},
});
// A test that is killed must not leave it behind.
setTimeout(() => process.exit(1), 60_000).unref();
