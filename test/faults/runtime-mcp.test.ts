import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { lineOf, newNonce, pidsNaming, survivorsOf } from '../support/programs.ts';
import { launchedSpec } from '../support/runtime/mcp.ts';
import { scale } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';

const HOST = fileURLToPath(new URL('../support/runtime/mcp-host.ts', import.meta.url));
const SERVERS = 3;

async function startHost(nonce: string, ...mode: string[]): Promise<ChildProcess> {
  const specs = Array.from({ length: SERVERS }, (_, n) => launchedSpec(`server-${n}`, nonce, [nonce]));
  const host = spawn(process.execPath, [HOST, JSON.stringify(specs), ...mode], { stdio: ['pipe', 'pipe', 'inherit'] });
  expect(await lineOf(host, 0)).toBe(`ready ${SERVERS}`);
  await until('all have their siblings', () => survivorsOf(nonce).length === 2 * SERVERS);
  return host;
}

/** The launcher, its sleeping children, and the server, which carries the nonce as an argument. */
const leftOf = (nonce: string) => [...survivorsOf(nonce), ...pidsNaming(nonce)];

const endings: Record<string, { mode: string[]; end(host: ChildProcess): void; withinMs: number }> = {
  'the chat ends': { mode: ['--exit'], end: (host) => host.stdin?.end(), withinMs: 0 },
  'a SIGTERM is heard': { mode: ['--exit'], end: (host) => host.kill('SIGTERM'), withinMs: 0 },
  'a SIGTERM is not heard': { mode: [], end: (host) => host.kill('SIGTERM'), withinMs: 30_000 },
  'a SIGKILL': { mode: [], end: (host) => host.kill('SIGKILL'), withinMs: 30_000 },
};

for (const [what, { mode, end, withinMs }] of Object.entries(endings)) {
  const cycles = scale('R-154', { test: 2, faults: 50, soak: 200 });
  verifies('R-36').test(
    `nothing is left of ${SERVERS} launched servers after ${what} (${cycles} times)`,
    async () => {
      for (let cycle = 0; cycle < cycles; cycle += 1) {
        const nonce = newNonce();
        const host = await startHost(nonce, ...mode);
        const ended = once(host, 'exit');
        end(host);
        const [code] = await ended;
        if (mode.includes('--exit')) expect(code).toBe(0); // it left by itself
        if (withinMs > 0) await until('all have followed', () => leftOf(nonce).length === 0, withinMs);
        expect(leftOf(nonce)).toEqual([]);
      }
    },
    90_000 + cycles * 5_000,
  );
}
