import { createReadStream, existsSync, statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../../../base/printable.ts';
import { allowedEnv } from '../../../process/environment.ts';
import { run } from '../../../process/run.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { openRuntimeAlone } from '../chat/conversation.ts';
import type { Cli, Command } from '../cli.ts';
import { interruptible } from '../prompt/interruptible.ts';
import { list } from './runtime-folder.ts';
import { addSecret, deleteSecret, getSecret, listSecrets, updateSecret } from './vault.ts';

/** The options of `reef ask` that ask no model anything. The value of an option is the argument of its command. */
const SERVICES = {
  listModels: list('models'),
  listRoles: list('roles'),
  listSessions: list('sessions'),
  listAgents: list('agents'),
  listRags: list('rags'),
  listMacros: list('macros'),
  listSecrets,
  addSecret,
  getSecret,
  updateSecret,
  deleteSecret,
  buildTools,
  syncModels,
  tailLogs,
  completions: printCompletions,
} satisfies Record<string, Command<object>>;

export type ServiceFlag = keyof typeof SERVICES;

export function serve(cli: Cli, service: ServiceFlag, options: object): Promise<number> {
  const value = (options as Record<string, unknown>)[service];
  return SERVICES[service](cli, typeof value === 'string' ? [value] : [], options);
}

/** Loads every tool of the user and reports those that are broken. */
async function buildTools(cli: Cli): Promise<number> {
  const { app, run: runCommand } = await openRuntimeAlone(cli);
  const { openCustomTools } = await import('../../../app/runtime/tool-box.ts');
  const { paths, environment } = app;
  const custom = openCustomTools(runCommand, paths, environment);
  const { tools, broken } = await custom.load(paths.globalToolsDir());
  const problems = await custom.problems(tools);
  const names = tools.map(({ name }) => name);
  const all = [...broken, ...[...problems].map(([file, reason]) => ({ file, reason }))];
  cli.print({ tools: names, broken: all }, () =>
    [...names, ...all.map(({ file, reason }) => `${file}: ${reason}`)].map(printable).join('\n'),
  );
  return all.length === 0 ? 0 : 1;
}

async function syncModels(cli: Cli): Promise<number> {
  const { app } = await openRuntimeAlone(cli);
  const { syncModels: sync, syncModelsUrl } = await import('../../../runtime/models/sync-models.ts');
  const url = syncModelsUrl(app.config);
  const count = await sync(url, app.paths, globalThis.fetch);
  cli.print({ models: count, url }, () => `${count} models from ${url}`);
  return 0;
}

/** Only the whole program has the tree of commands, so it is started again. */
async function printCompletions(cli: Cli, [shell = '']: string[]): Promise<number> {
  const { env, cwd, host } = cli;
  const args = [host.argv[1] ?? '', 'completions', shell, ...(cli.json ? ['--json'] : [])];
  const given = allowedEnv(env.all, [], {});
  const { code, stdout, stderr } = await run({ file: process.execPath, args, cwd, env: given, timeoutMs: 30_000 });
  host.stdout.write(stdout);
  host.stderr.write(stderr);
  return code ?? 1;
}

const TAIL_BYTES = 16 * 1024;
const LOOK_MS = 250;

/** Prints the end of the log and, at a terminal, what is added to it until Ctrl-C. */
async function tailLogs(cli: Cli, _args: string[], { disableLogColors }: { disableLogColors?: true }): Promise<number> {
  const { app } = await openRuntimeAlone(cli);
  const path = app.paths.logPath();
  if (!existsSync(path)) throw new ReefError('bad_request', `There is no log yet at ${path}`);
  const paint = disableLogColors || cli.json ? (line: string) => line : (line: string) => painted(cli, line);
  const show = (lines: string) => {
    for (const line of lines.split('\n')) if (line !== '') cli.out(paint(printable(line)));
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

const textFrom = (path: string, start: number) => text(createReadStream(path, { start }));

function painted({ style }: Cli, line: string): string {
  if (line.includes('"level":"error"')) return style.paint('red', line);
  return line.includes('"level":"warn"') ? style.paint('yellow', line) : line;
}
