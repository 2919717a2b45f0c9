import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sandboxFor } from '../agents/sandbox.ts';
import type { Environment } from '../base/env.ts';
import type { Home } from '../base/home.ts';
import type { Checkout } from '../git/checkout.ts';
import { fixedOverrides, gitEnv, LOCK_WAIT_MS, overrideEnv } from '../git/hardening.ts';
import type { GitApart } from '../git/private/bring.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { contained } from '../process/chain.ts';
import { allowedEnv, SYSTEM_PATH } from '../process/environment.ts';
import { run } from '../process/run.ts';

const GIT_MS = 600_000;
const NO_PATHS = { read: [], write: [] };
/** As large as a pack may be and a little more, in blocks of 512 bytes. */
const MOST_BLOCKS = 5 * 1024 ** 2;
const TO_FILE = `umask 077; ulimit -f ${MOST_BLOCKS}; out=$1; shift; exec "$@" >"$out"`;

export interface GitApartDeps {
  home: Pick<Home, 'dir' | 'sockets'>;
  env: Pick<Environment, 'all'>;
  capabilities: Capabilities;
}

/** Git where an agent's objects are: in a sandbox that sees what the agent's sees, writes nothing and connects nowhere. */
export function gitApart({ home, env, capabilities }: GitApartDeps, { toplevel, commonDir }: Checkout): GitApart {
  return async ({ args, input, place }) => {
    const objects = join(commonDir, 'objects');
    const around = { homeDir: home.dir, sockets: home.sockets, env: env.all, own: NO_PATHS, program: '/bin/sh' };
    const binds = [
      { from: place.objects, to: objects, isReadOnly: true },
      { from: objects, to: place.lent, isReadOnly: true },
    ];
    const job = { id: 'git', cwd: toplevel, sandbox: 'bubblewrap', readonly: true } as const;
    const shown = await sandboxFor(job, { ...around, binds });
    const sandbox = shown && { ...shown, network: 'none' as const, scratch: place.scratch };
    const git = { file: 'git', args: ['--no-pager', `--git-dir=${commonDir}`, ...args], cwd: '/', sandbox };
    const command = contained(git, capabilities);
    const settings = [...fixedOverrides(LOCK_WAIT_MS), ['pack.packSizeLimit', '0'] as const];
    try {
      return await run({
        file: '/bin/sh',
        args: ['-c', TO_FILE, 'sh', place.out, ...command],
        cwd: '/',
        env: { ...gitEnv(allowedEnv(env.all, [], { PATH: SYSTEM_PATH })), ...overrideEnv(settings) },
        timeoutMs: GIT_MS,
        input,
      });
    } finally {
      await rm(place.scratch, { recursive: true, force: true });
    }
  };
}
