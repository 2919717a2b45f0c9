import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Detection } from '../../agents/detect.ts';
import type { Environment } from '../../base/env.ts';
import { findOnPath } from '../../base/programs.ts';
import { parseJson } from '../../base/safe-json.ts';
import { loginPath } from '../../process/login-shell.ts';
import type { DaemonInfo } from '../../protocol/daemon.ts';
import type { Client } from '../client/client.ts';
import { isErrorBody } from '../client/request.ts';
import { bad, byHand, type Check, check, ok, type Result, warn } from './finding.ts';
import { restartDaemon } from './settle.ts';

interface Deps {
  client: Pick<Client, 'daemon'>;
  detected: Promise<Detection[]>;
  env: Environment;
  version: string;
  /** `daemon.json`, which names the pid of the daemon. */
  file: string;
}

const ANSWER_MS = 5_000;

/** Compares the environment that the daemon was started with to this shell and to a new terminal. */
export function daemonChecks({ client, detected, env, version, file }: Deps): Check[] {
  const info = answerOf(client);
  info.catch(() => {}); // each check awaits it and reports its failure
  return [
    check('daemon', async () => daemon(await info, { version, file })),
    check('path', async () => path({ detected: await detected, given: await givenTo(await info), env })),
    check('environment', async () => environment(await detected, { given: await givenTo(await info), env })),
  ];
}

type Answer = DaemonInfo | 'none' | 'silent';

/** A daemon that is stopped or hangs accepts calls and answers none. */
async function answerOf(client: Pick<Client, 'daemon'>): Promise<Answer> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  try {
    return (await client.daemon({ signal })) ?? 'none';
  } catch (error) {
    if (signal.aborted) return 'silent';
    throw error;
  }
}

async function daemon(info: Answer, { version, file }: Pick<Deps, 'version' | 'file'>): Promise<Result> {
  if (info === 'none') return absent(file);
  if (info === 'silent') {
    const pid = /"pid":(\d+)/.exec(await readFile(file, 'utf8').catch(() => ''))?.[1];
    const fix = byHand(`kill -9 ${pid ?? 'its pid'}; jobs keep running, and the next command starts another daemon`);
    return bad('does not answer', `no answer for ${ANSWER_MS / 1_000} s`, fix);
  }
  const evidence = `pid ${info.pid}, since ${info.startedAt}`;
  if (info.version === version) return ok(`runs version ${version}, ${info.jobs.live} jobs`, evidence);
  return warn(`runs version ${info.version}; this command is ${version}`, evidence, restartDaemon);
}

/** No daemon runs. The last one may have left word why it could not. */
async function absent(file: string): Promise<Result> {
  const left = parseJson(await readFile(file, 'utf8').catch(() => ''));
  const { failed } = (left.ok ? left.value : {}) as { failed?: unknown };
  if (!isErrorBody(failed)) return ok('not running; the next command starts it', 'reef daemon status');
  const { code, message, hint } = failed.error;
  return bad(`cannot start: ${message}`, code, byHand(hint));
}

type Given = Readonly<Record<string, string>>;

/** The environment of the daemon. Undefined without a daemon, or where the system does not show it. */
async function givenTo(info: Answer): Promise<Given | undefined> {
  if (typeof info === 'string') return undefined;
  const text = await readFile(`/proc/${info.pid}/environ`, 'utf8').catch(() => undefined);
  const entries = text?.split('\0').map((entry) => /^([^=]+)=([\s\S]*)$/.exec(entry)?.slice(1));
  return entries && Object.fromEntries(entries.filter((entry) => entry !== undefined));
}

interface Seen {
  detected: readonly Detection[];
  given: Given | undefined;
  env: Environment;
}

/** Reports agents that this shell or a new terminal finds, and the daemon does not. */
async function path({ detected, given, env }: Seen): Promise<Result[]> {
  const login = await loginPath(env);
  // Reef's own agents need no PATH: they run by the Node that runs the daemon.
  const looked = detected.filter(({ name }) => !name.startsWith('native:'));
  const missing = (path: string) => looked.filter(({ program }) => program && !findOnPath(program, path));
  const daemonHas = given?.PATH ?? env.path;
  const unseen = missing(daemonHas);
  const here = unseen.filter(({ program }) => program && findOnPath(program, env.path));
  const elsewhere = unseen.filter(({ program }) => program && login !== undefined && findOnPath(program, login));
  const who = given === undefined ? 'this shell' : 'the daemon';
  if (here.length > 0) {
    const what = `the daemon does not find ${names(here)}, but this shell does`;
    return [warn(what, `PATH of the daemon: ${daemonHas}`, byHand(RESTART_HERE))];
  }
  if (elsewhere.length > 0) {
    const folders = elsewhere.flatMap(({ program }) => dirname(findOnPath(program ?? '', login ?? '') ?? ''));
    const what = `${who} does not find ${names(elsewhere)}, but your login shell does`;
    const fix = byHand(given === undefined ? 'use reef from a new terminal' : RESTART_THERE);
    return [warn(what, `in ${[...new Set(folders)].join(', ')}`, fix)];
  }
  const compared = login === undefined ? 'this shell' : 'this shell and your login shell';
  const subject = given === undefined ? 'a new daemon' : 'the daemon';
  return [ok(`${subject} finds the same agents as ${compared}`, `PATH ${daemonHas}`)];
}

const RESTART_HERE = 'reef daemon stop, then any command from this shell';
const RESTART_THERE = 'reef daemon stop, then any command from that shell';

const names = (agents: readonly Detection[]) => [...new Set(agents.map(({ name }) => name))].join(', ');

/** Compares the variables that agents are given. Only names are shown, because a value may be a key. */
async function environment(detected: readonly Detection[], { given, env }: Omit<Seen, 'detected'>): Promise<Result[]> {
  if (given === undefined) return [];
  const reach = new Set(['HOME', 'LANG', 'TMPDIR', ...detected.flatMap(({ reads = [] }) => reads)]);
  const different = [...reach].filter((name) => (given[name] ?? '') !== (env.all[name] ?? '')).sort();
  if (different.length === 0) {
    return [ok('the daemon has the same values as this shell', [...reach].join(', '))];
  }
  const what = `the daemon has other values than this shell: ${different.join(', ')}`;
  return [warn(what, 'variables that agents are given', byHand(RESTART_HERE))];
}
