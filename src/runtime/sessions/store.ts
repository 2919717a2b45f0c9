import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeLeftovers } from '../../base/atomic-file.ts';
import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import { readIfThere, writeSettings } from '../config/settings-file.ts';
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
 * The sessions of one folder. The id identifies a session; an alias leads to an id. Nothing is written before a session is
 * saved, and every write adds to the file, so that processes that write the same session lose nothing.
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

  /** The sessions of another folder, such as an agent's. */
  at(dir: string): SessionStore {
    return dir === this.#options.dir ? this : new SessionStore({ ...this.#options, dir });
  }

  /** Makes a session in memory only. */
  create(name: string = TEMP_SESSION): Session {
    return new Session(newSessionState(randomUUID()), name);
  }

  async open(id: string): Promise<Session> {
    const state = readState(this.#folder(id));
    if (!state) throw new ReefError('session_not_found', `there is no session ${id}`);
    return new Session(state, state.alias ?? id);
  }

  /** Opens by id or by alias; otherwise makes a new session of that name. */
  async openOrCreate(name: string): Promise<Session> {
    if (isSessionId(name)) return this.open(name);
    // Removes once what killed writers left among the names.
    this.#swept ??= this.#aliases.sweep(this.#options.clock.now());
    await this.#swept;
    const id = await this.resolveAlias(name);
    if (id !== undefined) return this.open(id);
    return (await this.#migrate(name)) ?? this.create(name);
  }

  /** Undefined for an unknown name, and for one whose session is gone. */
  async resolveAlias(alias: string): Promise<string | undefined> {
    const id = await this.#aliases.resolve(alias);
    if (id === undefined || existsSync(stateFile(this.#folder(id)))) return id;
    this.#options.warn(`session ${alias} is gone: its name led to ${id}`);
    await this.#aliases.discard(alias);
    return undefined;
  }

  /** Applies the session's changes since its last save to the file. */
  async save(session: Session): Promise<void> {
    if (session.isStored && !session.isDirty) return;
    const changes = [...session.pending];
    const state = session.isStored
      ? await this.#storeChanges(session, changes)
      : await this.#storeFirst(session, changes);
    session.saved(state, changes.length);
  }

  /** Gives the session a new name and frees the old one. */
  async rename(session: Session, alias: string): Promise<void> {
    if (session.name === alias && session.state.alias === alias) return;
    if (!session.isStored) {
      session.rename(alias);
      return;
    }
    if (!(await this.#aliases.claim(alias, session.id))) {
      throw new ReefError('session_exists', `there is a session ${alias} already: choose another name`);
    }
    const before = session.state.alias;
    const state = await this.#update(session.id, (current) => ({ ...current, alias }));
    session.saved(state, 0);
    session.rename(alias);
    if (before !== null) await this.#aliases.release(before, session.id);
  }

  async delete(name: string): Promise<void> {
    const id = isSessionId(name) ? name : await this.resolveAlias(name);
    if (id === undefined || !existsSync(this.#folder(id))) {
      throw new ReefError('session_not_found', `there is no session ${name}`);
    }
    const dir = this.#folder(id);
    await this.#lock.hold(dir, async () => {
      const alias = aliasIn(dir);
      await rm(dir, { recursive: true, force: true });
      if (alias) await this.#aliases.release(alias, id);
    });
    if (!isSessionId(name)) await this.#aliases.release(name, id);
  }

  /** A new session with the same past. */
  fork(session: Session): Session {
    const { id: _, alias: __, rev: ___, ...past } = session.state;
    const fork = new Session({ ...newSessionState(randomUUID()), ...past, alias: null }, TEMP_SESSION);
    fork.role = session.role;
    fork.max_output_tokens = session.max_output_tokens;
    fork.set({}); // marks it as not stored yet
    return fork;
  }

  /** The names that people chose, and those of Loki's files that were not opened yet. */
  async names(): Promise<string[]> {
    const files = await readdir(this.#options.dir).catch(() => []);
    const legacy = files.flatMap((name) => (name.endsWith('.yaml') ? [name.slice(0, -'.yaml'.length)] : []));
    return [...new Set([...(await this.#aliases.list()), ...legacy])].sort();
  }

  autonames(): Promise<string[]> {
    return this.#aliases.listAutonames();
  }

  #folder(id: string): string {
    return join(this.#options.dir, 'by-id', id);
  }

  async #update(id: string, change: (state: SessionState) => SessionState): Promise<SessionState> {
    const dir = this.#folder(id);
    return this.#lock.hold(dir, async () => {
      await removeLeftovers(dir);
      const current = readState(dir);
      if (!current) throw new ReefError('session_deleted', `session ${id} was deleted`);
      const next = { ...change(current), rev: current.rev + 1 };
      await writeState(dir, next);
      return next;
    });
  }

  /** If another process deleted the session, its text is kept in `recovered`. The session stays deleted. */
  async #storeChanges(session: Session, changes: Session['pending']): Promise<SessionState> {
    try {
      return await this.#update(session.id, (current) => changes.reduce(applyChange, current));
    } catch (error) {
      if (!(error instanceof ReefError && error.code === 'session_deleted')) throw error;
      const kept = join(this.#options.dir, 'recovered', `${session.id}.yaml`);
      await writeSettings(kept, sessionText(session.state));
      const message = `session ${session.name} was deleted; what was said is kept in ${kept}`;
      throw new ReefError('session_deleted', message, { cause: error, details: { kept } });
    }
  }

  /** If two processes begin a session of one name at the same time, the second continues in the first one's. */
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
      if (attempt === 3) throw new ReefError('session_exists', `the name ${alias} is taken: choose another one`);
      await this.#aliases.discard(alias); // its session is gone
    }
    return state;
  }

  /** Imports `NAME.yaml` of an older Loki when it is first opened. The file stays as it is. */
  async #migrate(alias: string): Promise<Session | undefined> {
    const file = join(this.#options.dir, `${alias}.yaml`);
    const text = readIfThere(file);
    if (text === undefined) return undefined;
    const session = new Session(parseLegacy(text, { id: randomUUID(), file }), alias);
    await this.save(session);
    return session;
  }
}

/** A session with a broken file can be deleted all the same. */
function aliasIn(dir: string): string | null | undefined {
  try {
    return readState(dir)?.alias;
  } catch {
    return undefined;
  }
}
