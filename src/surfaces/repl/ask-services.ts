import { existsSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { refuseOauth } from '../../app/runtime/commands/general.ts';
import type { Runtime } from '../../app/runtime/open-runtime.ts';
import { printable } from '../../base/printable.ts';
import { allowedEnv } from '../../process/environment.ts';
import { run } from '../../process/run.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Cli } from '../cli/cli.ts';
import { interruptible } from './interrupt.ts';
import type { Listed } from './lists.ts';
import { openPlace } from './open.ts';
import { askNobody } from './person.ts';
import { printList } from './print-list.ts';
import { addSecret, deleteSecret, getSecret, listSecrets, openForSecrets, updateSecret } from './secrets.ts';

/** Flags of `reef ask` that ask nothing. */
interface ServiceOptions {
  buildTools?: true;
  syncModels?: true;
  tailLogs?: true;
  disableLogColors?: true;
  authenticate?: string | true;
  completions?: string;
  listSecrets?: true;
  addSecret?: string;
  getSecret?: string;
  updateSecret?: string;
  deleteSecret?: string;
}

const LISTS = {
  listModels: 'models',
  listRoles: 'roles',
  listSessions: 'sessions',
  listAgents: 'agents',
  listRags: 'rags',
  listMacros: 'macros',
} as const satisfies Record<string, Listed>;

type Service = (cli: Cli, options: ServiceOptions) => Promise<number>;

type Secret = 'addSecret' | 'getSecret' | 'updateSecret' | 'deleteSecret';

const onSecret =
  (flag: Secret, act: typeof addSecret): Service =>
  async (cli, options) =>
    act(cli, await openForSecrets(cli), options[flag] ?? '');

const SERVICES: Readonly<Record<keyof Omit<ServiceOptions, 'disableLogColors'>, Service>> = {
  buildTools,
  syncModels,
  tailLogs,
  authenticate,
  completions: printCompletions,
  listSecrets: async (cli) => listSecrets(cli, await openForSecrets(cli)),
  addSecret: onSecret('addSecret', addSecret),
  getSecret: onSecret('getSecret', getSecret),
  updateSecret: onSecret('updateSecret', updateSecret),
  deleteSecret: onSecret('deleteSecret', deleteSecret),
};

export type ServiceFlag = keyof typeof LISTS | keyof typeof SERVICES;

const isIn = <T extends object>(table: T, flag: string): flag is Extract<keyof T, string> => Object.hasOwn(table, flag);

/** The first flag that names a service is served. */
export async function serve(cli: Cli, options: object): Promise<number> {
  for (const flag of Object.keys(options)) {
    if (isIn(LISTS, flag)) return printList(cli, LISTS[flag]);
    if (isIn(SERVICES, flag)) return SERVICES[flag](cli, options);
  }
  return 0;
}

async function authenticate(cli: Cli, { authenticate: client }: ServiceOptions): Promise<number> {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  return refuseOauth(typeof client === 'string' ? client : (app.models.first('chat')?.client ?? 'Reef'));
}

/** Reads every tool of the user's; what is broken is told. */
async function buildTools(cli: Cli): Promise<number> {
  const { app, run: runCommand }: Runtime = await openPlace({ cli, ask: askNobody, isOneShot: true });
  const { CustomTools } = await import('../../runtime/tools/custom/load-custom.ts');
  const { paths, environment } = app;
  const custom = new CustomTools({
    run: runCommand,
    rootDir: paths.functionsDir(),
    cacheDir: paths.cachePath(),
    variables: environment,
  });
  const { tools, broken } = await custom.load(paths.globalToolsDir());
  const names = tools.map(({ name }) => name);
  cli.print({ tools: names, broken }, () =>
    [...names, ...broken.map(({ file, reason }) => `${file}: ${reason}`)].map(printable).join('\n'),
  );
  return broken.length === 0 ? 0 : 1;
}

async function syncModels(cli: Cli): Promise<number> {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  const [{ syncModels: sync }, { syncModelsUrl }] = await Promise.all([
    import('../../runtime/config/sync-models.ts'),
    import('../../runtime/config/readers.ts'),
  ]);
  const url = syncModelsUrl(app.config);
  const count = await sync({ url, paths: app.paths, fetch: globalThis.fetch });
  cli.print({ models: count, url }, () => `${count} models from ${url}`);
  return 0;
}

/** The tree of commands is the parser's, which only the whole program has. */
async function printCompletions(cli: Cli, { completions = '' }: ServiceOptions): Promise<number> {
  const { env, cwd, host } = cli;
  const args = [host.argv[1] ?? '', 'completions', completions, ...(cli.json ? ['--json'] : [])];
  const given = allowedEnv(env.all, [], {});
  const { code, stdout, stderr } = await run({ file: process.execPath, args, cwd, env: given, timeoutMs: 30_000 });
  host.stdout.write(stdout);
  host.stderr.write(stderr);
  return code ?? 1;
}

const TAIL_BYTES = 16 * 1024;
const LOOK_MS = 250;

/** The end of the log; at a terminal, what is added to it until Ctrl-C. */
async function tailLogs(cli: Cli, { disableLogColors }: ServiceOptions): Promise<number> {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  const path = app.paths.logPath();
  if (!existsSync(path)) throw new ReefError('bad_request', `there is no log yet: ${path}`);
  const paint = disableLogColors || cli.json ? (line: string) => line : (line: string) => painted(cli, line);
  const show = (text: string) => {
    for (const line of text.split('\n')) if (line !== '') cli.out(paint(printable(line)));
  };
  let at = Math.max(0, statSync(path).size - TAIL_BYTES);
  const [, ...first] = at === 0 ? ['', await textFrom(path, 0)] : (await textFrom(path, at)).split(/(?<=\n)/);
  show(first.join(''));
  at = statSync(path).size;
  if (!cli.isInteractive) return 0;
  return interruptible(async (signal) => {
    for (;;) {
      await sleep(LOOK_MS, undefined, { signal });
      const { size } = statSync(path);
      if (size > at) show(await textFrom(path, at));
      at = size;
    }
  });
}

async function textFrom(path: string, at: number): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.max(0, size - at));
    await file.read(buffer, 0, buffer.length, at);
    return buffer.toString('utf8');
  } finally {
    await file.close();
  }
}

function painted({ style }: Cli, line: string): string {
  if (line.includes('"level":"error"')) return style.paint('red', line);
  return line.includes('"level":"warn"') ? style.paint('yellow', line) : line;
}
