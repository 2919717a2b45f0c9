import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { onFirstUse } from '../../base/on-first-use.ts';
import type { Ports } from '../../runtime/state/app-state.ts';
import type { PortBase } from '../../runtime/state/init.ts';
import { createBuiltinTools } from '../../runtime/tools/builtin/all.ts';
import { createUrlGuard } from '../../runtime/tools/builtin/url-guard.ts';
import type { RunCommand } from '../../runtime/tools/command.ts';
import { CustomTools } from '../../runtime/tools/custom/load-custom.ts';
import { createToolBox } from '../../runtime/tools/tool-box.ts';

/** Ours, the user's, and how a scope chooses among them. */
export function createTools(
  { config, paths, environment, clock }: PortBase,
  { run, outputsDir }: { run: RunCommand; outputsDir: string },
): Ports['tools'] & Pick<Required<Ports>, 'dynamicInstructions'> {
  const variables = { ...functionVariables(paths.functionsEnvFile()), ...environment };
  const addresses = async (host: string) => (await lookup(host, { all: true })).map(({ address }) => address);
  return createToolBox({
    builtins: onFirstUse(() =>
      createBuiltinTools({
        run,
        shell: environment.REEF_SHELL ?? '/bin/sh',
        dsn: variables.USQL_DSN,
        addressesOf: createUrlGuard({ lookup: addresses, allowed: config.reef.allowed_hosts }),
        get: async (...where) => (await import('./ports/pinned-get.ts')).pinnedGet(...where),
        clock,
        outputsDir,
      }),
    ),
    custom: new CustomTools({
      run,
      rootDir: paths.functionsDir(),
      cacheDir: join(paths.cachePath(), 'tools'),
      variables,
    }),
    toolsDir: paths.globalToolsDir(),
    loopGuard: config.reef.tool_loop,
  });
}

/** `functions/.env`: what the user's tools find beside the environment. */
function functionVariables(file: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}
