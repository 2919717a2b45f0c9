import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { writeAtomic } from '../base/atomic-file.ts';
import type { Logger } from '../base/log.ts';
import { createSafeDir, type SafeDir } from '../base/safe-dir.ts';
import { parseJson } from '../base/safe-json.ts';
import type { SandboxSpec } from '../process/sandbox.ts';
import { toReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { AgentPlace, LoginFile } from './adapter.ts';
import { namedPath } from './description.ts';
import { refreshedLogin } from './login-refresh.ts';
import { jobDir } from './sandbox.ts';

/** Of the user's folders this much is copied for a job; a larger one is shown as it is, read-only. */
const COPIED = { entries: 200, bytes: 4 * 1024 * 1024 };
/** Of one job this much comes back. Whatever an agent leaves there, looking at it ends. */
const BROUGHT_BACK = { files: 1_000, depth: 6 };
const LARGEST_SESSION = 128 * 1024 * 1024;
const LARGEST_LOGIN = 1024 * 1024;
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** One of the agent's places: the user's own, and the copy of it that the sandbox shows there. */
interface Place {
  about: AgentPlace;
  own: string;
  copy: string;
}

/** Where the copies of a job lie. */
export function stateDir(homeDir: string, jobId: string): string {
  return join(jobDir(homeDir, jobId), 'agent');
}

interface StateRequest {
  state: readonly AgentPlace[];
  /** The agent's environment: it says where its home is. */
  env: Readonly<Record<string, string>>;
  /** The job's folder for its copies, out of sight of its sandbox. It is kept for the next launch. */
  dir: string;
  sessionId?: string | undefined;
}

/**
 * An agent in a sandbox works on a private copy of its own files: what it plants there (hooks, plugins, servers, trust) would
 * run outside of the sandbox the next time. Only conversations come back, and a log-in that it refreshed.
 */
export async function lendState({
  state,
  env,
  dir,
  sessionId,
}: StateRequest): Promise<NonNullable<SandboxSpec['binds']>> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const places = placesOf(state, env, dir);
  const binds = places.flatMap((place) => (place.about.file === undefined ? lendFolder(place) : lendFile(place)));
  for (const place of places) await lendSession(place, sessionId);
  writeFileSync(join(dir, 'places.json'), JSON.stringify(places), { mode: 0o600 });
  return binds;
}

/** The places of a job in a sandbox as its last launch found them; none for a job that never had one. */
function placesLent({ state, dir }: Pick<HomeDeps, 'state' | 'dir'>): Place[] {
  const path = join(dir, 'places.json');
  if (!existsSync(path)) return [];
  const places = JSON.parse(readFileSync(path, 'utf8')) as Place[];
  // By name, because a rule is no JSON.
  return places.flatMap((place) => {
    const about = state.find(({ at }) => at[0] === place.about.at[0]);
    return about ? [{ ...place, about }] : [];
  });
}

function placesOf(state: readonly AgentPlace[], env: StateRequest['env'], dir: string): Place[] {
  return state.flatMap((about, index) => {
    const own = about.at.map((name) => namedPath(name, env)).find((path) => path !== undefined);
    return own === undefined ? [] : [{ about, own, copy: join(dir, String(index)) }];
  });
}

/** Also what an earlier launch made of the copy is replaced; the agent is not running, so nobody swaps in a link. */
function lendFile({ about, own, copy }: Place) {
  rmSync(copy, { recursive: true, force: true });
  if (existsSync(own)) copyFileSync(own, copy, constants.COPYFILE_FICLONE);
  else writeFileSync(copy, about.file ?? '', { mode: 0o600 });
  return [{ from: copy, to: own }];
}

function lendFolder({ about, own, copy }: Place) {
  mkdirSync(copy, { recursive: true, mode: 0o700 });
  mkdirSync(own, { recursive: true, mode: 0o700 }); // the agent could not make it inside
  const tooLarge = readdirSync(own)
    .filter((name) => about.without?.test(name) !== true)
    .filter((name) => {
      const [from, to] = [join(own, name), join(copy, name)];
      rmSync(to, { recursive: true, force: true });
      const isCopied = copyTree(from, to, { ...COPIED });
      if (!isCopied) rmSync(to, { recursive: true, force: true });
      return !isCopied;
    });
  const shown = tooLarge.map((name) => ({ from: join(own, name), to: join(own, name), isReadOnly: true }));
  return [{ from: copy, to: own }, ...shown];
}

/** The user's own links are followed. False: it is too much to copy. */
function copyTree(from: string, to: string, left: { entries: number; bytes: number }): boolean {
  const stat = statSync(from, { throwIfNoEntry: false });
  left.entries -= 1;
  left.bytes -= stat?.isFile() ? stat.size : 0;
  if (left.entries < 0 || left.bytes < 0) return false;
  if (stat?.isFile()) copyFileSync(from, to, constants.COPYFILE_FICLONE);
  if (!stat?.isDirectory()) return true;
  mkdirSync(to, { mode: 0o700 });
  return readdirSync(from).every((name) => copyTree(join(from, name), join(to, name), left));
}

/** Of all conversations only the one that goes on: those of other projects may be gigabytes, and are nobody's business here. */
async function lendSession({ about, own, copy }: Place, sessionId: string | undefined): Promise<void> {
  const folder = about.sessions && join(own, about.sessions.folder);
  if (!about.sessions || folder === undefined || sessionId === undefined || !existsSync(folder)) return;
  const from = createSafeDir(realpathSync(folder));
  const isOther = (name: string) => UUID.test(name) && name !== sessionId;
  const found = await filesIn(from, { isSkipped: isOther, isWanted: (path) => path.includes(sessionId) });
  const to = createSafeDir(copy);
  for (const path of found) {
    await to.write(join(about.sessions.folder, path), await from.read(path, LARGEST_SESSION), 0o600);
  }
}

interface HomeDeps {
  state: readonly AgentPlace[];
  dir: string;
  log: Logger;
}

type Lent = Pick<Job, 'id' | 'sandbox' | 'sessionId'>;

/** What of a job's copies goes to the user's own places. All of it may be done again at any time. */
export class AgentHome {
  readonly #deps: HomeDeps;

  constructor(deps: HomeDeps) {
    this.#deps = deps;
  }

  /** Conversations and log-ins. What could not be brought back is said, and still lies in the copy. */
  async bringBack(job: Lent): Promise<string | undefined> {
    if (job.sandbox !== 'bubblewrap') return undefined;
    await this.carryLogins(job);
    try {
      for (const place of placesLent(this.#deps)) await returnSessions(place, job.sessionId);
      return undefined;
    } catch (error) {
      const { message } = toReefError(error);
      return `the agent's conversation stayed in ${this.#deps.dir}, because it could not be copied: ${message}`;
    }
  }

  /**
   * Carries a refreshed log-in over, into the user's own place or from there: with many providers the first refresh ends the
   * token it was made with, and the other side would be logged out.
   */
  async carryLogins({ id, sandbox }: Lent): Promise<void> {
    if (sandbox !== 'bubblewrap') return;
    for (const place of placesLent(this.#deps)) {
      for (const [name, login] of Object.entries(place.about.logins ?? {})) {
        await carryLogin(place, name, login).catch((error: unknown) => {
          this.#deps.log.warn('a log-in could not be carried over', {
            job: id,
            name,
            reason: toReefError(error).message,
          });
        });
      }
    }
  }
}

/** A conversation that was there before stays as it is, unless it is the job's own. */
async function returnSessions({ about, own, copy }: Place, sessionId: string | undefined): Promise<void> {
  const copied = about.sessions && join(copy, about.sessions.folder);
  if (!about.sessions || copied === undefined || !existsSync(copied)) return;
  const { folder, file } = about.sessions;
  const from = createSafeDir(copied);
  const target = join(own, folder);
  mkdirSync(target, { recursive: true, mode: 0o700 });
  const to = createSafeDir(realpathSync(target));
  for (const path of await filesIn(from, { isWanted: (name) => file.test(name) })) {
    const before = await to.read(path, LARGEST_SESSION).catch(ifAbsent);
    if (before !== undefined && (sessionId === undefined || !path.includes(sessionId))) continue;
    const after = await from.read(path, LARGEST_SESSION);
    if (before?.equals(after) !== true) await to.write(path, after, 0o600);
  }
}

async function carryLogin({ own, copy }: Place, name: string, login: LoginFile): Promise<void> {
  const path = join(own, name);
  const lent = createSafeDir(copy);
  if (!existsSync(path)) return;
  const [ours, theirs] = [readFileSync(path), await lent.read(name, LARGEST_LOGIN).catch(ifAbsent)];
  if (theirs === undefined || ours.equals(theirs)) return;
  const [before, after] = [jsonOf(ours), jsonOf(theirs)];
  const inward = refreshedLogin(login, after, before);
  const outward = inward ? undefined : refreshedLogin(login, before, after);
  if (inward) await lent.write(name, Buffer.from(text(inward)), 0o600);
  if (outward) await writeAtomic(realpathSync(path), text(outward), { mode: statSync(path).mode & 0o777 });
}

const text = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function jsonOf(bytes: Buffer): unknown {
  const parsed = parseJson(bytes.toString('utf8'));
  return parsed.ok ? parsed.value : undefined;
}

function ifAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

interface Search {
  isWanted(path: string): boolean;
  isSkipped?(name: string): boolean;
}

/** Paths of regular files, no link followed, none further down or more of them than a conversation needs. */
async function filesIn(dir: SafeDir, search: Search, folder = ''): Promise<string[]> {
  const found: string[] = [];
  if (folder.split('/').length > BROUGHT_BACK.depth) return found;
  for (const { name, kind } of await dir.list(folder)) {
    const path = join(folder, name);
    if (kind === 'dir' && search.isSkipped?.(name) !== true) found.push(...(await filesIn(dir, search, path)));
    else if (kind === 'file' && search.isWanted(path)) found.push(path);
    if (found.length >= BROUGHT_BACK.files) return found.slice(0, BROUGHT_BACK.files);
  }
  return found;
}
