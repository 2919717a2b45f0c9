import { realpath } from 'node:fs/promises';
import { capText } from '../base/cap.ts';
import { lazily } from '../base/lazily.ts';
import type { RunResult, RunSpec } from '../base/programs.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Checkout } from './checkout.ts';
import { type AskGit, createCheckoutCheck, driverSettings, locate, type OpenDrivers } from './config-overrides.ts';
import { fixedOverrides, gitEnv, LOCK_WAIT_MS, type Overrides, overrideEnv } from './hardening.ts';

/** Runs a program to its end; the composition root passes it in. Rejects only if the program cannot be started. */
export type Run = (spec: RunSpec) => Promise<RunResult>;

interface CallOptions {
  input?: string | Uint8Array;
  timeoutMs?: number;
  /** Of stdout and of stderr; more is a failure, never a silent cut. */
  maxBytes?: number;
  /** Exit codes that are answers and not failures. */
  okCodes?: readonly number[];
  /** A temporary index in the place of the checkout's own. */
  indexFile?: string;
  /** Author and committer of a commit. Without one, the user's own from their configuration. */
  signature?: Signature | undefined;
}

export interface Signature {
  name: string;
  email: string;
  at: Date;
}

interface GitResult {
  code: number;
  stdout: Buffer;
}

/** The one way to git. Every command but `locate` is bound to a checkout and checked against it. */
export interface Git {
  /** The checkout that a folder named by a person lies in. */
  locate(dir: string): Promise<Checkout>;
  /** Options end before values: the caller puts `--end-of-options` before revisions and `--` before paths. */
  call(checkout: Checkout, args: readonly string[], options?: CallOptions): Promise<GitResult>;
  version(): Promise<GitVersion>;
  /** What filter and merge drivers would run here, by key of git's configuration. */
  drivers(checkout: Checkout): Promise<ReadonlyMap<string, string>>;
}

interface GitVersion {
  major: number;
  minor: number;
}

interface GitSettings {
  run: Run;
  /** Already reduced to what a child may have, with a PATH no agent can write to. */
  env: Readonly<Record<string, string>>;
  lockWaitMs?: number;
  open?: OpenDrivers | undefined;
}

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MESSAGE_BYTES = 2_048;
/** After `--no-pager -C <dir>`. */
const VERB = 3;
const OLDEST = { major: 2, minor: 38 };

export function createGit({ run, env, lockWaitMs = LOCK_WAIT_MS, open }: GitSettings): Git {
  const fixed = fixedOverrides(lockWaitMs);
  const ownEnv = gitEnv(env);
  const fixedEnv = { ...ownEnv, ...overrideEnv(fixed) };

  const start = async (args: readonly string[], childEnv: Record<string, string>, options: CallOptions = {}) => {
    if (args.some((arg) => arg.includes('\0'))) throw new ReefError('ref_invalid', 'A value contains a NUL byte.');
    const { input, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, okCodes = [0] } = options;
    // From the root: a PATH with a relative entry must not find a `git` inside the repository.
    const spec = { file: 'git', args, cwd: '/', env: childEnv, timeoutMs, maxBytes, input };
    const outcome = await run(spec).catch((cause: unknown) => {
      throw new ReefError('git_missing', 'git could not be started.', { cause });
    });
    const verb = args[VERB] ?? 'version';
    if (outcome.timedOut) throw new ReefError('git_timeout', `git ${verb} took longer than ${timeoutMs} ms.`);
    if (outcome.truncated) throw new ReefError('git_failed', `git ${verb} wrote more than ${maxBytes} bytes.`);
    const { code, stdout } = outcome;
    if (code !== null && okCodes.includes(code)) return { code, stdout };
    throw failureOf(verb, outcome);
  };
  // It may be installed or updated while we run.
  const { get: ready } = lazily(async () =>
    parseVersion((await start(['--version'], fixedEnv)).stdout.toString('utf8')),
  );
  const ask: AskGit = async (dir, args) => (await start(['--no-pager', '-C', dir, ...args], fixedEnv)).stdout;
  const check = createCheckoutCheck(ask, open);

  return {
    version: ready,
    async drivers(checkout) {
      await ready();
      return driverSettings(ask, checkout.toplevel);
    },
    async locate(dir) {
      await ready();
      const real = await realpath(dir).catch((cause: unknown) => {
        throw new ReefError('cwd_missing', `There is no folder ${dir}.`, { cause });
      });
      return locate(ask, real);
    },
    async call(checkout, args, options = {}) {
      await ready();
      const overrides = await check(checkout);
      const childEnv = {
        ...ownEnv,
        ...overrideEnv([...fixed, ...overrides, ...indexOverrides(options)]),
        ...callEnv(options),
      };
      return start(['--no-pager', '-C', checkout.toplevel, ...args], childEnv, options);
    },
  };
}

/** A split index keeps its shared part beside the checkout's own, which a temporary one must leave alone. */
function indexOverrides({ indexFile }: CallOptions): Overrides {
  return indexFile === undefined ? [] : [['core.splitIndex', 'false']];
}

function callEnv({ indexFile, signature }: CallOptions): Record<string, string> {
  return {
    ...(indexFile !== undefined && { GIT_INDEX_FILE: indexFile }),
    ...(signature && { ...signatureEnv('AUTHOR', signature), ...signatureEnv('COMMITTER', signature) }),
  };
}

function signatureEnv(role: 'AUTHOR' | 'COMMITTER', { name, email, at }: Signature): Record<string, string> {
  if (`${name}${email}`.includes('\0')) throw new ReefError('ref_invalid', 'An identity contains a NUL byte.');
  const date = `${Math.floor(at.getTime() / 1000)} +0000`;
  return { [`GIT_${role}_NAME`]: name, [`GIT_${role}_EMAIL`]: email, [`GIT_${role}_DATE`]: date };
}

function parseVersion(text: string): GitVersion {
  const [, major, minor] = /(\d{1,9})\.(\d{1,9})/.exec(text)?.map(Number) ?? [];
  if (major === undefined || minor === undefined) throw new ReefError('git_failed', `Not a version of git: ${text}`);
  if (major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor)) {
    throw new ReefError('git_too_old', `git ${major}.${minor} is older than ${OLDEST.major}.${OLDEST.minor}.`);
  }
  return { major, minor };
}

/** The lock that another git holds. */
function lockIn(said: string): string | undefined {
  const [, after] = said.split("Unable to create '", 2);
  const end = after?.indexOf(".lock': File exists") ?? -1;
  return end < 0 ? undefined : `${after?.slice(0, end)}.lock`;
}

function failureOf(verb: string, { code, signal, stderr }: RunResult): ReefError {
  const said = capText(stderr.toString('utf8').trim(), MESSAGE_BYTES);
  const lock = lockIn(said);
  if (lock !== undefined) return new ReefError('git_locked', `git ${verb}: ${lock} is held.`, { details: { lock } });
  const details = { verb, code, signal };
  return new ReefError('git_failed', `git ${verb}: ${said || `ended with ${code ?? signal}`}`, { details });
}
