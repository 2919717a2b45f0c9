import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeLeftovers, writeAtomic } from '../../base/atomic-file.ts';
import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import { AliasFolder, isSessionId } from './alias.ts';
import { parseLegacy } from './legacy.ts';
import { Session, TEMP_SESSION } from './session.ts';
import { SessionLock } from './session-lock.ts';
import { applyChange, newSessionState, type SessionState } from './session-state.ts';
import { readState, sessionText, stateFile, writeState } from './state-file.ts';

interface StoreOptions {
  dir: string;
  clock: Clock;
  warn: (message: string) => void;
}

/**
 * Sessions of one folder. The id is the identity, an alias a way to it. Nothing is written before a session is saved, and
 * every write adds to what is there: whoever else writes the same session loses nothing.
 */
export class SessionStore {
  readonly #options: StoreOptions;
  readonly #lock: SessionLock;
  readonly #aliases: AliasFolder;
  #swept: Promise<void> | undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#lock = new SessionLock(options.clock);
    this.#aliases = new AliasFolder(join(options.dir, 'by-name'), options.warn);
  }

  /** The sessions of another folder: an agent's own. */
  at(dir: string): SessionStore {
    return dir === this.#options.dir ? this : new SessionStore({ ...this.#options, dir });
  }

  /** In memory only. */
  create(name: string = TEMP_SESSION): Session {
    return new Session(newSessionState(randomUUID()), name);
  }

  async open(id: string): Promise<Session> {
    const state = await readState(this.#folder(id));
    if (!state) throw new ReefError('session_not_found', `there is no session ${id}`);
    return new Session(state, state.alias ?? id);
  }

  /** What `--session X` means: an id if it is one, else an alias, else a new session of that name. */
  async openOrCreate(name: string): Promise<Session> {
    return isSessionId(name) ? this.open(name) : this.openOrCreateByAlias(name);
  }

  async openOrCreateByAlias(alias: string): Promise<Session> {
    await this.#sweepOnce();
    const id = await this.resolveAlias(alias);
    if (id !== undefined) return this.open(id);
    return (await this.#migrate(alias)) ?? this.create(alias);
  }

  /** Undefined for a name nobody has, and for one that leads nowhere. */
  async resolveAlias(alias: string): Promise<string | undefined> {
    const id = await this.#aliases.resolve(alias);
    if (id === undefined || existsSync(stateFile(this.#folder(id)))) return id;
    this.#options.warn(`session ${alias} leads to ${id}, which is gone`);
    await this.#aliases.discard(alias);
    return undefined;
  }

  /** Tells the file what happened in this session since it was last told. */
  async save(session: Session): Promise<void> {
    if (session.isStored && !session.isDirty) return;
    const changes = [...session.pending];
    const state = session.isStored ? await this.#tell(session, changes) : await this.#storeFirst(session, changes);
    session.saved(state, changes.length);
  }

  /** The old name, if it had one, is free again. */
  async rename(session: Session, alias: string): Promise<void> {
    if (session.name === alias && session.state.alias === alias) return;
    if (!session.isStored) {
      session.rename(alias);
      return;
    }
    if (!(await this.#aliases.claim(alias, session.id))) {
      throw new ReefError('session_exists', `there is a session ${alias} already`);
    }
    const before = session.state.alias;
    const state = await this.#update(session.id, (current) => ({ ...current, alias }));
    session.saved(state, 0);
    session.rename(alias);
    if (before !== null) await this.#aliases.release(before, session.id);
  }

  async delete(name: string): Promise<void> {
    const id = isSessionId(name) ? name : await this.resolveAlias(name);
    const dir = id === undefined ? undefined : this.#folder(id);
    if (id === undefined || dir === undefined || !existsSync(dir)) {
      throw new ReefError('session_not_found', `there is no session ${name}`);
    }
    await this.#lock.hold(dir, async () => {
      const alias = (await readState(dir).catch(() => undefined))?.alias;
      await rm(dir, { recursive: true, force: true });
      if (alias) await this.#aliases.release(alias, id);
    });
    if (!isSessionId(name)) await this.#aliases.release(name, id);
  }

  /** A session of its own with the same past. */
  fork(session: Session): Session {
    const { id: _, alias: __, rev: ___, ...past } = session.state;
    const fork = new Session({ ...newSessionState(randomUUID()), ...past, alias: null }, TEMP_SESSION);
    fork.role = session.role;
    fork.max_output_tokens = session.max_output_tokens;
    fork.set({}); // what it brings along is not stored yet
    return fork;
  }

  /** Names people chose, those of files not taken over yet included. */
  async names(): Promise<string[]> {
    const files = await readdir(this.#options.dir).catch(() => []);
    const legacy = files.flatMap((name) => (name.endsWith('.yaml') ? [name.slice(0, -'.yaml'.length)] : []));
    return [...new Set([...(await this.#aliases.list()), ...legacy])].sort();
  }

  autonames(): Promise<string[]> {
    return this.#aliases.listAutonames();
  }

  /** What killed writers left among the names; what they left in a session goes at its next write. */
  #sweepOnce(): Promise<void> {
    this.#swept ??= this.#aliases.sweep(this.#options.clock.now());
    return this.#swept;
  }

  #folder(id: string): string {
    return join(this.#options.dir, 'by-id', id);
  }

  async #update(id: string, change: (state: SessionState) => SessionState): Promise<SessionState> {
    const dir = this.#folder(id);
    return this.#lock.hold(dir, async () => {
      await removeLeftovers(dir);
      const current = await readState(dir);
      if (!current) throw new ReefError('session_deleted', `session ${id} was deleted`);
      const next = { ...change(current), rev: current.rev + 1 };
      await writeState(dir, next);
      return next;
    });
  }

  /** Deleted meanwhile: the text is worth keeping, the session is not ours to bring back. */
  async #tell(session: Session, changes: Session['pending']): Promise<SessionState> {
    try {
      return await this.#update(session.id, (current) => changes.reduce(applyChange, current));
    } catch (error) {
      if (!(error instanceof ReefError && error.code === 'session_deleted')) throw error;
      const kept = await this.#recover(session);
      const message = `session ${session.name} was deleted; what was said is kept in ${kept}`;
      throw new ReefError('session_deleted', message, { cause: error, details: { kept } });
    }
  }

  async #recover(session: Session): Promise<string> {
    const dir = join(this.#options.dir, 'recovered');
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const kept = join(dir, `${session.id}.yaml`);
    await writeAtomic(kept, sessionText(session.state));
    return kept;
  }

  /** Two may begin a session of one name at the same time: who comes second goes on in the first one's. */
  async #storeFirst(session: Session, changes: Session['pending']): Promise<SessionState> {
    const alias = session.isTemporary || isSessionId(session.name) ? null : session.name;
    const dir = this.#folder(session.id);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const state = { ...session.state, alias, rev: 1 };
    await writeState(dir, state);
    for (let attempt = 0; alias !== null && !(await this.#aliases.claim(alias, session.id)); attempt++) {
      const other = await this.resolveAlias(alias);
      if (other !== undefined) {
        await rm(dir, { recursive: true, force: true });
        return this.#update(other, (current) => changes.reduce(applyChange, current));
      }
      if (attempt === 3) throw new ReefError('session_exists', `others keep taking the name ${alias}`);
      await this.#aliases.discard(alias); // it leads nowhere
    }
    return state;
  }

  /** `NAME.yaml` of an older Loki is taken over at its first opening, and stays as it is. */
  async #migrate(alias: string): Promise<Session | undefined> {
    const file = join(this.#options.dir, `${alias}.yaml`);
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const session = new Session(parseLegacy(text, { id: randomUUID(), file }), alias);
    await this.save(session);
    return session;
  }
}
