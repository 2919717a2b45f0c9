import { ReefError } from '../../protocol/errors.ts';
import type { Role } from '../roles/role.ts';
import { loadRole } from '../roles/role-folder.ts';
import { autoname } from '../sessions/alias.ts';
import { type Session, TEMP_SESSION } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { ContextData } from './context-data.ts';
import { settingsOf } from './resolve.ts';

/** The name of a role that `.prompt` made and no file holds. */
export const UNNAMED_ROLE = '%%';

/** Sessions of an agent lie in its own folder. */
export function sessionsDir(ctx: ContextData): string {
  const { paths } = ctx.app;
  return ctx.agent ? paths.agentSessionsDir(ctx.agent.name) : paths.sessionsDir();
}

export const sessionStore = (ctx: ContextData): SessionStore => ctx.app.sessions.at(sessionsDir(ctx));

/** Opens a session by name or id, or makes a new one under the active role. */
export async function openSession(ctx: ContextData, name: string | undefined): Promise<Session> {
  const store = sessionStore(ctx);
  const session = name === undefined || name === TEMP_SESSION ? store.create() : await store.openOrCreate(name);
  if (session.state.role_name !== null) session.role = storedRole(ctx, session.state.role_name);
  else if (session.isEmpty && ctx.role) enterRole(session, ctx.role);
  if (session.isEmpty && (await isLastExchangeWanted(ctx))) {
    session.change({ kind: 'turn', messages: ctx.lastMessage?.messages ?? [] });
  }
  return session;
}

/** Only an empty session can take a role. */
export function enterRole(session: Session, role: Role): void {
  if (!session.isEmpty) {
    throw new ReefError('invalid_state', 'the session has begun: run `.empty session` or `.exit session` first');
  }
  session.role = role;
  session.set({ role_name: role.name === UNNAMED_ROLE ? null : role.name });
}

function storedRole(ctx: ContextData, name: string): Role | undefined {
  try {
    return loadRole(ctx.app.paths, name, ctx.app.warn);
  } catch (error) {
    const message = `the session goes on without its role ${name}: ${(error as Error).message}`;
    ctx.app.warn({ file: ctx.app.paths.roleFile(name), line: undefined, message });
    return undefined;
  }
}

async function isLastExchangeWanted({ lastMessage, ui }: ContextData): Promise<boolean> {
  if (!lastMessage?.continuous || lastMessage.output === '' || !ui) return false;
  return ui.confirm('Begin the session with the last question and answer?', false);
}

/** A setting of null asks the person in a chat, and means no elsewhere. */
async function isSaveWanted(ctx: ContextData, session: Session): Promise<boolean> {
  if (!session.isDirty || session.isEmpty) return false;
  const wanted = settingsOf({ ...ctx, session }).save_session;
  if (wanted !== null) return wanted;
  return ctx.workingMode === 'repl' && ctx.ui !== undefined && ctx.ui.confirm('Save the session?', false);
}

export async function saveOnExit(ctx: ContextData, session: Session): Promise<void> {
  if (await isSaveWanted(ctx, session)) await storeSession(ctx, session);
  else if (session.isTemporary && session.isStored) await nameTemporary(ctx, session);
}

/** Stores it under the given name, its own, or one made of time and title. */
export async function storeSession(ctx: ContextData, session: Session, name?: string): Promise<void> {
  const store = sessionStore(ctx);
  if (name === TEMP_SESSION)
    throw new ReefError('name_invalid', `${TEMP_SESSION} is the name of a session that has none`);
  if (name !== undefined) await store.rename(session, name);
  else if (session.isTemporary) await nameTemporary(ctx, session);
  await store.save(session);
}

async function nameTemporary(ctx: ContextData, session: Session): Promise<void> {
  const store = sessionStore(ctx);
  const name = autoname(ctx.app.clock.now(), session.title);
  for (let n = 1; ; n++) {
    try {
      return await store.rename(session, n === 1 ? name : `${name}-${n}`);
    } catch (error) {
      if (!(error instanceof ReefError && error.code === 'session_exists') || n === 10) throw error;
    }
  }
}

/** Saves after each turn if saving is on, so that a crash loses nothing. */
export async function storeTurn(ctx: ContextData): Promise<void> {
  const { session } = ctx;
  if (session && settingsOf(ctx).save_session === true) await sessionStore(ctx).save(session);
}
