import { randomBytes } from 'node:crypto';
import type { RunResult, RunSpec } from '../../base/programs.ts';
import { gitEnv, overrideEnv } from '../../git/hardening.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Queries } from '../database/database.ts';
import type { HostIdentity } from '../store/home-source.ts';
import { notify } from '../store/notify.ts';
import { hashOf } from './people.ts';

interface Deps {
  /** Such as http://127.0.0.1:4173. */
  hub: string;
  run(spec: RunSpec): Promise<RunResult>;
  env: Readonly<Record<string, string>>;
  identity(): HostIdentity | undefined;
}

/** Where a run's work lies on the hub. */
export interface RunPlace {
  repository: string;
  run: string;
  /** A repository on this host that has the objects. */
  gitDir: string;
}

const PUSH_MS = 10 * 60_000;
const NOBODY = '';

/** A new token of this host, good for its session; of an older one nothing is left. */
export async function newHostToken(queries: Queries, { host, epoch }: HostIdentity): Promise<string> {
  const token = randomBytes(32).toString('hex');
  const set = 'UPDATE reef.host SET token = $3 WHERE id = $1 AND epoch = $2 RETURNING id';
  const [row] = await queries.query(set, [host, epoch, hashOf(token)]);
  if (!row) throw new ReefError('job_superseded', `Host ${host} is not in epoch ${epoch}`);
  await notify(queries, { kind: 'token', id: host }); // the hub knows it at once
  return token;
}

/**
 * What a host pushes to the hub and fetches from it. Each push carries host and epoch, so that work of a host that was lost
 * meanwhile lands nowhere.
 */
export class HubRemote {
  readonly #deps: Deps;
  readonly #token: () => Promise<string>;

  constructor(deps: Deps, token: () => Promise<string>) {
    this.#deps = deps;
    this.#token = token;
  }

  /** Where the run begins: once, before its first block, so that commits nobody has pushed anywhere work too. */
  async pushBase(place: RunPlace, commit: string): Promise<void> {
    await this.#push(place, [`${commit}:${refOf(place, 'base')}`]);
  }

  /** `name` is `<block>.<visit>.<attempt>`. Whatever stands there is of the same attempt, so it is replaced. */
  async pushAttempt(place: RunPlace, name: string, commit: string): Promise<void> {
    await this.#push(place, [`+${commit}:${refOf(place, `try/${name}`)}`]);
  }

  /** Moves the tip, only from the checkpoint this work began from. Again after a lost answer is fine. */
  async promote(place: RunPlace, { from, to }: { from: string | undefined; to: string }): Promise<void> {
    const tip = refOf(place, 'tip');
    try {
      await this.#push(place, [`--force-with-lease=${tip}:${from ?? NOBODY}`, `${to}:${tip}`]);
    } catch (error) {
      const found = await this.tip(place).catch(() => undefined);
      if (found === to) return;
      if (found !== undefined && found !== from) {
        const message = `The tip of run ${place.run} is ${found}, not ${from ?? 'absent'}: nothing was promoted`;
        throw new ReefError('nothing_promoted', message, { cause: error });
      }
      throw error;
    }
  }

  /** The last promoted commit; undefined when there is none yet. */
  async tip(place: RunPlace): Promise<string | undefined> {
    const listed = await this.#git(place, ['ls-remote', '--refs', this.#url(place), refOf(place, 'tip')]);
    return listed.split('\t')[0] || undefined;
  }

  /** The commits of all attempts at one visit, `<block>.<visit>`. */
  async attemptsAt(place: RunPlace, visit: string): Promise<string[]> {
    const listed = await this.#git(place, ['ls-remote', '--refs', this.#url(place), refOf(place, `try/${visit}.*`)]);
    return listed.split('\n').flatMap((line) => line.split('\t')[0] || []);
  }

  /** Brings base, tip and attempts of a run to this host, under the same names. */
  async fetch(place: RunPlace): Promise<void> {
    const refs = `+refs/reef/${place.run}/*:refs/reef/${place.run}/*`;
    await this.#git(place, ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', this.#url(place), refs]);
  }

  async has(place: RunPlace, commit: string): Promise<boolean> {
    const args = ['cat-file', '-e', `${commit}^{commit}`];
    return this.#git(place, args).then(
      () => true,
      () => false,
    );
  }

  /** After its work is merged or kept elsewhere. */
  async drop(place: RunPlace): Promise<void> {
    const listed = await this.#git(place, ['ls-remote', '--refs', this.#url(place), `refs/reef/${place.run}/*`]);
    const names = listed.split('\n').flatMap((line) => line.split('\t')[1] ?? []);
    if (names.length > 0)
      await this.#push(
        place,
        names.map((name) => `:${name}`),
      );
  }

  async #push(place: RunPlace, refs: readonly string[]): Promise<void> {
    const identity = this.#deps.identity();
    if (!identity) throw new ReefError('storage_unavailable', 'This host has no session: nothing lands');
    const options = ['-o', `reef-host=${identity.host}`, '-o', `reef-epoch=${identity.epoch}`];
    const leases = refs.filter((each) => each.startsWith('--'));
    const rest = refs.filter((each) => !each.startsWith('--'));
    await this.#git(place, ['push', '--quiet', '--no-verify', ...options, ...leases, this.#url(place), ...rest]);
  }

  #url({ repository }: RunPlace): string {
    return `${this.#deps.hub}/git/${repository}.git`;
  }

  async #git({ gitDir }: RunPlace, args: readonly string[]): Promise<string> {
    const { run, env } = this.#deps;
    const settings: [string, string][] = [
      ['http.extraHeader', `Authorization: Bearer ${await this.#token()}`],
      ['credential.helper', ''],
      ['core.hooksPath', '/dev/null'],
      ['push.recurseSubmodules', 'no'],
      ['gc.auto', '0'],
      ['maintenance.auto', 'false'],
      ['http.followRedirects', 'false'],
    ];
    // In the environment: an argument is read by everybody on the machine.
    const childEnv = { ...gitEnv(env), ...overrideEnv(settings), GIT_ALLOW_PROTOCOL: 'http:https', GIT_DIR: gitDir };
    const result = await run({ file: 'git', args, cwd: '/', env: childEnv, timeoutMs: PUSH_MS });
    if (result.code === 0) return result.stdout.toString('utf8');
    throw failureOf(args[0] ?? '', result.stderr.toString('utf8'));
  }
}

function refOf({ run }: RunPlace, name: string): string {
  return `refs/reef/${run}/${name}`;
}

/** An unknown token too: the hub hears of a new one in a moment. */
const AWAY =
  /could not read Username|Authentication failed|unable to access|could not (resolve|read from)|connection (refused|reset)|hung up|early EOF|returned error: 5|RPC failed/i;

function failureOf(verb: string, stderr: string): ReefError {
  const said = stderr.trim().slice(-2_000);
  if (said.includes('job_superseded')) return new ReefError('job_superseded', 'Another host has this run now');
  if (/stale info|non-fast-forward|already exists/.test(said)) return new ReefError('nothing_promoted', said);
  if (said.includes('storage_unavailable')) return new ReefError('storage_unavailable', said);
  if (AWAY.test(said)) return new ReefError('remote_unavailable', `The hub cannot be reached: ${said}`);
  return new ReefError('git_failed', `git ${verb}: ${said}`);
}
