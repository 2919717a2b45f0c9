import { systemClock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Emitter } from '../../runtime/engine/emitter.ts';
import { PRESETS } from '../../runtime/engine/engine.ts';
import { userText } from '../../runtime/models/message.ts';
import { loadRole } from '../../runtime/roles/role-folder.ts';
import { TEMP_SESSION } from '../../runtime/sessions/session.ts';
import type { AppState } from '../../runtime/state/app-state.ts';
import type { Asked, Scope, SessionRecord } from '../http/door/asked.ts';
import { createStyle } from '../render/style.ts';
import {
  enterScope,
  leaveScope,
  openConversation,
  openRuntimeAlone,
  type ScopeOptions,
} from '../terminal/chat/conversation.ts';
import { openTeam } from '../terminal/chat/jobs.ts';
import { namesOf } from '../terminal/commands/runtime-folder.ts';
import { refuseQuestions } from '../terminal/prompt/job-questions.ts';
import { SessionRecords } from './sessions.ts';

interface Place {
  env: Environment;
  cwd: string;
  /** Where the records of sessions lie. */
  records: string;
  emitter: Emitter;
  warn(message: string): void;
  signal: AbortSignal;
}

/** Does what was asked, as `reef ask` would without a person at it. */
export async function answer(asked: Asked, place: Place): Promise<object> {
  const records = new SessionRecords(place.records);
  switch (asked.do) {
    case 'answer':
      return ask(asked, place, asked.sessionId === undefined ? undefined : await records.get(asked.sessionId));
    case 'begin': {
      const record = await begin(asked, place);
      await records.add(record);
      return record;
    }
    case 'list':
      return { sessions: await records.all() };
    case 'name': {
      const { app } = await openRuntimeAlone(cliOf(place));
      return { [asked.what]: await namesOf(app, asked.what) };
    }
    case 'show': {
      const record = await records.get(asked.sessionId);
      const { app } = await openRuntimeAlone(cliOf(place));
      const { state } = await sessionsOf(app, record.scope).open(record.id);
      return { ...record, messages: state.messages, compressed: state.compressed_messages.length };
    }
    case 'forget': {
      const record = await records.get(asked.sessionId);
      const { app } = await openRuntimeAlone(cliOf(place));
      await sessionsOf(app, record.scope).delete(record.id);
      await records.remove(record.id);
      return { id: record.id };
    }
  }
}

type Question = Extract<Asked, { do: 'answer' }>;

async function ask({ input, stream, scope }: Question, place: Place, record?: SessionRecord): Promise<object> {
  const { emitter, signal } = place;
  // The role of a session lies in the session itself.
  const options = record
    ? { ...optionsOf({ ...record.scope, role: undefined }, stream), session: record.id, saveSession: true as const }
    : optionsOf(scope, stream);
  const conversation = await open(place, options);
  const { ctx } = conversation;
  try {
    await enterScope(ctx, options, signal);
    const outcome = await conversation.ask(userText(input), {
      emitter,
      options: { ...PRESETS.api_session, stream, signal },
    });
    const sources = conversation.sources.map(({ source, chunk, score }) => ({ source, chunk, score }));
    return { ...outcome, ...(sources.length > 0 && { sources }) };
  } finally {
    await leaveScope(ctx);
  }
}

/** Stored at once, so that its id is good from now on. What its scope names has to be there. */
async function begin({ scope, name }: Extract<Asked, { do: 'begin' }>, place: Place): Promise<SessionRecord> {
  const options = optionsOf(scope, false);
  const { ctx } = await open(place, options);
  try {
    await enterScope(ctx, options, place.signal);
    const store = sessionsOf(ctx.app, scope);
    if (name !== undefined && (await store.resolveAlias(name)) !== undefined)
      throw new ReefError('session_exists', `There is a session ${name} already: choose another name`);
    const session = store.create(name ?? TEMP_SESSION);
    if (scope.role !== undefined) {
      session.role = loadRole(ctx.app.paths, scope.role, ctx.app.warn);
      session.set({ role_name: scope.role });
    }
    await store.save(session);
    const createdAt = systemClock.now().toISOString();
    return { id: session.id, createdAt, scope, ...(name !== undefined && { name }) };
  } finally {
    await leaveScope(ctx);
  }
}

/** Sessions of an agent lie with it. */
function sessionsOf({ sessions, paths }: AppState, { agent }: Scope) {
  return sessions.at(agent === undefined ? paths.sessionsDir() : paths.agentSessionsDir(agent));
}

function optionsOf({ role, prompt, agent, variables, rag, model }: Scope, stream: boolean): ScopeOptions {
  const given = { role, prompt, agent, rag, model };
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const agentVariable = Object.entries(variables ?? {}).map(([name, value]) => `${name}=${value}`);
  return { ...defined, stream, ...(agentVariable.length > 0 && { agentVariable }) };
}

function open(place: Place, options: ScopeOptions) {
  return openConversation({
    cli: cliOf(place),
    options,
    person: undefined,
    mode: 'api',
    face: () => ({}),
    ...(options.agent !== undefined && {
      openTeam: async ({ turns: _, ...setting }) => openTeam({ ...setting, onAsked: refuseQuestions }),
    }),
  });
}

function cliOf({ env, cwd, warn }: Place) {
  return { env, cwd, talk: warn, style: createStyle({ colour: false, width: 100, now: systemClock.now() }) };
}
